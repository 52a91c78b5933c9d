"""Requests made by hand to do harm: no 5xx, no hang, and the server goes on."""

import gzip
import itertools
import json

import pytest

from evenhand.seeds import generator

ODD = (
    None, True, 0, -1, 1.5, 1e308, 2**80, "", "x" * 3000, "\x00", "[1] Grade: 3", "<|im_end|>",
    "../../etc/passwd", "{{7*7}}", "‮", [], [[]], [None], ["a", 1], {}, {"text": "a"}, {"text": None},
    {"a": {"b": {"c": []}}}, [{"text": "a"}] * 3, ["a"] * 50, "\ud800", ["\ud800"],
)  # fmt: skip
FIELDS = (
    "query", "documents", "top_n", "model", "return_documents", "max_tokens_per_doc", "evenhand",
    "rank_fields", "priority", "text_1", "text_2", "orders", "__class__", "unknown",
)  # fmt: skip
PATHS = ("/rerank", "/v1/rerank", "/v2/rerank", "/v1/score", "/score", "/evenhand/orders")


@pytest.fixture
def running(serve):
    return serve("toy:slot_bias=0.3,relevance=hash", limits={"documents": 40, "characters": 2000})


def test_every_field_with_every_odd_value(running):
    statuses = set()
    base = {"query": "q", "documents": ["a", "b"]}
    for field, value in itertools.product(FIELDS, ODD):
        answer = running.raw(json.dumps({**base, field: value}).encode())
        assert answer.status_code in (200, 413, 422), (field, value, answer.text)
        statuses.add(answer.status_code)
    assert statuses == {200, 413, 422}


def test_random_bodies_on_every_path(running):
    rng = generator(0, "", "hostile")

    def value(depth=0):
        kind = int(rng.integers(4))
        if depth > 3 or kind < 2:
            return ODD[int(rng.integers(len(ODD)))]
        many = int(rng.integers(5))
        if kind == 2:
            return [value(depth + 1) for _ in range(many)]
        return {FIELDS[int(rng.integers(len(FIELDS)))]: value(depth + 1) for _ in range(many)}

    for number in range(300):
        body = {FIELDS[int(rng.integers(len(FIELDS)))]: value() for _ in range(int(rng.integers(6)))}
        answer = running.raw(json.dumps(body).encode(), path=PATHS[number % len(PATHS)])
        assert answer.status_code in (200, 413, 422), (body, answer.text)
    assert running.client.get("/health").status_code == 200


def test_damaged_bytes(running):
    rng = generator(1, "", "hostile")
    whole = json.dumps({"query": "q", "documents": ["text", {"text": "b"}], "top_n": 1}).encode()
    for _ in range(150):
        data = bytearray(whole)
        for place in rng.integers(len(data), size=3):
            data[int(place)] = int(rng.integers(256))
        answer = running.raw(bytes(data[: int(rng.integers(1, len(data) + 1))]))
        assert answer.status_code in (200, 400, 413, 422), bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"query": ' + b"[" * 200_000, b'{"query": "q", "documents": [' + b"[]," * 100_000 + b"[]]}",
        b'{"query": "' + b"\\u0000" * 300_000 + b'", "documents": []}', b"1" * 1_000_000,
        b"\x00" * 100_000,
        b'{"evenhand": ' * 5_000 + b"1" + b"}" * 5_000,
        b"{" + b",".join(b'"k%d": 1' % i for i in range(50_000)) + b"}",
    ],
    ids=["deep", "many lists", "nulls", "a number", "zeros", "deep in evenhand", "many keys"],
)  # fmt: skip
def test_huge_bodies(running, data):
    answer = running.raw(data)
    assert answer.status_code in (400, 413, 422)
    assert len(answer.content) < 3000


def test_a_long_wrong_name_is_not_sent_back_whole(running):
    asked = {"query": "q", "documents": ["a"], "evenhand": {"remedy": "x" * 1_000_000}}
    answer = running.raw(json.dumps(asked).encode())
    assert answer.status_code == 422
    assert len(answer.content) < 5000


def test_hostile_texts_come_back_as_they_went(running):
    texts = [
        "</script><script>alert(1)</script>",
        "a\r\nX-Header: 1",
        "‮\u2028\x00",
        "{{7*7}}",
        "🙂" * 100,
    ]
    results = running.post(query=texts[0], documents=texts).json()["results"]
    assert {one["index"]: one["document"]["text"] for one in results} == dict(enumerate(texts))


def test_header_tricks(running):
    with running.connect() as sock:
        sock.settimeout(5)
        sock.sendall(
            b"POST /v1/rerank HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99999999999999999999999999\r\n\r\n"
        )
        assert sock.recv(200).split()[1] in (b"400", b"413")
    with running.connect() as sock:
        sock.settimeout(5)
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n")
        # Whether it is taken depends on how it arrives; an answer comes either way.
        assert sock.recv(200).split()[1] in (b"200", b"400", b"431")
    assert running.client.get("/health").status_code == 200


BODY = b'{"query": "q", "documents": ["a", "b"]}'


def test_parameters_in_the_address_are_refused_by_name(running):
    answer = running.raw(BODY, path="/v1/rerank?top_n=1&x")
    assert answer.status_code == 422
    said = "parameters in the address are not read: top_n, x; put them into the body"
    assert answer.json()["message"] == said
    assert running.client.get("/health?now=1").status_code == 200


def test_a_compressed_body_is_told_so(running):
    answer = running.raw(gzip.compress(BODY), **{"content-encoding": "gzip"})
    assert (answer.status_code, "compressed" in answer.json()["message"]) == (415, True)
    assert running.raw(BODY, **{"content-encoding": "identity"}).status_code == 200


def test_nothing_leads_to_the_host_that_a_request_names(running):
    answer = running.raw(BODY, path="/v1/rerank/", host="elsewhere.example")
    assert (answer.status_code, "location" in answer.headers) == (404, False)
