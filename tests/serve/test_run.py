"""Under pressure: a full line, time that is up, clients that leave, a server that is told to end."""

import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

import httpx
import pytest

from evenhand.errors import UsageError
from evenhand.serve import run

BODY = {"query": "q", "documents": ["aa"]}


class Asking:
    """A request in a thread of its own."""

    def __init__(self, running, query="q"):
        self.answer = None
        self._body = {"query": query, "documents": ["aa"]}
        self._url = running.url
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self):
        self.answer = httpx.post(f"{self._url}/v1/rerank", json=self._body, timeout=20)

    @property
    def status(self):
        self._thread.join(20)
        return self.answer.status_code


def half_sent(running, whole):
    """Return a socket on which a request was sent: all of it, or without its last byte."""
    data = json.dumps({"query": "left", "documents": ["aa"]}).encode()
    kind = f"Content-Type: application/json\r\nContent-Length: {len(data)}"
    head = f"POST /v1/rerank HTTP/1.1\r\nHost: x\r\n{kind}\r\n\r\n"
    sock = running.connect()
    sock.sendall(head.encode() + (data if whole else data[:-1]))
    return sock


@pytest.fixture
def busy(serve, held):
    """A function (**limits) -> a server whose scorer is inside a call, and that request."""

    def start(**limits):
        running = serve(held, limits=limits)
        first = Asking(running, "first")
        assert held.entered.acquire(timeout=10)
        return running, first

    return start


def test_a_full_line_is_429_and_the_others_are_answered(busy, held, until):
    running, first = busy(queue=2)
    waiting = [Asking(running), Asking(running)]
    until(lambda: running.service.worker.waiting == 2)
    refused = running.post(**BODY)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert running.client.get("/health").json() == {"status": "ok", "waiting": 2}
    held.gate.set()
    assert [one.status for one in (first, *waiting)] == [200] * 3
    assert running.post(**BODY).status_code == 200


def test_time_that_is_up_is_504_and_the_line_moves_on(busy, held, until):
    running, first = busy(timeout=0.4)
    assert running.post(**BODY).status_code == 504
    assert first.status == 504
    assert running.service.worker.waiting == 0
    held.gate.set()
    until(lambda: running.post(**BODY).status_code == 200)
    # The request that waited in vain was never scored.
    assert held.calls == [["first"], ["q"]]
    assert 'dropped_requests_total{reason="timeout"} 2.0' in running.client.get("/metrics").text


def test_a_client_that_leaves_is_dropped_from_the_line(busy, held, until):
    running, first = busy()
    left = half_sent(running, whole=True)
    until(lambda: running.service.worker.waiting == 1)
    left.close()
    until(lambda: running.service.worker.waiting == 0)
    held.gate.set()
    assert first.status == 200
    assert running.post(**BODY).status_code == 200
    assert held.calls == [["first"], ["q"]]
    text = running.client.get("/metrics").text
    assert 'dropped_requests_total{reason="disconnect"} 1.0' in text
    assert 'requests_total{path="/v1/rerank",status="499"} 1.0' in text


def test_a_client_that_leaves_while_it_is_scored_harms_nobody(serve, held, until):
    running = serve(held)
    left = half_sent(running, whole=True)
    assert held.entered.acquire(timeout=10)
    left.close()
    until(lambda: running.service.state.active == 0)
    held.gate.set()
    assert running.post(**BODY).status_code == 200


def test_a_client_that_leaves_or_stops_in_the_middle_of_its_body(serve, lengths, until):
    running = serve(lengths, limits={"timeout": 0.5})
    half_sent(running, whole=False).close()
    until(lambda: running.service.state.active == 0)
    slow = half_sent(running, whole=False)
    slow.settimeout(5)
    assert b"408" in slow.recv(100)
    slow.close()
    assert lengths.calls == []


def test_half_sent_bodies_do_not_keep_others_out(serve, lengths, until):
    running = serve(lengths, limits={"queue": 2, "reading": 2})
    # As many as may wait, and more; up to 4 * 2 are read at once.
    slow = [half_sent(running, whole=False) for _ in range(7)]
    until(lambda: running.service.state.active == 7)
    assert running.post(**BODY).status_code == 200
    slow.append(half_sent(running, whole=False))
    until(lambda: running.service.state.active == 8)
    assert running.post(**BODY).status_code == 429
    # They have two seconds to come, however long an answer may take.
    until(lambda: running.service.state.active == 0)
    assert running.post(**BODY).status_code == 200
    for one in slow:
        assert b" 408 " in one.recv(100)
        one.close()


def test_bodies_that_are_read_hold_no_more_bytes_than_a_full_line(serve, lengths, until):
    running = serve(lengths, limits={"queue": 1, "body": 1000, "reading": 5})
    sock = running.connect()
    head = b"POST /v1/rerank HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    sock.sendall(head + b"Content-Length: 1000\r\n\r\n" + b" " * 900)
    until(lambda: running.service._intake._held == 900)
    assert running.post(**BODY).status_code == 200
    sock.sendall(b" " * 99)
    other = running.connect()
    other.sendall(head + b"Content-Length: 1000\r\n\r\n" + b" " * 900)
    until(lambda: running.service._intake._held == 1899)
    assert running.post(**BODY).status_code == 429
    for one in (sock, other):
        one.close()
    until(lambda: running.service._intake._held == 0)
    assert running.post(**BODY).status_code == 200


def test_drain_finishes_what_was_accepted_and_refuses_what_is_fresh(busy, held, until):
    running, first = busy()
    second = Asking(running)
    until(lambda: running.service.worker.waiting == 1)
    running.terminate()
    fresh = running.post(**BODY)
    assert (fresh.status_code, fresh.headers["retry-after"]) == (503, "1")
    assert running.client.get("/health").status_code == 503
    assert running.client.get("/metrics").status_code == 200
    held.gate.set()
    assert (first.status, second.status) == (200, 200)
    assert running.join(5)
    assert running.server.unfinished == 0


def test_drain_ends_when_its_time_is_up(busy, until):
    running, first = busy(drain=0.3)
    waits = Asking(running)
    until(lambda: running.service.worker.waiting == 1)
    began = time.monotonic()
    running.terminate()
    assert running.join(5)
    assert time.monotonic() - began < 4
    assert running.server.unfinished == 2
    # Both are told, the one that is being scored too.
    assert (waits.status, first.status) == (503, 503)


def test_a_port_in_use_is_refused_before_a_model_is_opened():
    sock = run.bind("127.0.0.1", 0)
    sock.listen(1)
    with pytest.raises(UsageError, match="cannot listen on 127.0.0.1 port"):
        run.bind("127.0.0.1", sock.getsockname()[1])
    sock.close()
    with pytest.raises(UsageError, match="port must lie between"):
        run.bind("127.0.0.1", 65536)
    with pytest.raises(UsageError, match="cannot listen"):
        run.bind("no such host", 0)


def test_of_two_servers_the_first_has_the_port_from_the_start():
    # Neither is served yet: two sockets that are only bound may share a port.
    with run.bind("127.0.0.1", 0) as first, pytest.raises(UsageError, match="in use"):
        run.bind("127.0.0.1", first.getsockname()[1])


def test_half_a_header_does_not_hold_a_connection_for_ever(serve, lengths, until):
    running = serve(lengths, limits={"timeout": 0.2})
    slow = running.connect()
    slow.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX: ")
    slow.settimeout(5)
    with contextlib.suppress(ConnectionResetError):
        assert slow.recv(10) == b""
    until(lambda: not running.server.server_state.connections)
    slow.close()


def test_an_answer_that_is_not_taken_does_not_hold_a_connection_for_ever(serve, lengths, until):
    running = serve(lengths, limits={"timeout": 0.5})
    sock = socket.socket()
    # Too little room for the answer, which is never read.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", running.port))
    data = json.dumps({"query": "q", "documents": ["\N{SNOWMAN}" * 50_000] * 10}).encode()
    head = f"Content-Type: application/json\r\nContent-Length: {len(data)}"
    sock.sendall(f"POST /v1/rerank HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode() + data)
    until(lambda: lengths.calls and not running.service.state.active)
    assert len(running.server.server_state.connections) == 1
    until(lambda: not running.server.server_state.connections)
    sock.close()


@pytest.fixture
def process():
    """A function (*words) -> (process, url) of `evenhand serve` on a free port."""
    started = []

    verb = [sys.executable, "-m", "evenhand.cli", "serve", "--port", "0", "--json"]

    def start(*words, command=verb, **environment):
        child = subprocess.Popen(
            [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **environment},
        )  # fmt: skip
        started.append(child)
        lines = ""
        while not lines.endswith("\n}\n"):
            line = child.stdout.readline()
            assert line, child.stderr.read()
            lines += line
        return child, json.loads(lines)["serving"]["url"]

    yield start
    for child in started:
        child.kill()
        child.communicate()


def test_the_verb_serves_until_sigterm_and_ends_with_0(process):
    words = ("--scorer", "toy:relevance=hash", "--remedy", "average:2", "--api-key-env", "A_KEY")
    child, url = process(*words, A_KEY="k")
    headers = {"Authorization": "Bearer k"}
    assert httpx.post(f"{url}/v1/rerank", json=BODY).status_code == 401
    assert httpx.post(f"{url}/v1/rerank", json=BODY, headers=headers).status_code == 200
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 0, err
    logged = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert [one["event"] for one in logged] == ["request", "request", "stopped"]
    assert out == ""


@pytest.mark.slow
def test_sigterm_under_load_answers_all_that_was_accepted(process):
    child, url = process("--scorer", "toy:relevance=hash", "--batch", "2")
    statuses, refused, stop = [], [], threading.Event()

    def ask():
        with httpx.Client(base_url=url, timeout=20) as client:
            while not stop.is_set():
                try:
                    body = {"query": "q", "documents": ["a"] * 200}
                    statuses.append(client.post("/v1/rerank", json=body).status_code)
                except httpx.TransportError as error:
                    refused.append(error)
                    return

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(statuses) < 20:
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=20)
    stop.set()
    for thread in threads:
        thread.join(10)
    assert child.returncode == 0, err[-2000:]
    assert set(statuses) <= {200, 503}
    # Whoever was cut off had not been accepted: every answer that the server says it gave has come,
    # and it says of none that its client was gone.
    logged = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    told = Counter(one["status"] for one in logged if one["event"] == "request")
    assert told == Counter(statuses)
    kinds = (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError)
    assert all(isinstance(error, kinds) for error in refused)


# The verb with a scorer that is inside a call for a minute; an interpreter that is taken down beside
# it aborts, as one does beside a thread of a model.
STUCK = """
import atexit, os, sys, time
import evenhand.score as score
from evenhand.cli import main
from evenhand.score.toy import Toy

class Stuck(Toy):
    def score(self, shown):
        print("inside", file=sys.stderr, flush=True)
        time.sleep(60)

score.open_scorer = lambda spec, **options: Stuck(slot_bias=0.1)
atexit.register(os.abort)
main(["serve", "--scorer", "toy", "--port", "0", "--json", *sys.argv[1:]])
"""


@pytest.fixture
def stuck(process):
    """A function (*words) -> (process, url) of the verb whose scorer never ends a call."""

    def start(*words):
        return process(*words, command=[sys.executable, "-c", STUCK])

    return start


def inside(child):
    """Wait until the scorer is inside a call."""
    line = child.stderr.readline()
    while line != "inside\n":
        assert line, "it has ended"
        line = child.stderr.readline()


@pytest.mark.parametrize("stays", [True, False])
def test_sigterm_while_a_call_does_not_end(stuck, stays):
    child, url = stuck("--drain", "0.5")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(httpx.post, f"{url}/v1/rerank", json=BODY, timeout=30 if stays else 0.5)
        inside(child)
        if not stays:
            assert isinstance(asked.exception(10), httpx.ReadTimeout)
        child.send_signal(signal.SIGTERM)
        _, err = child.communicate(timeout=20)
    # A client that waits is one request not finished; one that left is nobody's.
    assert child.returncode == (7 if stays else 0), err
    if stays:
        assert asked.result().status_code == 503
        assert "1 requests were not finished in time (exit 7)" in err


def test_the_second_signal_ends_at_once(stuck):
    # Alone, the first would wait for a minute; it is seen to wait.
    child, url = stuck("--drain", "60")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(httpx.post, f"{url}/v1/rerank", json=BODY, timeout=30)
        inside(child)
        child.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(1)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
        assert asked.result().status_code == 503
    assert (child.returncode, time.monotonic() - began < 10) == (7, True), err


@pytest.mark.slow
@pytest.mark.parametrize("stays", [True, False])
def test_a_model_in_the_middle_of_scoring_is_left_without_an_abort(process, stays):
    child, url = process("--scorer", "smollm2-135m", "--drain", "1")
    long = {"query": "q", "documents": [f"{index} " + "word " * 400 for index in range(60)]}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(httpx.post, f"{url}/v1/rerank", json=long, timeout=60 if stays else 1)
        time.sleep(3)
        child.send_signal(signal.SIGTERM)
        _, err = child.communicate(timeout=60)
        with contextlib.suppress(httpx.TransportError):
            assert asked.result(60).status_code == 503
    # A client that waits is one request not finished; one that left is nobody's.
    assert child.returncode == (7 if stays else 0), err
    assert "terminate called" not in err
