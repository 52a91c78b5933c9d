from collections import Counter

import numpy as np
import pytest

from evenhand.data.report import ReadReport
from evenhand.data.shapes import SHAPES, detect, parse, seeded_order
from evenhand.errors import InputError
from evenhand.seeds import tie_ranks
from evenhand.types import Candidate, Slate


def read(record, shape=None, order=None):
    report = ReadReport()
    return parse(record, shape or detect(record), order, report), report


def rank_llm(*candidates, query=None):
    return {"query": query or {"qid": 7, "text": "why?"}, "candidates": list(candidates)}


def test_rank_llm_order_of_the_list_is_canonical():
    record = rank_llm(
        {"docid": "b", "score": 2.0, "doc": {"contents": "B text", "title": "T"}},
        {"docid": 3, "score": -1e-05, "doc": {"segment": "3 text"}},
        {"docid": "a#1", "doc": "plain"},
    )
    slate, report = read(record)
    assert slate == Slate(
        "7",
        "why?",
        (Candidate("b", "B text", "T"), Candidate("3", "3 text"), Candidate("a#1", "plain")),
    )
    assert report.to_dict() == {}


def test_rank_llm_scores_against_the_list_are_reported():
    entries = [{"docid": k, "score": s, "doc": {"text": k}} for k, s in (("a", 1), ("b", 2))]
    slate, report = read(rank_llm(*entries))
    assert slate.ids == ("a", "b")
    assert report.examples("order_contradicts_score") == ("7",)


def test_rank_llm_bare_question_gets_a_lasting_id():
    one, _ = read(rank_llm({"docid": "a", "doc": "t"}, query="why?"))
    two, _ = read(rank_llm({"docid": "b", "doc": "t"}, query="why?"))
    other, _ = read(rank_llm({"docid": "b", "doc": "t"}, query="how?"))
    assert one.id == two.id != other.id
    assert one.query == "why?"


TEVATRON = {
    "query_id": 12,
    "query": "why?",
    "answers": ["so"],
    "positive_passages": [{"docid": "p", "title": "T", "text": "pos"}],
    "negative_passages": [{"docid": f"n{i}", "title": None, "text": "neg"} for i in range(5)],
}


def test_tevatron_grades_and_order():
    slate, report = read(TEVATRON)
    assert slate.id == "12"
    assert slate.grades == {"p": 1, "n0": 0, "n1": 0, "n2": 0, "n3": 0, "n4": 0}
    assert slate.answers == ("so",)
    # The order comes from the ids alone: positives last in the file change nothing.
    ids = ["n4", "n3", "n2", "n1", "n0", "p"]
    ranks = dict(zip(ids, tie_ranks("12", ids, salt="input order"), strict=True))
    assert list(slate.ids) == sorted(ids, key=ranks.__getitem__)
    assert report.examples("seeded_order") == ("12",)
    in_file, report = read(TEVATRON, order="file")
    assert in_file.ids == ("p", "n0", "n1", "n2", "n3", "n4")
    assert report.to_dict() == {}


def test_gold_stands_in_every_place_equally_often_after_seeding():
    places = Counter()
    for number in range(600):
        slate, _ = read({**TEVATRON, "query_id": number})
        places[slate.ids.index("p")] += 1
    # 600 slates over 6 places: mean 100, sd sqrt(600 x 1/6 x 5/6) = 9.1; five sd = 46.
    assert all(abs(places[place] - 100) < 46 for place in range(6))


def test_the_seeded_order_is_not_the_order_that_breaks_ties():
    slate = Slate("q", "a", tuple(Candidate(str(i), "t") for i in range(30)))
    ties = tie_ranks("q", seeded_order(slate).ids)
    assert not np.array_equal(ties, np.arange(30))


def test_qa_marks_answers_and_verdicts():
    paragraph = {"id": "a", "title": "T", "text": "A", "is_supporting": True, "votes": []}
    other = {"id": "b", "title": None, "text": "B", "is_supporting": False}
    base = {"id": "q", "question": "who?", "paragraphs": [paragraph, other], "type": ""}
    slate, _ = read({**base, "answer": "Ann", "answers": ["Ann", "Anna"]})
    assert slate == Slate(
        "q", "who?", (Candidate("a", "A", "T"), Candidate("b", "B")), {"a": 1, "b": 0}, ("Ann", "Anna")
    )
    slate, _ = read({**base, "answer": "SUPPORTS"})
    assert (slate.answers, slate.verdict) == ((), "SUPPORTS")
    slate, _ = read({**base, "answer": "SUPPORTS", "answers": ["SUPPORTS"]})
    assert (slate.answers, slate.verdict) == (("SUPPORTS",), None)
    slate, _ = read({**base, "paragraphs": [{"text": "A"}]})
    assert (slate.ids, slate.grades, slate.answers) == (("q-0",), None, ())


def test_responses_are_graded_by_gold_or_by_scores():
    base = {"id": "r", "prompt": "say", "responses": ["x", "y", "z"]}
    slate, report = read({**base, "gold": 1})
    assert slate.grades == {"r-0": 0, "r-1": 1, "r-2": 0}
    assert {c.id: c.text for c in slate.candidates} == {"r-0": "x", "r-1": "y", "r-2": "z"}
    assert report.count("seeded_order") == 1
    slate, _ = read({**base, "gold": None, "scores": [1, 0, 1]})
    assert slate.grades == {"r-0": 1, "r-1": 0, "r-2": 1}
    slate, _ = read({**base, "gold": [0, 2]})
    assert slate.grades == {"r-0": 1, "r-1": 0, "r-2": 1}
    slate, _ = read(base, order="file")
    assert (slate.ids, slate.grades) == (("r-0", "r-1", "r-2"), None)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (rank_llm({"docid": "a"}), "without 'doc'"),
        (rank_llm({"docid": "a", "doc": {"url": "u"}}), "without a text"),
        (rank_llm({"docid": True, "doc": "t"}), "string or an integer"),
        (rank_llm({"docid": "a", "doc": "t", "score": "high"}), "must be a number"),
        (rank_llm({"docid": "a", "doc": "t"}, {"docid": "a", "doc": "u"}), "twice"),
        ({"query": {"text": "a"}, "candidates": []}, "without 'qid'"),
        ({**TEVATRON, "negative_passages": TEVATRON["positive_passages"]}, "'p' stands twice"),
        ({**TEVATRON, "positive_passages": "p"}, "must be a list"),
        ({**TEVATRON, "positive_passages": ["p"]}, "must hold objects"),
        ({**TEVATRON, "answers": [1]}, "answer must be a string"),
        ({"id": "q", "paragraphs": []}, "without 'question'"),
        (
            {"id": "q", "question": "a", "paragraphs": [{"text": "t", "is_supporting": 2}]},
            "true or false",
        ),
        ({"id": "r", "prompt": "a", "responses": ["x"], "gold": 1}, r"place in 0\.\.0"),
        ({"id": "r", "prompt": "a", "responses": ["x"], "gold": True}, r"place in 0\.\.0"),
        ({"id": "r", "prompt": "a", "responses": ["x"], "scores": [1, 2]}, "2 scores for 1"),
        ({"id": "r", "prompt": "a", "responses": ["x"], "scores": [0.5]}, "integer grade"),
        ({"id": "r", "prompt": "a", "responses": ["x", "y"], "scores": [0, 1], "gold": 0}, "highest"),
        ({"id": "r", "prompt": "a", "responses": [None]}, "must be a string"),
    ],
)
def test_bad_records_are_refused(record, words):
    with pytest.raises(InputError, match=words):
        read(record)


def test_detection():
    assert detect({"id": "q", "query": "a", "candidates": [{"id": "d", "text": "t"}]}) == "evenhand"
    assert detect({"query": "a", "candidates": [{"docid": "d"}]}) == "rank_llm"
    assert detect({"query": {"qid": "1", "text": "a"}, "candidates": []}) == "rank_llm"
    assert detect(TEVATRON) == "tevatron"
    assert detect({"id": "q", "question": "a", "paragraphs": []}) == "qa"
    assert detect({"id": "q", "prompt": "a", "responses": []}) == "responses"
    assert set(SHAPES) == {"evenhand", "rank_llm", "tevatron", "qa", "responses"}
