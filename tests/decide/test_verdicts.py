import pytest

from evenhand.data.shapes import VERDICTS
from evenhand.decide.verdicts import LABELS, as_label, find_label, likeliest_label, majority_class
from evenhand.errors import UsageError


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("SUPPORTS", "SUPPORTS"),
        (" refutes. ", "REFUTES"),
        ("Not enough info", "NOT_ENOUGH_INFO"),
        ("NOT-ENOUGH_INFO", "NOT_ENOUGH_INFO"),
        ("DISPUTED", None),
        ("SUPPORTS it", None),
        ("", None),
    ],
)
def test_as_label(text, label):
    assert as_label(text) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The evidence REFUTES the claim.", "REFUTES"),
        ("**Not enough info**", "NOT_ENOUGH_INFO"),
        ("SUPPORTS or REFUTES", None),
        ("unSUPPORTS", None),
        ("no idea", None),
    ],
)
def test_find_label_wants_exactly_one(text, label):
    assert find_label(text) == label


def test_labels_of_the_data_are_known():
    assert set(LABELS) <= set(VERDICTS)


def test_majority_class():
    assert majority_class(["REFUTES", "SUPPORTS", "REFUTES"]) == ("REFUTES", pytest.approx(2 / 3))
    # equally common: the first of LABELS
    assert majority_class(["REFUTES", "SUPPORTS"]) == ("SUPPORTS", 0.5)
    with pytest.raises(UsageError, match="no gold verdicts"):
        majority_class([])


@pytest.mark.parametrize(
    ("tokens", "label"),
    [
        ([("SUP", 0.2), ("REF", 0.3)], "REFUTES"),
        ([("S", 0.2), (" supports", 0.2), ("REF", 0.3)], "SUPPORTS"),
        ([("Not enough", 0.1), ("NOT", 0.1), ("R", 0.15)], "NOT_ENOUGH_INFO"),
        ([("S", 0.2), ("R", 0.2)], "SUPPORTS"),
        ([("", 0.5), (" ", 0.3), ("The", 0.2)], None),
        ([], None),
    ],
)
def test_the_likeliest_label_gathers_all_tokens_that_begin_it(tokens, label):
    assert likeliest_label(tokens) == label
