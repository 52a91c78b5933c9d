import numpy as np
import pytest

from evenhand.decide.reading import (
    Cached,
    Evidence,
    Reader,
    ReaderConsumer,
    Reading,
    evidence_of,
    in_order,
    outcome,
    selected,
)
from evenhand.errors import UsageError
from evenhand.seeds import tie_ranks
from evenhand.types import Candidate, Slate

NAN = float("nan")


class Stub:
    """Answers with the texts it was shown; fails on the word 'bad'."""

    name, revision, task = "stub", "1", "answer"

    def __init__(self):
        self.asked = []

    def read(self, evidence):
        self.asked.append([one.texts for one in evidence])
        return [
            Reading(None, 0, "bad") if "bad" in one.texts else Reading(f"The {' '.join(one.texts)}!")
            for one in evidence
        ]


def a_slate(ids="abcd"):
    return Slate("q", "who?", tuple(Candidate(one, f"text\n{one}", "T") for one in ids))


def test_selected_is_best_first_and_leaves_missing_out():
    slate = a_slate()
    assert selected(slate, [0.1, 0.9, NAN, 0.5], top=2) == (1, 3)
    assert selected(slate, [0.1, 0.9, NAN, 0.5], top=None) == (1, 3, 0)
    assert selected(slate, [0.1, 0.9, NAN, 0.5], top=None, threshold=0.5) == (1, 3)
    assert selected(slate, [0.1, 0.9, NAN, 0.5], top=1, threshold=2.0) == ()
    assert selected(a_slate(""), []) == ()


def test_ties_go_by_hash_whatever_the_canonical_order():
    ranks = dict(zip("abcd", tie_ranks("q", "abcd"), strict=True))
    for ids in ("abcd", "dcba"):
        slate = a_slate(ids)
        found = [slate.ids[i] for i in selected(slate, [0.5] * 4, top=3)]
        assert found == sorted("abcd", key=ranks.get)[:3]


def test_refusals():
    with pytest.raises(UsageError, match="top of a reader must be at least 1"):
        selected(a_slate(), [0.1] * 4, top=0)
    with pytest.raises(UsageError, match="4 candidates"):
        selected(a_slate(), [0.1] * 3)
    with pytest.raises(UsageError, match="canonical"):
        in_order((1, 0), "random")
    with pytest.raises(UsageError, match="says why"):
        Reading(None)


def test_the_two_input_orders():
    assert in_order((3, 0, 2), "score") == (3, 0, 2)
    assert in_order((3, 0, 2), "canonical") == (0, 2, 3)


def test_evidence_is_one_line_each_and_its_key_is_its_content():
    found = evidence_of(a_slate(), (1, 0))
    assert found == Evidence("who?", ("T: text b", "T: text a"))
    assert found.key != evidence_of(a_slate(), (0, 1)).key
    assert Evidence("a", ("b",)).key != Evidence("a", ("b", "")).key


def test_outcome():
    assert outcome("answer", "The Paris.") == "paris"
    assert outcome("verdict", "SUPPORTS") == "SUPPORTS"
    assert outcome("answer", None) is None
    assert outcome("answer", "the") == ""


def test_identical_inputs_are_read_once():
    stub = Stub()
    cached = Cached(stub)
    one, two = Evidence("q", ("x",)), Evidence("q", ("y",))
    assert [r.output for r in cached.read([one, two, one])] == ["The x!", "The y!", "The x!"]
    assert [r.output for r in cached.read([two, one])] == ["The y!", "The x!"]
    assert stub.asked == [[("x",), ("y",)]]
    assert (cached.name, cached.revision, cached.task) == ("stub", "1", "answer")


def test_missing_is_tried_again_and_little_is_remembered():
    stub = Stub()
    cached = Cached(stub, most=1)
    bad = Evidence("q", ("bad",))
    assert [r.output for r in cached.read([bad, bad])] == [None, None]
    cached.read([bad])
    cached.read([Evidence("q", ("x",)), Evidence("q", ("y",))])
    cached.read([Evidence("q", ("y",))])
    cached.read([Evidence("q", ("x",))])
    assert stub.asked == [[("bad",)], [("bad",)], [("x",), ("y",)], [("x",)]]
    with pytest.raises(UsageError, match="at least 1"):
        Cached(stub, most=0)


def test_a_reader_that_loses_readings_is_refused():
    class Loses(Stub):
        def read(self, evidence):
            return []

    with pytest.raises(UsageError, match="0 readings for 1"):
        Cached(Loses()).read([Evidence("q")])


def test_consumer():
    stub = Stub()
    assert isinstance(stub, Reader)
    consumer = ReaderConsumer(stub, top=2)
    scores = np.array([0.1, 0.9, NAN, 0.5])
    assert consumer.decide(a_slate(), scores, 4).value == "t text b t text d"
    # the best two are d (.9) and b (.5); in canonical order b comes first
    other = np.array([0.1, 0.5, 0.2, 0.9])
    assert consumer.decide(a_slate(), other, 4).value == "t text d t text b"
    control = ReaderConsumer(stub, top=2, order="canonical")
    assert control.decide(a_slate(), other, 4).value == "t text b t text d"
    assert consumer.decide(a_slate(), np.full(4, NAN), 0).value is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Reading(3), "output of a reading must be a text or None, got 3"),
        (lambda: Reading(None, 0, 3), "failure of a reading must be a text or None, got 3"),
        (lambda: Reading("a", "x"), "cut of a reading must be at least 0"),
        (lambda: Reading("a", -1), "cut of a reading must be at least 0"),
        (lambda: Evidence(3), "evidence is made of texts, got 3"),
        (lambda: Evidence("q", "text"), "texts of evidence must be a tuple of texts, got 'text'"),
        (lambda: Evidence("q", (None,)), "evidence is made of texts, got None"),
        (lambda: selected(a_slate(), [0.1] * 4, top=2.5), "top of a reader must be at least 1"),
        (lambda: selected(a_slate(), "abcd"), "scores must be numbers"),
        (lambda: selected(a_slate(), [0.1] * 4, threshold="x"), "threshold must be a number"),
        (lambda: in_order((1, 0), None), "unknown input order None"),
        (lambda: Cached(None, most="x"), "most must be at least 1"),
        (lambda: ReaderConsumer(None, top=0), "top of a reader must be at least 1"),
        (lambda: ReaderConsumer(None, threshold=float("nan")), "threshold must be a number, got nan"),
    ],
)
def test_wrong_kinds_are_refused_by_name(call, said):
    with pytest.raises(UsageError, match=said):
        call()
