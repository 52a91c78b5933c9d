"""What a served scorer takes under load: times, errors, memory, and whether scores stay.

Requests of a few documents go to a server in a process of its own, over loopback,
`--clients` at a time; then every `--again`th is asked again, alone, and compared.

    python benchmarks/serve.py [--scorer toy] [--requests 10000] [--clients 8] [--out FILE]
    python benchmarks/serve.py --scorer smollm2-135m --requests 200 --timeout 600 --again 1

Prints one JSON document: seconds (all, p50, p99, highest), requests a second, answers by
status, the largest difference from the answers asked for alone, and the resident memory
of the server before, after and at its highest.
"""

import argparse
import json
import math
import os
import platform
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")

import httpx
import numpy as np

from evenhand.data.demo import demo_slates
from evenhand.seeds import generator


def bodies(given):
    """Return the requests: 3 to `--documents` texts of the demo slates, each another choice."""
    slates = list(demo_slates())
    made = []
    for number in range(given.requests):
        rng = generator(given.seed, "", "benchmark serve", number)
        slate = slates[int(rng.integers(len(slates)))]
        chosen = rng.permutation(len(slate))[: int(rng.integers(3, given.documents + 1))]
        texts = [slate.candidates[i].full_text[: given.characters] for i in chosen]
        made.append({"query": slate.query, "documents": texts})
    return made


def start(given):
    """Start a server and return its process and address."""
    command = [sys.executable, "-m", "evenhand.cli", "serve", "--scorer", given.scorer, "--port", "0"]
    command += ["--json", "--queue", "256", "--timeout", str(given.timeout)]
    for remedy in given.remedy:
        command += ["--remedy", remedy]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    lines = ""
    while not lines.endswith("\n}\n"):
        line = child.stdout.readline()
        if not line:
            sys.exit(f"the server did not start: {command}")
        lines += line
    return child, json.loads(lines)["serving"]["url"]


def memory(child, name="VmRSS"):
    """Return megabytes of the server, where the system tells them."""
    try:
        text = Path(f"/proc/{child.pid}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    (line,) = [line for line in text.splitlines() if line.startswith(name)]
    return round(int(line.split()[1]) / 1024, 1)


def ask(client, body):
    """Return seconds, status and the scores in the order of the documents."""
    began = time.perf_counter()
    answer = client.post("/v1/rerank", json=body)
    seconds = time.perf_counter() - began
    results = answer.json().get("results", []) if answer.status_code == 200 else []
    ordered = sorted((one["index"], one["relevance_score"]) for one in results)
    return seconds, answer.status_code, [score for _, score in ordered]


def gap(one, other):
    """Return the largest difference of two answers; infinite where one has other documents or none."""
    if not one or len(one) != len(other):
        return math.inf
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def measure(given, child, url):
    """Return all numbers of one run."""
    asked = bodies(given)
    with httpx.Client(base_url=url, timeout=given.timeout) as client:
        for body in asked[:5]:
            ask(client, body)
        before = memory(child)
        began = time.perf_counter()
        with ThreadPoolExecutor(given.clients) as pool:
            found = list(pool.map(lambda body: ask(client, body), asked))
        whole = time.perf_counter() - began
        after = memory(child)
        alone = [ask(client, body)[2] for body in asked[:: given.again]]
    seconds = np.array([one[0] for one in found])
    gaps = [gap(one[2], other) for one, other in zip(found[:: given.again], alone, strict=True)]
    return {
        "statuses": {str(status): count for status, count in Counter(one[1] for one in found).items()},
        "seconds": {
            "all": round(whole, 2), "p50": round(float(np.quantile(seconds, 0.5)), 4),
            "p99": round(float(np.quantile(seconds, 0.99)), 4),
            "highest": round(float(seconds.max()), 4),
        },
        "requests_a_second": round(given.requests / whole, 1),
        "asked_again_alone": len(alone),
        "largest_difference": max(gaps) if max(gaps) < math.inf else None,
        "memory_mb": {"before": before, "after": after, "highest": memory(child, "VmHWM")},
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scorer", default="toy:slot_bias=0.3,relevance=hash")
    parser.add_argument("--remedy", action="append", default=[])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--documents", type=int, default=6)
    parser.add_argument("--characters", type=int, default=400)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--again", type=int, default=10, help="1 = compare all answers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    child, url = start(given)
    try:
        found = measure(given, child, url)
    finally:
        child.send_signal(signal.SIGTERM)
        code = child.wait(60)
    settings = {key: value for key, value in vars(given).items() if key != "out"}
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    text = json.dumps({"settings": settings, "machine": machine, **found, "exit_code": code}, indent=2)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
