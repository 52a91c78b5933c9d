"""Runs, analyses and a headless browser for the tests of the report."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import time

import numpy as np
import pytest

from evenhand.study.analysis import Analysis, Cost, Curve, Finding, ThresholdFit
from evenhand.types import Candidate, Estimate, Plan, Presentation, ScoreMatrix, Slate


@pytest.fixture
def worked():
    """The slate of the worked example: candidates A to F, grades 3 3 2 2 1 0, two orders."""
    grades = dict(zip("ABCDEF", (3, 3, 2, 2, 1, 0), strict=True))
    slate = Slate("q1", "a query", tuple(Candidate(key, f"text {key}") for key in "ABCDEF"), grades)
    rows = np.array([[0.83, 0.80, 0.52, 0.48, 0.29, 0.08], [0.81, 0.78, 0.49, 0.51, 0.30, 0.07]])
    return slate, rows


@pytest.fixture
def make_analysis():
    """A function that builds an analysis by hand; keywords replace its fields."""

    def make(name="scorer-a", **changed):
        fields = {
            "scorer": {
                "name": name,
                "revision": "0123456789abcdef0123",
                "scale": "unit",
                "dtype": "float32",
            },
            "settings": {
                "design": "reorder",
                "rows": 4,
                "width": None,
                "rule": "contiguous",
                "seed": 0,
            },
            "slate_ids": ("q1", "q2"),
            "stability": {"tauPSI": Estimate(0.25, 0.125, 0.375, 2, 0)},
            "floor": {"tauPSI": Estimate(0.0625, 0.0, 0.125, 2, 0)},
            "served": {"nDCG@10": Estimate(0.75, 0.5, 1.0, 2, 0)},
            "shuffled": {"nDCG@10": Estimate(0.5, 0.25, 0.75, 2, 0)},
            "decisions": {"Overlap": Estimate(0.5, 0.4, 0.6, 2, 0)},
            "threshold": ThresholdFit("f1", (0.5, 0.55), 1, "0123456789abcdef0123"),
            "cost": Cost(5.0, 1234.5),
            "counts": {"slates": 2, "rows": 12, "failed_rows": 0},
            "findings": (),
            "per_slate": {"tauPSI": np.array([0.2, 0.3]), "threshold": np.array([0.5, 0.55])},
            "slot_curve": Curve(np.arange(3.0), {"score": np.array([0.6, 0.5, 0.4])}),
            "overlap_curve": Curve(np.array([0.2, 0.8]), {"overlap": np.array([1.0, 0.5])}),
        }
        return Analysis(**{**fields, **changed})

    return make


@pytest.fixture
def finding():
    return Finding("near_random", "warning", "the order decides [not] the content | see <docs>")


class Records:
    """Slates with scores, as a run folder yields them."""

    def __init__(self, *entries):
        self.entries = entries

    def recorded(self):
        for slate, rows in self.entries:
            n = len(slate)
            shown = Presentation(tuple(range(n)), (tuple(range(n)),))
            plan = Plan((shown,) * len(rows), ("random",) * len(rows))
            yield type("Recorded", (), {"slate": slate, "matrix": ScoreMatrix(np.array(rows), plan)})


@pytest.fixture
def two():
    """A function that gives records of two slates: the retained set of the first alone changes."""

    def make(text="fine", query="query"):
        first = Slate("q1", query, (Candidate("a", text), Candidate("b", "other")), {"a": 1})
        second = Slate("q2", "second query", (Candidate("c", "x"), Candidate("d", "y")), {"c": 2})
        moving, steady = [[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.8, 0.2]]
        return Records((first, moving), (second, steady))

    return make


class Browser:
    """Chromium, driven over its debugging pipe; keeps console, errors and requests."""

    def __init__(self, binary: str, profile: str) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # Numbers above 9, so that moving them to 3 and 4 overwrites neither.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, to_write)]
        os.close(to_read)
        os.close(to_write)
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--no-first-run",
        ]
        flags += [f"--user-data-dir={profile}", "--disable-dev-shm-usage", "--window-size=1280,900"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{ends[0]} 4>&{ends[1]}', binary, *flags, "about:blank"],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in ends:
            os.close(end)
        self._buffer = b""
        self._count = 0
        self.messages: list[str] = []
        self.requests: list[str] = []
        target = next(
            info for info in self._call("Target.getTargets")["targetInfos"] if info["type"] == "page"
        )
        attached = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable", session=True)

    def _receive(self) -> dict:
        while b"\0" not in self._buffer:
            chunk = os.read(self._read, 1 << 16)
            assert chunk, "the browser went away"
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.messages.append(f"{params['type']}: {params['args']}")
        elif method == "Runtime.exceptionThrown":
            self.messages.append(f"exception: {params['exceptionDetails']}")
        elif method == "Log.entryAdded":
            self.messages.append(f"{params['entry']['level']}: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def _call(self, method: str, *, session: bool = False, **params):
        self._count += 1
        call = {"id": self._count, "method": method, "params": params}
        if session:
            call["sessionId"] = self._session
        os.write(self._write, json.dumps(call).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == self._count:
                assert "error" not in message, message
                return message["result"]

    def open(self, url: str) -> None:
        """Load a page and wait until its plots are drawn."""
        self._call("Page.navigate", session=True, url=url)
        deadline = time.monotonic() + 60
        drawn = "document.readyState === 'complete' && document.querySelectorAll('.plot').length"
        while not self.run(drawn):
            assert time.monotonic() < deadline, "the page did not load"
            time.sleep(0.1)

    def run(self, script: str):
        """Return the value of a JavaScript expression."""
        result = self._call("Runtime.evaluate", session=True, expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def click(self, selector: str) -> None:
        """Click the middle of an element as a mouse would."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call(
                "Input.dispatchMouseEvent", session=True, type=kind, x=place[0], y=place[1],
                button="left", clickCount=1,
            )  # fmt: skip

    def resize(self, width: int) -> None:
        """Show the page in a window of another width."""
        self._call(
            "Emulation.setDeviceMetricsOverride", session=True, width=width, height=900,
            deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def close(self) -> None:
        """End this browser and only this one."""
        os.close(self._write)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless Chromium, or a skip that says what is missing."""
    binary = (
        shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    )
    if binary is None:
        pytest.skip(
            "no Chromium on the path; install it (e.g. apt-get install chromium) to run this test"
        )
    if shutil.which("bash") is None:
        pytest.skip("no bash on the path; the test starts Chromium through it")
    opened = Browser(binary, str(tmp_path_factory.mktemp("profile")))
    yield opened
    opened.close()
