"""Services on real sockets, for tests of scorers that ask over HTTP.

`tests/conftest.py` makes this module importable as `servers`. A `Service` answers
what its function tells it to; `rerank(dialect)` is such a function for every rerank
dialect, written from the published shapes and not from evenhand's own table.

    with Service(rerank("cohere")) as service:
        open_scorer(f"rerank:{service.url}/v2/rerank")
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request; `tries`: how often its body came so far; `port`: of the connection's other end."""

    path: str
    body: Any
    headers: dict[str, str]
    tries: int
    port: int


@dataclass(frozen=True)
class Reply:
    """What is sent back: JSON of `body`, or `raw`.

    `hang`: seconds before it. `drip`: seconds after each of its bytes. `cut_off`: the
    connection is closed instead.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hang: float = 0.0
    drip: float = 0.0
    cut_off: bool = False


class Service:
    """Answers POST requests by `answer(asked)`, which returns a Reply or a JSON body.

    Attributes:
        asked: the requests so far, in the order they came. most: most at one time.
    """

    def __init__(self, answer):
        self.answer, self.asked, self.most = answer, [], 0
        self._active, self._tries, self._lock = 0, Counter(), threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Headers and body leave as two packets, which would else wait for each other.
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def do_POST(self):
                outer._handle(self)

        self._http = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._http.server_port}"

    def close(self):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _handle(self, request):
        data = request.rfile.read(int(request.headers["Content-Length"]))
        with self._lock:
            self._tries[request.path, data] += 1
            headers = {name.lower(): value for name, value in request.headers.items()}
            tries, port = self._tries[request.path, data], request.client_address[1]
            asked = Asked(request.path, json.loads(data), headers, tries, port)
            self.asked.append(asked)
            self._active += 1
            self.most = max(self.most, self._active)
        try:
            reply = self.answer(asked)
            reply = reply if isinstance(reply, Reply) else Reply(reply)
            time.sleep(reply.hang)
        finally:
            with self._lock:
                self._active -= 1
        _send(request, reply)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """Say nothing: a client that gave up is part of the tests."""


def _send(request, reply):
    if reply.cut_off:
        request.close_connection = True
        return
    data = json.dumps(reply.body).encode() if reply.raw is None else reply.raw
    headers = {"Content-Type": "application/json", "Content-Length": str(len(data)), **reply.headers}
    request.send_response(reply.status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()
    for start in range(0, len(data), 1 if reply.drip else max(1, len(data))):
        request.wfile.write(data[start : start + 1] if reply.drip else data)
        time.sleep(reply.drip)


# dialect: path, key of candidates, key of the limit, key of results, key of score, candidate in result
SHAPES = {
    "cohere": ("/v2/rerank", "documents", "top_n", "results", "relevance_score", None),
    "jina": ("/v1/rerank", "documents", "top_n", "results", "relevance_score", "document.text"),
    "vllm": ("/v1/rerank", "documents", "top_n", "results", "relevance_score", "document.text"),
    "sglang": ("/v1/rerank", "documents", "top_n", None, "score", "document"),
    "tei": ("/rerank", "texts", None, None, "score", "text"),
    "infinity": ("/rerank", "documents", "top_n", "results", "relevance_score", "document"),
    "voyage": ("/v1/rerank", "documents", "top_k", "data", "relevance_score", "document"),
    "mixedbread": ("/v1/reranking", "input", "top_k", "data", "score", "input"),
    "pinecone": ("/rerank", "documents", "top_n", "data", "score", "document.text"),
}
# Fields that a dialect knows beside query, model, candidates and limit.
FIELDS = {
    "cohere": {"max_tokens_per_doc", "priority"},
    "jina": {"return_documents"},
    "vllm": {"truncate_prompt_tokens"},
    "sglang": {"return_documents"},
    "tei": {"raw_scores", "return_text", "truncate", "truncation_direction"},
    "infinity": {"return_documents", "raw_scores"},
    "voyage": {"return_documents", "truncation"},
    "mixedbread": {"return_input", "rank_fields"},
    "pinecone": {"return_documents", "rank_fields", "parameters"},
}


def by_words_and_place(query, texts):
    """In (0, 1): more for shared words and length, a little less for a later place."""
    known = set(query.split())
    scores = []
    for place, text in enumerate(texts):
        shared = len(known & set(text.split())) + min(len(text), 999) / 1000
        scores.append((shared + 1) / 12 - 0.02 * place / len(texts))
    return scores


def usage(dialect, tokens):
    """What each dialect tells of its cost, beside the results."""
    return {
        "cohere": {"meta": {"billed_units": {"search_units": 1}, "tokens": {"input_tokens": tokens}}},
        "pinecone": {"usage": {"rerank_units": 1}},
        "mixedbread": {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}},
    }.get(dialect, {"usage": {"total_tokens": tokens}})


def rerank(dialect, score=by_words_and_place, *, change=None, pause=0.0):
    """Return what answers in a dialect: scored, cut to the limit, in an order of its own.

    Args:
        score: f(query, texts) -> scores.
        change: f(results) -> results, applied last: to drop, repeat or spoil some.
        pause: seconds that each answer takes.
    """
    _, candidates, limit, _, _, _ = SHAPES[dialect]

    def answer(asked):
        body = asked.body
        known = {"query", "model", candidates, limit} | FIELDS[dialect]
        if set(body) - known or not {"query", candidates} <= set(body) or not body[candidates]:
            return Reply({"error": f"fields {sorted(body)}"}, status=422)
        texts = [one["text"] if dialect == "pinecone" else one for one in body[candidates]]
        top = body.get(limit, len(texts))
        if top < 1:
            return Reply({"error": f"{limit} must be at least 1"}, status=422)
        scores = score(body["query"], texts)
        best = sorted(range(len(texts)), key=lambda i: -scores[i])[:top]
        random.Random(json.dumps(body)).shuffle(best)
        results = [_result(dialect, i, scores[i], texts[i]) for i in best]
        time.sleep(pause)
        tokens = sum(len(text.split()) for text in [body["query"], *texts])
        return _wrapped(dialect, change(results) if change else results, tokens)

    return answer


def _result(dialect, index, score, text):
    *_, key, place = SHAPES[dialect]
    shown = {} if place is None else {place.partition(".")[0]: {"text": text} if "." in place else text}
    return {**shown, key: score, "index": index}


def _wrapped(dialect, results, tokens):
    key = SHAPES[dialect][3]
    if key is not None:
        return {"id": "x", "model": "m", key: results, **usage(dialect, tokens)}
    if dialect == "sglang":
        each = tokens // max(1, len(results))
        return [
            {**one, "meta_info": {"prompt_tokens": each}} if isinstance(one, dict) else one
            for one in results
        ]
    return results
