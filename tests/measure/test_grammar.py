import pytest

from evenhand.errors import UsageError
from evenhand.measure.grammar import Option, check_options, split, written


def test_split_reads_head_options_and_cutoff():
    assert split("nDCG@10") == ("nDCG", {}, 10)
    assert split(" Overlap(t=0.5) ") == ("Overlap", {"t": 0.5}, None)
    assert split("AP(rel=2)@100") == ("AP", {"rel": 2}, 100)
    assert split("tauPSI(ties='strict', pairs='distinct')") == (
        "tauPSI",
        {"ties": "strict", "pairs": "distinct"},
        None,
    )
    assert split("Overlap(t=-1.5)") == ("Overlap", {"t": -1.5}, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nDCG@",
        "@10",
        "nDCG 10",
        "Overlap(0.5)",
        "Overlap(**x)",
        "Overlap(t=open('x'))",
        "Overlap(t=0.5, t=0.6)",
        "a.b",
        "Overlap(t=1)(t=2)",
        "nDCG@k",
        "nDCG@10@20",
        "lambda: 0",
        "nDCG\x00",
        None,
        10,
    ],
)
def test_split_refuses_what_is_no_measure(text):
    with pytest.raises(UsageError, match="cannot read"):
        split(text)


@pytest.mark.parametrize("cutoff", ["0", "-1", "1.5", "True", "'x'"])
def test_split_refuses_a_wrong_cutoff(cutoff):
    with pytest.raises(UsageError, match="must be a whole number from 1"):
        split(f"nDCG@{cutoff}")


OPTIONS = {
    "t": Option("number", None),
    "rel": Option("count", 1),
    "p": Option("share", 0.9),
    "kind": Option(("pairwise", "modal"), "pairwise"),
}


def test_options_keep_the_declared_order_and_drop_defaults():
    given = {"kind": "modal", "rel": 1, "t": 1}
    assert check_options("X", given, OPTIONS) == (("t", 1.0), ("kind", "modal"))
    assert check_options("X", {}, OPTIONS) == ()


@pytest.mark.parametrize(
    ("name", "value", "needs"),
    [
        ("t", "a", "a finite number"),
        ("t", None, "a finite number"),
        ("t", True, "a finite number"),
        ("t", 10**400, "a finite number"),
        ("t", float("inf"), "a finite number"),
        ("t", float("nan"), "a finite number"),
        ("rel", 0, "a whole number from 1"),
        ("rel", 1.0, "a whole number from 1"),
        ("p", 1, "between 0 and 1"),
        ("p", 0, "between 0 and 1"),
        ("kind", "mode", "one of ['modal', 'pairwise']"),
        ("kind", ["modal"], "one of ['modal', 'pairwise']"),
    ],
)
def test_options_refuse_wrong_values(name, value, needs):
    with pytest.raises(UsageError) as caught:
        check_options("X", {name: value}, OPTIONS)
    assert needs in str(caught.value)
    assert repr(value) in str(caught.value)


def test_unknown_options_list_the_known_ones():
    with pytest.raises(UsageError, match=r"X has no option 'k'; known are \['kind', 'p', 'rel', 't'\]"):
        check_options("X", {"k": 3}, OPTIONS)


def test_written_is_read_back():
    for parts in [
        ("A", (), None),
        ("A", (("t", 0.1), ("kind", "it's")), None),
        ("A", (("rel", 2),), 5),
    ]:
        head, options, cutoff = split(written(*parts))
        assert (head, tuple(options.items()), cutoff) == parts
    assert written("AP", (("rel", 2),), 5) == "AP(rel=2)@5"
