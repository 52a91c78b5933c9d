"""The server over a socket: shapes, order, limits, keys, logs, what it tells of itself."""

import concurrent.futures
import json
import logging
import threading

import httpx
import numpy as np
import pytest

from evenhand.errors import ScorerError
from evenhand.score import open_scorer
from evenhand.serve import logs
from evenhand.serve.answers import document_part
from evenhand.serve.ask import slate_of
from evenhand.serve.spread import Told
from evenhand.types import Presentation, Scored, Shown

DOCUMENTS = [f"text {i}" for i in range(7)]
PATHS = ("/rerank", "/v1/rerank", "/v2/rerank")


def direct(spec, query, documents, order=None):
    """Scores of a scorer asked without a server."""
    slate = slate_of(query, documents)
    order = tuple(range(len(documents))) if order is None else tuple(order)
    (scored,) = open_scorer(spec).score([Shown(slate, Presentation(order, (order,)))])
    return scored.scores


@pytest.mark.parametrize("path", PATHS)
def test_results_are_sorted_and_are_those_of_the_scorer(serve, path):
    running = serve("toy:slot_bias=0.3,relevance=hash")
    answer = running.post(
        path, query="q", documents=DOCUMENTS, model="toy:slot_bias=0.3,relevance=hash"
    )
    assert answer.status_code == 200
    results = answer.json()["results"]
    expected = direct("toy:slot_bias=0.3,relevance=hash", "q", DOCUMENTS)
    assert [one["index"] for one in results] == np.argsort(-expected).tolist()
    found = {one["index"]: one["relevance_score"] for one in results}
    assert found == pytest.approx(dict(enumerate(expected)), abs=1e-12)


def test_ties_are_by_index_and_missing_scores_are_null_and_last(serve, lengths):
    answer = serve(lengths).post(query="q", documents=["nan", "aa", "bbb", "cc", "nan"]).json()
    order = [(one["index"], one["relevance_score"]) for one in answer["results"]]
    assert order == [(2, 0.03), (1, 0.02), (3, 0.02), (0, None), (4, None)]
    assert answer["evenhand"]["missing"] == 2
    assert answer["evenhand"]["failure"] == "no score for one"


@pytest.mark.parametrize(("top", "count"), [(1, 1), (3, 3), (99, 3), (None, 3)])
def test_top_n(serve, lengths, top, count):
    answer = serve(lengths).post(query="q", documents=["a", "bb", "ccc"], top_n=top).json()
    assert [one["index"] for one in answer["results"]] == [2, 1, 0][:count]


@pytest.mark.parametrize(
    ("path", "usual"), [("/rerank", True), ("/v1/rerank", True), ("/v2/rerank", False)]
)
def test_documents_in_results(serve, lengths, path, usual):
    running = serve(lengths)
    for asked, given in ((None, usual), (True, True), (False, False)):
        body = {"query": "q", "documents": [{"text": "a"}, "bb"], "return_documents": asked}
        results = running.post(path, **body).json()["results"]
        assert [one.get("document") for one in results] == (
            [{"text": "bb"}, {"text": "a"}] if given else [None, None]
        )


def test_no_documents_and_duplicates(serve, lengths):
    running = serve(lengths, threshold=0.02)
    empty = running.post(query="q", documents=[])
    assert (empty.status_code, empty.json()["results"]) == (200, [])
    assert lengths.calls == []
    same = running.post(query="q", documents=["aa", "aa", "a"]).json()["results"]
    assert [one["index"] for one in same] == [0, 1, 2]
    assert [one["evenhand"]["keep"] for one in same] == [True, True, False]


def test_cost_stands_where_clients_look_for_it(serve, lengths):
    answer = serve(lengths).post(query="q", documents=["a"]).json()
    assert answer["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    assert answer["meta"]["tokens"] == {"input_tokens": 7, "output_tokens": 0}
    assert {"id", "model", "results"} <= set(answer)


def test_tokens_cut_are_told_where_the_scorer_tells_them(serve, lengths):
    # The scorer cuts what is over 90 characters: 5 and 3.
    cut = {"query": "q", "documents": ["a" * 95, "b", "c" * 93]}
    assert serve(lengths).post(**cut).json()["evenhand"]["truncated_tokens"] == 8
    assert serve("toy").post(**cut).json()["evenhand"]["truncated_tokens"] is None
    asked = {**cut, "orders": 2}
    assert serve(lengths).post("/evenhand/orders", **asked).json()["evenhand"]["truncated_tokens"] == 16


def test_our_part_of_a_request(serve):
    running = serve("toy:slot_bias=0.3,relevance=hash", threshold=0.5)
    plain = running.post(query="q", documents=DOCUMENTS).json()
    assert plain["evenhand"]["order_seed"] is None
    assert plain["evenhand"]["threshold"] == 0.5
    assert plain["results"][0]["evenhand"]["flip_probability"] is None
    assert plain["results"][0]["evenhand"]["keep"] is True
    asked = {"remedy": "average:4", "threshold": 0.3, "order_seed": 5}
    own = running.post(query="q", documents=DOCUMENTS, evenhand=asked).json()
    assert own["evenhand"]["remedy"] == ["average:4"]
    assert own["evenhand"]["prompts"] == 4
    for one in own["results"]:
        told = one["evenhand"]
        assert told["keep"] == (one["relevance_score"] >= 0.3)
        assert 0 <= told["flip_probability"] <= 1
        assert told["standard_error"] >= 0
        assert told["uncertain"] == (told["flip_probability"] >= 0.1)


def test_an_order_seed_shows_another_order_and_always_the_same(serve):
    running = serve("toy:slot_bias=0.3,relevance=hash")

    def scores(seed):
        answer = running.post(query="q", documents=DOCUMENTS, evenhand={"order_seed": seed}).json()
        return {one["index"]: one["relevance_score"] for one in answer["results"]}

    assert scores(1) == scores(1)
    assert scores(1) != scores(2)
    assert scores(None) == pytest.approx(
        dict(enumerate(direct("toy:slot_bias=0.3,relevance=hash", "q", DOCUMENTS))), abs=1e-12
    )


def test_a_servers_remedy_can_be_left_out_by_a_request(serve):
    running = serve("toy:slot_bias=0.3,relevance=hash", remedies=("average:4",))
    assert running.post(query="q", documents=DOCUMENTS).json()["evenhand"]["prompts"] == 4
    bare = running.post(query="q", documents=DOCUMENTS, evenhand={"remedy": []}).json()
    assert (bare["evenhand"]["prompts"], bare["evenhand"]["remedy"]) == (1, [])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"model": "other"}, "no such model"),
        ({"max_tokens_per_doc": 100}, "cuts no document"),
        ({"evenhand": {"remedy": "average:21"}}, "at most 20"),
        ({"evenhand": {"remedy": ["average:4", "adaptive:best"]}}, "up to 48 orders"),
        ({"evenhand": {"remedy": "isolated"}}, "blind"),
        ({"evenhand": {"remedy": ["sorted", "average:2"]}}, "same order"),
        ({"evenhand": {"remedy": "adaptive:threshold=0.4", "threshold": 0.5}}, "not the decision"),
    ],
)
def test_what_this_scorer_cannot_do_is_422(serve, body, said):
    answer = serve().post(query="q", documents=["a"], **body)
    assert answer.status_code == 422
    found = answer.json()
    assert said in found["message"]
    assert found["detail"] == found["error"]["message"] == found["message"]


def test_a_bound_on_tokens_that_holds_anyway_is_taken(serve, lengths):
    lengths.max_candidate_tokens = 512
    running = serve(lengths)
    assert running.post(query="q", documents=["a"], max_tokens_per_doc=4096).status_code == 200
    assert "512" in running.post(query="q", documents=["a"], max_tokens_per_doc=100).json()["message"]


def test_scores_one_against_many_and_pairs(serve, lengths):
    running = serve(lengths)
    many = running.post("/v1/score", text_1="q", text_2=["aaa", "b"]).json()
    assert [(one["index"], one["object"], one["score"]) for one in many["data"]] == [
        (0, "score", 0.03), (1, "score", 0.01),
    ]  # fmt: skip
    assert many["object"] == "list"
    pairs = running.post("/score", text_1=["p", "q"], text_2=["aaa", "b"]).json()
    assert [one["score"] for one in pairs["data"]] == [0.03, 0.01]
    # One slate for one against many; one a pair else, so that no pair sees another.
    assert lengths.calls == [["q"], ["p", "q"]]
    assert running.post("/v1/score", text_1="q", text_2="aa").json()["data"][0]["score"] == 0.02
    assert running.post("/v1/score", text_1="q", text_2=[]).json()["data"] == []
    assert running.post("/v1/score", text_1=["p", "q"], text_2=["a"]).status_code == 422


def test_orders_tell_what_flips(serve):
    # score = 1 - slot/2: in both orders of two, the first is 1 and the second .5; kept from .7.
    running = serve("toy:relevance=slot", threshold=0.7)
    answer = running.post("/evenhand/orders", query="q", documents=["a", "b"], orders=20).json()
    assert answer["orders"][0] == {"order": [0, 1], "scores": [1.0, 0.5], "keep": [True, False]}
    shown = [one["order"] for one in answer["orders"]]
    other = shown.count([1, 0])
    assert 0 < other < 20
    for one in answer["documents"]:
        assert (one["lowest"], one["highest"], one["places"]) == (0.5, 1.0, [1, 2])
        assert one["flips"] == min(other, 20 - other)
    # The pair swaps in every pair of unlike rows: other * (20 - other) of 20 * 19 / 2.
    assert answer["tau_psi"] == pytest.approx(other * (20 - other) / 190)
    assert running.post("/evenhand/orders", query="q", documents=["a"], orders=21).status_code == 422


def test_the_servers_own_remedy_leaves_room_for_orders(serve):
    # Up to 20 orders, whatever the server puts around its scorer; 8 orders of a request's own
    # remedy with 4 inner orders are 32.
    running = serve(remedies=("average:4",))
    asked = {"query": "q", "documents": ["a", "b"]}
    answer = running.post("/evenhand/orders", **asked)
    assert (answer.status_code, len(answer.json()["orders"])) == (200, 8)
    assert running.post("/evenhand/orders", **asked, orders=21).status_code == 422
    own = running.post("/evenhand/orders", **asked, evenhand={"remedy": "average:4"})
    assert (own.status_code, "8 orders with 4 inner orders each" in own.text) == (422, True)


def test_windows_never_mix_requests_and_batches_do(serve, held, until):
    running = serve(held, limits={"batch": 8})
    answers = {}

    def ask(name):
        answers[name] = running.post(query=name, documents=["x" * int(name)]).json()

    threads = [threading.Thread(target=ask, args=(str(i),)) for i in range(1, 6)]
    threads[0].start()
    assert held.entered.acquire(timeout=10)
    for thread in threads[1:]:
        thread.start()
    until(lambda: running.service.worker.waiting == 4)
    held.gate.set()
    for thread in threads:
        thread.join(10)
    assert [len(call) for call in held.calls] == [1, 4]
    scores = {name: one["results"][0]["relevance_score"] for name, one in answers.items()}
    assert scores == {str(i): i / 100 for i in range(1, 6)}


def test_a_scorer_that_fails_is_502_and_the_next_request_is_answered(serve, lengths):
    running = serve(lengths)
    failed = running.post(query="q", documents=["bad"])
    assert failed.status_code == 502
    assert failed.json()["message"] == "the scorer failed; the server's log says why"
    assert running.post(query="q", documents=["a"]).status_code == 200


@pytest.mark.parametrize("texts", [False, True])
def test_why_a_scorer_failed_is_logged_and_not_told(serve, lengths, monkeypatch, caplog, texts):
    def fails(shown):
        try:
            raise ConnectionError("http://inner:9 of private")
        except ConnectionError as error:
            raise ScorerError("http://inner:9 gave nothing for private") from error

    monkeypatch.setattr(lengths, "score", fails)
    running = serve(lengths, log_texts=texts)
    with caplog.at_level(logging.INFO, logger=logs.NAME):
        answer = running.post(query="q", documents=["private"])
    assert answer.status_code == 502
    assert "inner" not in answer.text
    facts = [getattr(record, "facts", {}) for record in caplog.records]
    (why,) = [one for one in facts if one.get("event") == "scorer failed"]
    assert (why["error"], why["causes"]) == ("ScorerError", ["ConnectionError"])
    assert why["id"] == answer.headers["x-request-id"]
    assert ("inner" in json.dumps(why)) == texts


@pytest.mark.parametrize(
    "raised", [SystemExit(3), StopIteration(), concurrent.futures.CancelledError()]
)
def test_what_is_no_error_is_502_and_the_next_request_is_answered(serve, lengths, monkeypatch, raised):
    def fails(shown):
        raise raised

    running = serve(lengths, limits={"timeout": 5})
    with monkeypatch.context() as patched:
        patched.setattr(lengths, "score", fails)
        assert running.post(query="q", documents=["a"]).status_code == 502
    assert running.post(query="q", documents=["a"]).status_code == 200
    assert running.client.get("/health").status_code == 200


def test_no_answer_holds_a_path_of_this_machine(serve, lengths, tmp_path):
    for name in ("mine", "laid"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights.safetensors").write_bytes(b"w")
    lengths.name = f"hf:{tmp_path / 'mine'}"
    spec = f"{lengths.name}+{tmp_path / 'laid'}"
    running = serve(lengths, spec=spec)
    asked = {"query": "q", "documents": ["a"]}
    answers = [running.client.get(path) for path in ("/v1/models", "/info", "/metrics")]
    bodies = ({}, {"model": "other"}, {"model": spec}, {"evenhand": {"remedy": "isolated"}})
    answers += [running.post(**{**asked, **body}) for body in (*bodies, {"documents": ["a", "nan"]})]
    assert [one.status_code for one in answers] == [200, 200, 200, 200, 422, 200, 422, 200]
    assert not [one.text for one in answers if str(tmp_path) in one.text]
    assert answers[3].json()["model"] == "hf:mine+laid"
    assert [one["id"] for one in answers[0].json()["data"]] == ["hf:mine+laid", "hf:mine"]


def test_uncertain_begins_at_the_bound_itself():
    # .1 is at least .1; the next number below is not.
    below = float(np.nextafter(0.1, 0))
    told = Told(Scored(np.array([0.5, 0.6, np.nan])), flip=np.array([0.1, below, np.nan]))
    found = [document_part(told, index, 0.1)["uncertain"] for index in range(3)]
    assert found == [True, False, None]


def test_documents_times_orders_are_bounded(serve, lengths):
    running = serve(lengths, limits={"scores": 20})
    five, six = {"query": "q", "documents": ["a"] * 5}, {"query": "q", "documents": ["a"] * 6}
    # 5 documents in 4 orders are 20 scores, 6 are 24; 21 documents in one order are 21.
    own = {"evenhand": {"remedy": "average:4"}}
    for path, more in (("/v1/rerank", own), ("/evenhand/orders", {"orders": 4})):
        assert running.post(path, **five, **more).status_code == 200
        refused = running.post(path, **six, **more)
        assert (refused.status_code, "24 scores" in refused.text) == (413, True)
    assert running.post(query="q", documents=["a"] * 21).status_code == 413
    assert running.post("/v1/score", text_1="q", text_2=["a"] * 21).status_code == 413


def test_a_remedy_that_picks_the_best_has_no_threshold(serve):
    running = serve("toy:slot_bias=0.3,relevance=hash", threshold=0.5)
    asked = {"query": "q", "documents": DOCUMENTS}
    for remedy, kept in (("adaptive:best", 1), ("adaptive:top=3", 3)):
        answer = running.post(**asked, evenhand={"remedy": remedy}).json()
        assert answer["evenhand"]["threshold"] is None
        keeps = [one["evenhand"]["keep"] for one in answer["results"]]
        assert keeps == [True] * kept + [False] * (7 - kept)
    own = running.post(**asked, evenhand={"remedy": "adaptive:threshold=0.3"}).json()
    assert own["evenhand"]["threshold"] == 0.3


def test_head_is_get_without_a_body(serve, lengths):
    client = serve(lengths).client
    for path in ("/health", "/info", "/"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("path", "version"), [("/rerank", "1"), ("/v1/rerank", "1"), ("/v2/rerank", "2")]
)
def test_the_version_in_meta_is_that_of_the_path(serve, lengths, path, version):
    answer = serve(lengths).post(path, query="q", documents=["a"]).json()
    assert answer["meta"]["api_version"] == {"version": version}


def test_answers_are_as_the_openapi_document_says(serve, lengths):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    running = serve(lengths)
    document = running.client.get("/openapi.json").json()
    texts = {"query": "q", "documents": ["a", "nan", "bbb"]}
    asked = {
        "/rerank": texts,
        "/v2/rerank": {
            **texts,
            "evenhand": {"remedy": "average:3", "threshold": 0.02, "order_seed": 1},
        },
        "/v1/score": {"text_1": "q", "text_2": ["a", "nan"]},
        "/evenhand/orders": texts,
    }
    for path, body in asked.items():
        said = document["paths"][path]["post"]["responses"]["200"]["content"]["application/json"][
            "schema"
        ]
        schema = {**said, "components": document["components"]}
        answer = running.post(path, **body).json()
        jsonschema.validate(answer, schema)
        answer["evenhand"]["remedy"] = "no list"
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(answer, schema)


def test_a_fault_is_500_without_its_text(serve, lengths, monkeypatch, caplog):
    monkeypatch.setattr(lengths, "score", lambda shown: 1 / 0)
    running = serve(lengths)
    with caplog.at_level(logging.INFO, logger=logs.NAME):
        answer = running.post(query="q", documents=["private"])
    assert answer.status_code == 500
    assert "ZeroDivision" not in answer.text
    faults = [r.facts for r in caplog.records if getattr(r, "facts", {}).get("event") == "fault"]
    assert faults[0]["error"] == "ZeroDivisionError"
    assert "message" not in faults[0]


@pytest.mark.parametrize(
    ("kind", "status"), [("text/plain", 415), ("application/json; charset=utf-8", 200)]
)
def test_the_type_of_a_body(serve, lengths, kind, status):
    data = b'{"query": "q", "documents": ["a"]}'
    assert serve(lengths).raw(data, **{"content-type": kind}).status_code == status


def test_a_body_over_the_limit_is_413_told_or_not(serve, lengths):
    running = serve(lengths, limits={"body": 1000})
    assert running.raw(b'{"query": "' + b"q" * 2000).status_code == 413
    parts = (b"q" * 100 for _ in range(50))  # sent in chunks, without a length
    answer = running.client.post("/rerank", content=parts, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert running.post(query="q", documents=["a"] * 1001).status_code == 413
    assert running.post(query="q", documents=["a"]).status_code == 200


def test_the_key(serve, lengths):
    running = serve(lengths, key="s3cret")
    body = {"query": "q", "documents": ["a"]}
    for header in (
        None,
        "s3cret",
        "Bearer",
        "Bearer s3cre",
        "Bearer s3cret2",
        "Basic s3cret",
        "Bearer \xff",
    ):
        headers = {} if header is None else {"Authorization": header.encode("latin-1")}
        answer = running.client.post("/v1/rerank", json=body, headers=headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), header
    assert lengths.calls == []
    good = {"Authorization": "Bearer s3cret"}
    assert running.client.post("/v1/rerank", json=body, headers=good).status_code == 200
    for path, status in (
        ("/health", 200),
        ("/", 200),
        ("/info", 401),
        ("/metrics", 401),
        ("/v1/models", 401),
    ):
        assert running.client.get(path).status_code == status, path
    assert running.client.get("/info", headers=good).status_code == 200
    assert "s3cret" not in running.client.get("/info", headers=good).text


def test_logs_hold_no_text_unless_asked(serve, lengths, caplog, until):
    for log_texts in (False, True):
        caplog.clear()
        running = serve(lengths, log_texts=log_texts)
        with caplog.at_level(logging.INFO, logger=logs.NAME):
            running.post(query="my question", documents=["my document"])
            running.post(query="my question", documents=["my document"], top_n=0)
            running.client.get("/my-private-path?with=query")
            # A request is logged after its answer has left.
            until(lambda: len(caplog.records) == 3)
        facts = [record.facts for record in caplog.records if record.name == logs.NAME]
        written = json.dumps(facts)
        assert [one["status"] for one in facts] == [200, 422, 404]
        assert ("my question" in written, "my document" in written) == (log_texts, log_texts)
        assert "private" not in written
        assert facts[0]["documents"] == 1
        assert facts[0]["tokens"] == 7
        assert facts[2]["path"] == "other"


def test_a_log_line_is_one_line_of_json(capsys):
    log = logging.getLogger(logs.NAME)
    before = (log.handlers, log.level, log.propagate)
    other = logging.getLogger("uvicorn.error")
    also = (other.handlers, other.level, other.propagate)
    try:
        logs.set_up()
        logs.say("request", status=200, note="a\nb \u2028")
        line = capsys.readouterr().err
    finally:
        log.handlers, log.level, log.propagate = before
        other.handlers, other.level, other.propagate = also
    assert line.count("\n") == 1
    found = json.loads(line)
    assert (found["event"], found["status"], found["level"]) == ("request", 200, "info")


def test_what_a_server_tells_of_itself(serve):
    measured = {"source": "run", "stability": {"tauPSI": {"mean": 0.1}}}
    settings = {"remedies": ("average:2",), "threshold": 0.4, "width": 3, "names": ("mine",)}
    running = serve("toy:slot_bias=0.3", measured=measured, **settings)
    info = running.client.get("/info").json()
    assert info["scorer"]["revision"] == open_scorer("toy:slot_bias=0.3").revision
    assert info["served_revision"] != info["scorer"]["revision"]
    assert (info["width"], info["threshold"], info["remedies"]) == (3, 0.4, ["average:2"])
    assert info["measured"] == measured
    assert info["limits"]["queue"] == 64
    models = running.client.get("/v1/models").json()
    assert [one["id"] for one in models["data"]] == ["mine", "toy:slot_bias=0.3"]
    assert running.client.get("/health").json()["status"] == "ok"
    answer = running.post(query="q", documents=DOCUMENTS).json()
    assert answer["model"] == "mine"
    # 7 documents in windows of 3, twice: 2 * 3 prompts.
    assert (answer["evenhand"]["width"], answer["evenhand"]["prompts"]) == (3, 6)


def test_metrics_count(serve, lengths):
    running = serve(lengths)
    running.post(query="q", documents=["a", "nan"])
    running.post(query="q", documents=["a"], top_n=0)
    text = running.client.get("/metrics").text
    for line in (
        'evenhand_requests_total{path="/v1/rerank",status="200"} 1.0',
        'evenhand_requests_total{path="/v1/rerank",status="422"} 1.0',
        "evenhand_documents_total 2.0", "evenhand_missing_scores_total 1.0",
        "evenhand_tokens_total 7.0",
        "evenhand_batch_requests_count 1.0", "evenhand_queue_requests 0.0",
    ):  # fmt: skip
        assert line in text.splitlines(), line


def test_unknown_paths_and_methods(serve, lengths):
    client = serve(lengths).client
    assert client.get("/docs").status_code == 404
    assert client.get("/v1/rerank").status_code == 405
    assert client.post("/health").status_code == 405


def test_the_openapi_document_describes_what_is_taken(serve, lengths):
    document = serve(lengths).client.get("/openapi.json").json()
    assert set(document["paths"]) >= {
        *PATHS,
        "/v1/score",
        "/score",
        "/evenhand/orders",
        "/health",
        "/info",
    }
    schemas = document["components"]["schemas"]
    assert set(schemas) >= {"Rerank", "Score", "Orders", "Asked", "Refused"}
    assert schemas["Rerank"]["additionalProperties"] is False
    for name in json.dumps(document).split('"#/components/schemas/')[1:]:
        assert name.partition('"')[0] in schemas


def test_our_own_client_reads_our_own_server(serve):
    running = serve("toy:slot_bias=0.3,relevance=hash")
    slate = slate_of("q", DOCUMENTS)
    order = (3, 1, 0, 6, 2, 5, 4)
    shown = Shown(slate, Presentation(order, (order,)))
    handed = [DOCUMENTS[i] for i in order]
    expected = direct("toy:slot_bias=0.3,relevance=hash", "q", handed)
    for path in ("", *PATHS):
        scorer = open_scorer(f"rerank:{running.url}{path}")
        (scored,) = scorer.score([shown])
        assert scored.scores[list(order)] == pytest.approx(expected, abs=1e-12)
        assert scored.tokens > 0
        scorer.close()


def test_settings_that_do_not_fit_the_scorer(serve, lengths):
    from evenhand.errors import UsageError

    lengths.max_window = 4
    with pytest.raises(UsageError, match="at most 4"):
        serve(lengths, width=5)
    running = serve(lengths)
    assert running.post(query="q", documents=["a"] * 9).json()["evenhand"]["width"] == 4


@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00", b"POST /rerank HTTP/9\r\n\r\n"]
)
def test_no_http_harms_nobody(serve, lengths, head):
    running = serve(lengths)
    with running.connect() as sock:
        sock.sendall(head)
        sock.settimeout(2)
        assert sock.recv(100)
    assert httpx.get(f"{running.url}/health").status_code == 200
