import json

import pytest

from evenhand.data import InputWarning, Run, from_trec
from evenhand.errors import InputError, UsageError
from evenhand.seeds import tie_ranks
from evenhand.types import Candidate

CORPUS = {key: f"text of {key}" for key in "abcdef"}
QUERIES = {str(i): f"query {i}" for i in range(1, 10)}


def test_slates_from_memory_by_score_with_all_grades():
    slates = from_trec(
        {"1": {"a": 1.0, "b": 3.0, "c": 2.0}}, {"1": {"b": 2, "f": 3}}, CORPUS, QUERIES, 2
    )
    (slate,) = slates
    assert slate.ids == ("b", "c")
    assert slate.candidates[0] == Candidate("b", "text of b")
    assert slate.query == "query 1"
    assert slate.grades == {"b": 2, "f": 3}  # f was not retrieved: it counts in the ideal ranking
    assert list(slates) == [slate]  # and again


def test_from_files(tmp_path):
    (tmp_path / "run").write_text("2 Q0 b 1 2.0 t\n2 Q0 a 2 1.0 t\n1 Q0 c 1 1.0 t\n")
    (tmp_path / "qrels").write_text("1 0 c 1\n2 0 a -1\n")
    (tmp_path / "corpus.tsv").write_text("".join(f"{key}\t{text}\n" for key, text in CORPUS.items()))
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in QUERIES.items())
    )
    names = ("run", "qrels", "corpus.tsv", "queries.jsonl")
    slates = list(from_trec(*(tmp_path / name for name in names)))
    assert [(slate.id, slate.ids) for slate in slates] == [("2", ("b", "a")), ("1", ("c",))]
    assert slates[0].gains().tolist() == [0.0, 0.0]  # a negative grade is no gain


def test_run_and_qrels_that_disagree():
    run = {"1": {"a": 1.0}, "9": {"b": 1.0}}
    with pytest.warns(InputWarning, match=r"left out: 9; .*kept without candidates: 2"):
        slates = from_trec(run, {"1": {"a": 1}, "2": {"c": 1}}, CORPUS, QUERIES)
    assert [(slate.id, slate.ids) for slate in slates] == [("1", ("a",)), ("2", ())]
    assert slates.report.examples("query_not_judged") == ("9",)
    assert slates.report.examples("query_not_retrieved") == ("2",)
    assert slates.report.count("no_candidates") == 1


def test_no_query_in_common_is_an_input_error():
    with pytest.raises(
        InputError, match="share no query: the run has 9; the qrels have 1, 2"
    ) as caught:
        from_trec({"9": {"a": 1.0}}, {"1": {}, "2": {}}, CORPUS, QUERIES)
    assert caught.value.exit_code == 4


def test_an_empty_list_is_an_empty_slate():
    slates = from_trec({"1": {}, "2": {"a": 1.0}}, {"1": {"a": 1}, "2": {"a": 1}}, CORPUS, QUERIES)
    assert [(slate.id, len(slate)) for slate in slates] == [("1", 0), ("2", 1)]


def test_without_judgments_all_queries_stay_ungraded():
    slates = list(from_trec({"1": {"a": 1.0}, "9": {"b": 1.0}}, None, CORPUS, QUERIES))
    assert [(slate.id, slate.grades) for slate in slates] == [("1", None), ("9", None)]


def test_missing_texts_are_counted_and_named():
    run = {"1": dict.fromkeys(["a", *(f"m{i}" for i in range(7))], 1.0)}
    with pytest.raises(InputError, match=r"7 of 8 candidates have no text here: m\d, .* and 2 more"):
        from_trec(run, None, CORPUS, QUERIES)
    with pytest.raises(InputError, match="1 of 2 queries have no text here: 77"):
        from_trec({"1": {"a": 1.0}, "77": {"a": 1.0}}, None, CORPUS, QUERIES)


def test_a_missing_text_below_the_depth_is_not_needed():
    run = {"1": {"a": 2.0, "gone": 1.0}}
    assert next(iter(from_trec(run, None, CORPUS, QUERIES, 1))).ids == ("a",)


def test_exclusions_come_before_the_depth_and_leave_the_grades():
    run = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    slates = from_trec(run, {"1": {"a": 4, "c": 1}}, CORPUS, QUERIES, 2, exclude={"1": {"a"}})
    (slate,) = slates
    assert slate.ids == ("b", "c")
    assert slate.grades == {"c": 1}
    assert slates.report.examples("excluded") == ("1/a",)


def test_ties_in_memory_follow_the_hash_and_a_read_run_stays_as_it_is():
    ids = list("fedcba")
    expected = tuple(ids[i] for i in sorted(range(6), key=tie_ranks("1", ids).__getitem__))
    for order in (ids, ids[::-1]):
        run = {"1": dict.fromkeys(order, 1.0)}
        assert next(iter(from_trec(run, None, CORPUS, QUERIES))).ids == expected
    read = Run({"1": [(key, 1.0) for key in ids]})
    assert next(iter(from_trec(read, None, CORPUS, QUERIES))).ids == tuple(ids)


def test_bad_runs_in_memory():
    with pytest.raises(InputError, match="score nan of 'a' for query '1' is not finite"):
        from_trec({"1": {"a": float("nan")}}, None, CORPUS, QUERIES)
    with pytest.raises(InputError, match=r"candidates \['a'\] of query '1' stand twice"):
        from_trec({"1": [("a", 1.0), ("a", 2.0)]}, None, CORPUS, QUERIES)
    with pytest.raises(UsageError, match="depth must be at least 1"):
        from_trec({"1": {"a": 1.0}}, None, CORPUS, QUERIES, 0)


@pytest.mark.parametrize("score", [None, "1"])
def test_a_score_that_is_no_number_is_an_input_error(score):
    with pytest.raises(InputError, match="is not finite"):
        from_trec({"1": {"a": score}}, None, CORPUS, QUERIES)


@pytest.mark.parametrize("depth", [0, "3", 1.5])
def test_a_depth_that_is_no_whole_number_is_refused(depth):
    from evenhand.errors import UsageError

    with pytest.raises(UsageError, match="depth must be at least 1"):
        from_trec({"1": {"a": 1.0}}, None, CORPUS, QUERIES, depth)
