"""Requests made from our own OpenAPI document: none is a fault of the server, none goes unsaid."""

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

# Requests by operation that takes a body: with six of them 10,000 in all, and some more, as fewer are
# made where a schema holds no more.
EXAMPLES = int(os.environ.get("EVENHAND_FUZZ", "1800"))
# Megabytes that the process, with server and client, may grow by after the first operation.
GROWTH = 300


def memory():
    """Return megabytes that this process holds, or None where the system does not tell."""
    try:
        text = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return None
    (line,) = [line for line in text.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def fuzz(operation, mode, examples, statuses):
    """Send what the strategy of an operation makes; count the answers by status."""
    known = {int(status) for status in operation.definition.raw["responses"]}

    @seed(0)
    @settings(
        max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        answer = case.call(timeout=30)
        assert answer.status_code < 500, answer.text
        assert answer.status_code in known, (operation.path, answer.status_code, answer.text)
        statuses[answer.status_code] += 1

    ask()


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.filterwarnings("ignore")
def test_what_the_document_describes_and_what_it_does_not(serve):
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    modes = pytest.importorskip("schemathesis.generation").GenerationMode
    running = serve("toy:relevance=hash,slot_bias=0.3", limits={"documents": 50, "characters": 5000})
    schema = schemathesis.openapi.from_url(f"{running.url}/openapi.json")
    statuses, before = Counter(), None
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.method == "get":
            fuzz(operation, modes.POSITIVE, 5, statuses)
            continue
        for mode in (modes.POSITIVE, modes.NEGATIVE):
            fuzz(operation, mode, EXAMPLES // 2, statuses)
        before = memory() if before is None else before
    assert {200, 422} <= set(statuses)
    assert statuses.total() >= 5.56 * EXAMPLES, "10,000 of 6 * 1,800"
    if before is not None:
        assert memory() - before < GROWTH
    assert running.client.get("/health").status_code == 200
    print(dict(statuses))
