"""Bodies: read strictly, refused by name, limits before anything is looked at."""

import json
import re
import time

import pytest

from evenhand.serve.refusals import RefusalError
from evenhand.serve.settings import Limits
from evenhand.serve.shapes import Orders, Rerank, Score, parse

LIMITS = Limits(documents=3, characters=20)


def read(kind=Rerank, data=None, **body):
    return parse(kind, json.dumps(body).encode() if data is None else data, LIMITS)


def refusal(kind=Rerank, data=None, **body):
    with pytest.raises(RefusalError) as caught:
        read(kind, data, **body)
    return caught.value


def test_documents_are_strings_or_texts():
    body = read(query="q", documents=["a", {"text": "b"}, ""])
    assert body.documents == ["a", "b", ""]
    assert body.texts == ["q", "a", "b", ""]


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([{"text": "a", "title": "t"}], "documents.0: .*has also 'title'"),
        (["a", {"title": "t"}], "documents.1: .*has also 'title'"),
        ([{"text": 3}], "its text is no string"),
        ([{}], "its text is no string"),
        ([3], "documents.0: Input should be a valid string"),
        ([None], "documents.0"),
        ([["a"]], "documents.0"),
        ("a", "documents: Input should be a valid list"),
        (None, "documents: Input should be a valid list"),
    ],
)
def test_other_documents_are_refused_with_their_place(documents, said):
    error = refusal(query="q", documents=documents)
    assert error.status == 422

    assert re.search(said, error.message), error.message


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"top_n": 0}, "top_n"),
        ({"top_n": 1.5}, "top_n"),
        ({"top_n": True}, "top_n"),
        ({"top_n": "2"}, "top_n"),
        ({"query": None}, "query"),
        ({"query": 3}, "query"),
        ({"return_documents": 1}, "return_documents"),
        ({"max_tokens_per_doc": 0}, "max_tokens_per_doc"),
        ({"max_chunks_per_doc": 1}, "max_chunks_per_doc is not supported"),
        ({"rank_fields": ["title"]}, "rank_fields is not supported"),
        ({"priority": 1}, "priority is not supported"),
        ({"truncate_prompt_tokens": 5}, "truncate_prompt_tokens is not supported"),
        ({"truncation": False}, "truncation is not supported"),
        ({"return_embeddings": True}, "return_embeddings is not supported"),
        ({"evenhand": {"order_seed": -1}}, "evenhand.order_seed"),
        ({"evenhand": {"order_seed": 2**53}}, "evenhand.order_seed"),
        ({"evenhand": {"remedy": 4}}, "evenhand.remedy"),
        ({"evenhand": {"threshold": True}}, "evenhand.threshold"),
        ({"evenhand": {"threshold": "0.5"}}, "evenhand.threshold"),
        ({"evenhand": []}, "evenhand"),
        ({"evenhand": {"remdy": "x", "seed": 1}}, "unknown fields in evenhand: 'remdy', 'seed'; known"),
        ({"topn": 3}, "unknown fields: 'topn'; known are documents, evenhand, "),
        ({"truncate": "END"}, "unknown fields: 'truncate'"),
        ({"x" * 5000: 1}, "unknown fields"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_refused_by_name_and_never_quoted(fields, said):
    error = refusal(**{"query": "private", "documents": ["private"], **fields})
    assert error.status == 422
    assert said in error.message
    assert "private" not in error.message
    assert len(error.message) < 500


def test_null_means_not_given():
    names = set(Rerank.model_fields) - {"query", "documents"}
    body = read(query="q", documents=["a"], **dict.fromkeys(names))
    assert {getattr(body, name) for name in names} == {None}


def test_values_that_change_nothing_are_taken():
    read(query="q", documents=["a"], priority=0, truncation=True, truncate_prompt_tokens=-1,
         rank_fields=["text"], return_embeddings=False)  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff\xfe", b'{"query": NaN}', b'{"query": Infinity}', b"[" * 100_000,
     b'{"a":' * 100_000, b'{"top_n": ' + b"9" * 10_000 + b"}", b"{'a': 1}", b'{"a": 1} x'],
)  # fmt: skip
def test_what_is_no_json_is_400(data):
    assert refusal(data=data).status == 400


@pytest.mark.parametrize("data", [b"[]", b"null", b'"a"', b"3"])
def test_other_json_than_an_object_is_422(data):
    assert refusal(data=data).status == 422


def test_a_key_twice_is_refused():
    error = refusal(data=b'{"query": "a", "query": "b", "documents": []}')
    assert (error.status, "'query' stands twice" in error.message) == (422, True)


def test_limits_are_413():
    # Limits of 3 documents and 20 characters; the elements are not looked at.
    assert refusal(query="q", documents=[1] * 4).status == 413
    assert refusal(query="q" * 21, documents=["a"]).status == 413
    assert refusal(query="q", documents=["a" * 21]).status == 413
    assert refusal(Score, text_1="a", text_2=["a"] * 4).status == 413
    assert refusal(Score, text_1="a" * 21, text_2=["a"]).status == 413
    assert read(query="q" * 20, documents=["a" * 20] * 3).query == "q" * 20


def test_scores_and_orders():
    body = read(Score, text_1="a", text_2=["b", "c"])
    assert body.texts == ["a", "b", "c"]
    assert refusal(Score, text_1="a").status == 422
    assert read(Orders, query="q", documents=["a"]).orders == 8
    assert "orders" in refusal(Orders, query="q", documents=["a"], orders=1).message


def test_many_keys_and_one_of_them_twice_are_refused_at_once():
    # Counting each of them in all of them would take minutes, in the loop that serves everybody.
    keys = ", ".join(f'"k{number}": 1' for number in range(20_000))
    began = time.monotonic()
    error = refusal(data=f'{{{keys}, "z": 1, "z": 1}}'.encode())
    assert time.monotonic() - began < 1
    assert error.message == (
        "an object has 20002 keys, first 'k0', 'k1', 'k2', 'k3', 'k4'; at most 64 are read"
    )
    assert error.status == 422


def test_long_lists_are_refused_before_they_are_looked_at():
    # Limits of 3 documents; no field needs more entries, and 16 are more remedies than there are.
    assert refusal(query="q", documents=["a"], rank_fields=[1] * 4).status == 413
    error = refusal(query="q", documents=["a"], evenhand={"remedy": [1] * 300_000})
    assert error.status == 422
    assert error.message == "evenhand.remedy: at most 16 remedies are taken, got 300000"
    assert read(query="q", documents=["a"], evenhand={"remedy": ["average:2"] * 16})


@pytest.mark.parametrize("wrap", [str, lambda text: ["average:2", text]])
def test_a_long_remedy_is_refused_before_it_is_read(wrap):
    error = refusal(query="q", documents=["a"], evenhand={"remedy": wrap("x" * 201)})
    assert error.status == 422
    assert error.message == (
        "evenhand.remedy: a remedy has 201 characters, and at most 200 are taken; shorten it"
    )
    assert read(query="q", documents=["a"], evenhand={"remedy": wrap("x" * 200)})
