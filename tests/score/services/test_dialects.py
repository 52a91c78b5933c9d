import numpy as np
import pytest

from evenhand.errors import InputError, UsageError
from evenhand.score.services.dialects import DIALECTS, ShapeError, dialect_of, read_scores, request
from servers import FIELDS, SHAPES


def answer(name, pairs):
    """The answer of a dialect from (index, score) pairs, by the independent table of the tests."""
    _, _, _, results, score, _ = SHAPES[name]
    items = [{"index": index, score: value} for index, value in pairs]
    return items if results is None else {"object": "list", results: items}


def test_every_dialect_has_the_published_keys():
    assert set(DIALECTS) == set(SHAPES)
    for name, dialect in DIALECTS.items():
        path, candidates, limit, results, score, _ = SHAPES[name]
        found = (dialect.path, dialect.candidates, dialect.limit, dialect.results, dialect.score)
        assert found == (path, candidates, limit, results, score), name
        assert set(dialect.extra) <= FIELDS[name], name
        for fields in dialect.truncate.values():
            assert set(fields) <= FIELDS[name], name


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("cohere", {"query": "q", "documents": ["a", ""], "top_n": 2}),
        ("vllm", {"query": "q", "documents": ["a", ""], "top_n": 2}),
        ("jina", {"query": "q", "documents": ["a", ""], "top_n": 2, "return_documents": False}),
        ("sglang", {"query": "q", "documents": ["a", ""], "top_n": 2, "return_documents": False}),
        ("tei", {"query": "q", "texts": ["a", ""], "return_text": False}),
        ("infinity", {"query": "q", "documents": ["a", ""], "top_n": 2, "return_documents": False}),
        ("voyage", {"query": "q", "documents": ["a", ""], "top_k": 2, "return_documents": False}),
        ("mixedbread", {"query": "q", "input": ["a", ""], "top_k": 2, "return_input": False}),
        (
            "pinecone",
            {
                "query": "q",
                "documents": [{"text": "a"}, {"text": ""}],
                "top_n": 2,
                "return_documents": False,
            },
        ),
    ],
)
def test_the_body_of_each_dialect_asks_for_all_candidates(name, body):
    assert request(DIALECTS[name], "q", ["a", ""]) == body


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_scores_are_mapped_by_index(name):
    found = read_scores(name, answer(name, [(2, 0.25), (0, 1), (1, -0.5)]), 3)
    np.testing.assert_array_equal(found, [1.0, -0.5, 0.25])
    assert found.dtype == np.float64


@pytest.mark.parametrize("name", sorted(DIALECTS))
@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(0, 0.1), (1, 0.2)], "2 results for 3 texts; index 2 is missing"),
        ([], "0 results for 3 texts; index 0 is missing"),
        ([(0, 0.1), (1, 0.2), (1, 0.2)], "index 1 comes twice"),
        ([(0, 0.1), (1, 0.2), (2, 0.3), (0, 0.1)], "index 0 comes twice"),
        ([(1, 0.1), (2, 0.2), (3, 0.3)], "index 3 is out of range for 3 texts"),
        ([(0, 0.1), (1, 0.2), (-1, 0.3)], "index -1 is out of range"),
        ([(0, 0.1), (1, 0.2), (2.0, 0.3)], "index 2.0 of a result is no integer"),
        ([(0, 0.1), (1, 0.2), ("2", 0.3)], "index '2' of a result is no integer"),
        ([(0, 0.1), (True, 0.2), (2, 0.3)], "index True of a result is no integer"),
        ([(0, 0.1), (None, 0.2), (2, 0.3)], "index None of a result is no integer"),
        ([(0, 0.1), (1, float("nan")), (2, 0.3)], "score nan of index 1 is no finite number"),
        ([(0, 0.1), (1, float("-inf")), (2, 0.3)], "score -inf of index 1"),
        ([(0, 0.1), (1, 10**400), (2, 0.3)], "of index 1 is no finite number"),
        ([(0, 0.1), (1, "0.2"), (2, 0.3)], "score '0.2' of index 1"),
        ([(0, 0.1), (1, None), (2, 0.3)], "score None of index 1"),
        ([(0, 0.1), (1, False), (2, 0.3)], "score False of index 1"),
    ],
)
def test_nothing_is_filled_in_or_moved(name, pairs, said):
    with pytest.raises(InputError) as caught:
        read_scores(name, answer(name, pairs), 3)
    assert said in str(caught.value)
    assert not isinstance(caught.value, ShapeError)


def test_a_result_of_another_form_among_good_ones_is_refused():
    for wrong in (3, None, {"index": 1}, {"relevance_score": 0.2}, [1, 0.2]):
        body = {"results": [{"index": 0, "relevance_score": 0.1}, wrong]}
        with pytest.raises(InputError, match="result 1 of the answer holds no index and"):
            read_scores("jina", body, 2)


@pytest.mark.parametrize("asked", sorted(DIALECTS))
@pytest.mark.parametrize("came", sorted(DIALECTS))
def test_another_dialects_answer_names_what_would_fit(asked, came):
    body = answer(came, [(0, 0.5), (1, 0.25)])
    alike = SHAPES[asked][3:5] == SHAPES[came][3:5]
    if alike:
        np.testing.assert_array_equal(read_scores(asked, body, 2), [0.5, 0.25])
        return
    fitting = ", ".join(name for name in DIALECTS if SHAPES[name][3:5] == SHAPES[came][3:5])
    with pytest.raises(ShapeError, match=f"'{asked}'.* which is how {fitting} answer; name that"):
        read_scores(asked, body, 2)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": "bad", "code": 3}, r"an object with \['code', 'error'\] came"),
        ([0.1, 0.2], "JSON of type list came"),
        ("text", "JSON of type str came"),
        ({"results": {"0": 0.1}}, r"an object with \['results'\]"),
        (3, "JSON of type int came"),
    ],
)
def test_what_is_no_answer_at_all_says_what_was_expected(body, said):
    with pytest.raises(InputError, match=said) as caught:
        read_scores("jina", body, 2)
    assert "a list under 'results' of index and relevance_score" in str(caught.value)
    expected = "result 0 of" if isinstance(body, list) else "a bare list of index and score"
    with pytest.raises(InputError, match=expected):
        read_scores("tei", body, 2)


@pytest.mark.parametrize(
    ("path", "name", "found"),
    [
        ("/v2/rerank", None, ("cohere", "/v2/rerank")),
        ("/v1/rerank", None, ("jina", "/v1/rerank")),
        ("/rerank", None, ("jina", "/rerank")),
        ("/api/rerank/", None, ("jina", "/api/rerank/")),
        ("/v1/reranking", None, ("mixedbread", "/v1/reranking")),
        ("", None, ("jina", "/v1/rerank")),
        ("/", "tei", ("tei", "/rerank")),
        ("", "cohere", ("cohere", "/v2/rerank")),
        ("/score/all", "voyage", ("voyage", "/score/all")),
        ("/v2/rerank", "vllm", ("vllm", "/v2/rerank")),
    ],
)
def test_the_dialect_is_named_or_told_by_the_path(path, name, found):
    assert dialect_of(path, name) == found


def test_a_dialect_that_is_unknown_or_untold_is_refused():
    with pytest.raises(UsageError, match="'openai' is unknown; known are cohere, jina, vllm"):
        dialect_of("/v1/rerank", "openai")
    with pytest.raises(UsageError, match="'/v1' tells no dialect; name one"):
        dialect_of("/v1")
