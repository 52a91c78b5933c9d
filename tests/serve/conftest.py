"""Servers on real sockets, around scorers that tests hold in their hands."""

from __future__ import annotations

import signal
import socket
import threading
import time

import httpx
import numpy as np
import pytest

pytest.importorskip("fastapi", reason="fastapi comes with the serve extra")

from evenhand.errors import ScorerError
from evenhand.score import open_scorer
from evenhand.serve import run
from evenhand.serve.app import Service
from evenhand.serve.settings import Limits, Serving
from evenhand.types import Scored, Surface


class Running:
    """A server in a thread; `client` speaks to it."""

    def __init__(self, scorer, serving, **more):
        self.service = Service(scorer, serving, **more)
        self.sock = run.bind("127.0.0.1", 0)
        self.url, self.port = run.address_of(self.sock), self.sock.getsockname()[1]
        self.sock.listen(run.BACKLOG)
        ready = threading.Event()
        self.server = run.server_of(self.service, ready.set)
        self._thread = threading.Thread(target=self.server.run, args=([self.sock],), daemon=True)
        self._thread.start()
        assert ready.wait(20)
        self.client = httpx.Client(base_url=self.url, timeout=20)

    def post(self, path="/v1/rerank", **body):
        return self.client.post(path, json=body)

    def raw(self, data, path="/v1/rerank", **headers):
        return self.client.post(
            path, content=data, headers={"content-type": "application/json", **headers}
        )

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def terminate(self):
        self.server.handle_exit(signal.SIGTERM, None)

    def join(self, timeout=10):
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def stop(self):
        """Tell it to end; a server takes some tenths of a second to, which `ended` waits for."""
        self.client.close()
        if self._thread.is_alive():
            for _ in range(2):
                self.terminate()

    def ended(self):
        return self.join() and self.service.close()


class Held:
    """A scorer whose calls wait until they are let go; score = length of the text / 100.

    `calls` holds the queries of each call. A text "bad" in a call raises, "nan" has no score.
    """

    name, revision, scale, order_free = "held", "1", "unit", False
    channels = frozenset({"order", "companions"})
    max_window = default_window = None
    surface = Surface()

    def __init__(self, open_=True):
        self.gate, self.entered, self.calls = threading.Event(), threading.Semaphore(0), []
        if open_:
            self.gate.set()

    def score(self, shown):
        self.calls.append([one.slate.query for one in shown])
        self.entered.release()
        assert self.gate.wait(20)
        if any(c.text == "bad" for one in shown for c in one.slate.candidates):
            raise ScorerError("one text is bad")
        return [self._one(one) for one in shown]

    def _one(self, one):
        texts = [c.text for c in one.slate.candidates]
        scores = [np.nan if text == "nan" else len(text) / 100 for text in texts]
        lost = "no score for one" if "nan" in texts else None
        # As a local model does, it tells how much of each text was cut: what is over 90 characters.
        cut = np.array([max(0, len(text) - 90) for text in texts])
        windows = len(one.presentation.windows)
        return Scored(np.array(scores), prompts=windows, tokens=7, truncated=cut, failure=lost)


@pytest.fixture(scope="session")
def stopped():
    """Servers that were told to end; at the end of all tests they have."""
    found = []
    yield found
    assert all(running.ended() for running in found)


@pytest.fixture
def serve(stopped):
    """A function (scorer or spec, limits={}, spec=, measured=, **Serving) -> Running."""
    opened = []

    def start(scorer="toy:slot_bias=0.3,relevance=hash", limits=None, spec=None, **serving):
        spec = scorer if isinstance(scorer, str) else spec
        made = open_scorer(scorer) if isinstance(scorer, str) else scorer
        told = {"spec": spec, "measured": serving.pop("measured", None)}
        running = Running(made, Serving(limits=Limits(**(limits or {})), **serving), **told)
        opened.append(running)
        return running

    yield start
    for running in opened:
        if isinstance(running.service.reader.scorer, Held):
            running.service.reader.scorer.gate.set()
        running.stop()
        stopped.append(running)


@pytest.fixture
def held():
    """A scorer whose calls wait."""
    return Held(open_=False)


@pytest.fixture
def lengths():
    """A scorer that gives the length of a text over 100."""
    return Held()


@pytest.fixture
def until():
    """A function that waits for a condition."""

    def wait(condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not come to pass"
            time.sleep(0.01)

    return wait
