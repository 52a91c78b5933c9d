import json
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evenhand.decide import open_reader
from evenhand.decide.endpoint import EndpointOptions, EndpointReader
from evenhand.decide.reading import Evidence, Reader
from evenhand.errors import ScorerError, UsageError


class Server:
    """An endpoint on a socket: answers by the question, after as many faults as it is told."""

    def __init__(self, behaviour):
        self.behaviour, self.bodies, self.keys = behaviour, [], []
        self.active = self.most = 0
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                outer.handle(self)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def handle(self, request):
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        with self.lock:
            self.bodies.append((request.path, body))
            self.keys.append(request.headers.get("Authorization"))
            self.active += 1
            self.most = max(self.most, self.active)
            user = body["messages"][1]["content"]
            tries = sum(other["messages"][1]["content"] == user for _, other in self.bodies)
        status, headers, answer = self.behaviour(user, tries)
        if callable(answer):  # of the whole request
            status, answer = answer(body)
        with self.lock:
            self.active -= 1
        data = answer if isinstance(answer, bytes) else json.dumps(completion(answer)).encode()
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_port}/v1/"

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def completion(text):
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}


@pytest.fixture
def serve():
    started = []

    def start(behaviour):
        started.append(Server(behaviour))
        return started[-1]

    yield start
    for server in started:
        server.close()


def a_reader(server, task="answer", **options):
    settings = {"base_url": server.url, "pause": 0.01, "timeout": 5.0, **options}
    return EndpointReader("m", task, EndpointOptions(**settings))


def number(user):
    return int(user.split("Question: number ")[1].split("\n")[0])


ASKED = [Evidence(f"number {i}", ("a text",)) for i in range(12)]


def test_answers_that_come_shuffled_are_put_back(serve):
    def slow_first(user, tries):
        time.sleep(0.01 * (12 - number(user)))
        return 200, {}, f"\n answer {number(user)}\nbecause"

    server = serve(slow_first)
    found = a_reader(server, concurrency=4).read(ASKED)
    assert [one.output for one in found] == [f"answer {i}" for i in range(12)]
    assert 1 < server.most <= 4
    path, body = server.bodies[0]
    assert path == "/v1/chat/completions"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0, 64)
    assert "Passages:\n[1] a text\n\nQuestion: number" in body["messages"][1]["content"]


def test_faults_are_tried_again_and_what_stays_away_is_missing(serve):
    def faulty(user, tries):
        i = number(user)
        if i % 3 == 0 and tries == 1:
            return 429, {"Retry-After": "0"}, b"slow down"
        if i % 3 == 1 and tries <= 2:
            return 503, {}, b"busy"
        if i == 5:
            return 500, {}, b"broken"
        if i == 8:
            return 400, {}, b"too long"
        return 200, {}, f"answer {i}"

    server = serve(faulty)
    found = a_reader(server, retries=2).read(ASKED)
    assert [one.output for one in found] == [None if i in (5, 8) else f"answer {i}" for i in range(12)]
    assert found[5].failure == "the service answered 500: broken, 3 tries"
    # a request that is wrong stays wrong: asked once
    assert found[8].failure == "the service answered 400: too long"
    assert sum("number 8\n" in body["messages"][1]["content"] for _, body in server.bodies) == 1
    assert sum("number 5\n" in body["messages"][1]["content"] for _, body in server.bodies) == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"<html>", "no JSON"),
        (b"{}", "no chat completion"),
        (b'{"choices": []}', "no chat completion"),
        (b'{"choices": [{"message": {"content": null}}]}', "no text"),
    ],
)
def test_what_is_no_answer_is_missing(serve, answer, said):
    [found] = a_reader(serve(lambda user, tries: (200, {}, answer))).read(ASKED[:1])
    assert found.output is None
    assert said in found.failure


def test_a_late_answer_is_missing_and_a_dead_host_an_error(serve):
    def sleepy(user, tries):
        time.sleep(0.3)
        return 200, {}, "late"

    server = serve(sleepy)
    [late] = a_reader(server, timeout=0.05, retries=1).read(ASKED[:1])
    assert late.failure == "no answer: ReadTimeout, 2 tries"
    dead = EndpointReader("m", "answer", EndpointOptions("http://127.0.0.1:9", retries=0))
    with pytest.raises(ScorerError, match="nothing answers at"):
        dead.read(ASKED[:1])


@pytest.mark.parametrize("status", [401, 404])
def test_a_refusal_stops_everything(serve, status):
    server = serve(lambda user, tries: (status, {}, b"no"))
    with pytest.raises(ScorerError, match=f"answered {status}"):
        a_reader(server, concurrency=1).read(ASKED)
    # One more may be on its way before the refusal is seen; the other ten are not sent.
    assert len(server.bodies) <= 2


def test_verdicts_name_one_label(serve):
    said = ["refutes.", "The label is NOT ENOUGH INFO", "SUPPORTS or REFUTES", "maybe"]

    def label(user, tries):
        return 200, {}, said[int(user.split("Claim: c")[1][0])]

    found = a_reader(serve(label), "verdict").read([Evidence(f"c{i}") for i in range(4)])
    assert [one.output for one in found] == ["REFUTES", "NOT_ENOUGH_INFO", None, None]
    assert "no label" in found[3].failure


def with_likely(text, **likely):
    """A completion whose first token is one of some, by probability."""
    top = [{"token": token, "logprob": math.log(p)} for token, p in likely.items()]
    body = completion(text)
    body["choices"][0]["logprobs"] = {"content": [{"top_logprobs": top}]}
    return json.dumps(body).encode()


def test_verdicts_compare_the_likelihood_of_labels_where_the_endpoint_tells_it(serve):
    # "S" and " supports" together, .5, are more than "REF", .4, which the text goes on with.
    told = with_likely("REFUTES", **{"REF": 0.4, "S": 0.3, " supports": 0.2, "The": 0.1})
    server = serve(lambda user, tries: (200, {}, told))
    assert a_reader(server, "verdict").read([Evidence("c")])[0].output == "SUPPORTS"
    body = server.bodies[0][1]
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 64)
    by_text = a_reader(server, "verdict", verdict="text")
    assert by_text.read([Evidence("c")])[0].output == "REFUTES"
    assert "logprobs" not in server.bodies[-1][1]
    assert by_text.revision != a_reader(server, "verdict").revision
    # No label begins with what is likely, so the text says it.
    other = serve(lambda user, tries: (200, {}, with_likely("Well, it REFUTES it", Well=0.9)))
    assert a_reader(other, "verdict").read([Evidence("c")])[0].output == "REFUTES"
    with pytest.raises(UsageError, match="unknown verdict 'mean'; known are"):
        a_reader(server, "verdict", verdict="mean")


@pytest.mark.parametrize("status", [400, 422])
def test_an_endpoint_that_refuses_log_probabilities_is_asked_without(serve, status):
    def answer(body):
        return (status, b"unknown field") if "logprobs" in body else (200, "SUPPORTS")

    server = serve(lambda user, tries: (200, {}, answer))
    found = a_reader(server, "verdict").read([Evidence("c1"), Evidence("c2")])
    assert [one.output for one in found] == ["SUPPORTS", "SUPPORTS"]
    assert len(server.bodies) == 4


def test_answers_ask_for_no_log_probabilities(serve):
    server = serve(lambda user, tries: (200, {}, "x"))
    a_reader(server).read(ASKED[:1])
    assert "logprobs" not in server.bodies[0][1]


def test_the_key_is_sent_and_stands_nowhere(serve, monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cret")
    server = serve(lambda user, tries: (200, {}, "x"))
    reader = a_reader(server, key_variable="MY_KEY")
    reader.read(ASKED[:1])
    assert server.keys == ["Bearer s3cret"]
    monkeypatch.delenv("MY_KEY")
    again = a_reader(server, key_variable="MY_KEY")
    again.read(ASKED[:1])
    assert server.keys[1] is None
    assert (again.revision, again.name) == (reader.revision, "openai:m")


def test_words_are_cut_and_counted(serve):
    server = serve(lambda user, tries: (200, {}, "x"))
    [found] = a_reader(server, max_candidate_words=2).read([Evidence("q", ("a b c d", "e"))])
    assert found.cut == 2
    assert "[1] a b\n[2] e\n" in server.bodies[0][1]["messages"][1]["content"]


def test_opened_by_name(serve, monkeypatch):
    server = serve(lambda user, tries: (200, {}, "x"))
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    reader = open_reader("openai:m", "answer", concurrency=2)
    assert isinstance(reader, Reader)
    assert [one.output for one in reader.read(ASKED[:1])] == ["x"]
    assert reader.read([]) == []
    with pytest.raises(UsageError, match=r"unknown options \['depth'\]; known are \['base_url'"):
        open_reader("openai:m", "answer", depth=3)
    with pytest.raises(UsageError, match="task"):
        open_reader("openai:m", "summary")
    with pytest.raises(UsageError, match="model"):
        open_reader("openai:", "answer")
    monkeypatch.delenv("OPENAI_BASE_URL")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL"):
        open_reader("openai:m", "answer")
    with pytest.raises(UsageError, match="timeout"):
        EndpointOptions(timeout=0)
    with pytest.raises(UsageError, match="concurrency"):
        EndpointOptions(concurrency=0)


@pytest.mark.parametrize("wrong", [{"base_url": 3}, {"key_variable": 3}])
def test_settings_of_another_kind_are_refused(wrong):
    with pytest.raises(UsageError, match="got 3"):
        EndpointReader("m", "answer", EndpointOptions(**{"base_url": "http://127.0.0.1:9", **wrong}))
