import pytest

from evenhand.data import NOTES, InputWarning, ReadReport, Slates
from evenhand.data.report import EXAMPLES, name_some
from evenhand.errors import UsageError
from evenhand.types import Candidate, Slate


def test_counts_and_examples():
    report = ReadReport()
    for place in range(EXAMPLES + 5):
        report.add("empty_text", str(place))
    report.add("excluded", "q/d")
    assert report.count("empty_text") == EXAMPLES + 5
    assert len(report.examples("empty_text")) == EXAMPLES
    assert report.count("no_candidates") == 0
    assert report.examples("no_candidates") == ()
    assert report.to_dict() == {"empty_text": EXAMPLES + 5, "excluded": 1}
    assert str(report).splitlines()[1] == f"1 {NOTES['excluded']}: q/d"


def test_merge_leaves_both_as_they_were():
    one, two = ReadReport(), ReadReport()
    one.add("excluded", "a")
    two.add("excluded", "b")
    both = one.merge(two)
    assert both.examples("excluded") == ("a", "b")
    assert one.count("excluded") == two.count("excluded") == 1


def test_unknown_note_lists_the_known():
    with pytest.raises(UsageError, match="empty_text"):
        ReadReport().add("other", "x")


def test_a_warning_is_given_once_and_only_when_there_is_one():
    report = ReadReport()
    report.warn("a.trec", ("excluded",))  # a warning would be an error here
    report.add("excluded", "q/d")
    with pytest.warns(InputWarning, match=r"^a\.trec: 1 pairs of the exclusion list.*q/d$") as caught:
        report.warn("a.trec", ("excluded", "empty_text"))
    assert len(caught) == 1


def test_names_are_cut_with_a_count():
    assert name_some(["a", "b"], 2) == "a, b"
    assert name_some([str(i) for i in range(9)], 9) == "0, 1, 2, 3, 4 and 4 more"


def test_slates_can_be_read_again_and_count_anew():
    empty = Slate("q1", "q", ())
    blank = Slate("q2", "q", tuple(Candidate(k, t) for k, t in (("a", "x"), ("b", ""), ("c", " \n"))))
    slates = Slates(lambda report: iter([empty, blank]))
    for _ in range(2):
        assert [slate.id for slate in slates] == ["q1", "q2"]
        assert slates.report.to_dict() == {"empty_text": 2, "no_candidates": 1}
        assert slates.report.examples("empty_text") == ("q2/b", "q2/c")
