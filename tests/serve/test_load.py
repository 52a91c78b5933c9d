"""Many requests side by side give what one after the other gives."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from evenhand.data.demo import demo_slates
from evenhand.seeds import generator


def bodies(count):
    """Requests of 3 to 6 documents of the demo slates, each other texts, some with a seed."""
    slates = list(demo_slates())
    made = []
    for number in range(count):
        rng = generator(0, "", "load", number)
        slate = slates[int(rng.integers(len(slates)))]
        chosen = rng.permutation(len(slate))[: int(rng.integers(3, 7))]
        body = {"query": slate.query, "documents": [slate.candidates[i].text[:160] for i in chosen]}
        made.append(body | ({"evenhand": {"order_seed": number}} if number % 3 == 0 else {}))
    return made


def ask(client, body):
    answer = client.post("/v1/rerank", json=body)
    assert answer.status_code == 200, answer.text
    scores = [(one["index"], one["relevance_score"]) for one in answer.json()["results"]]
    return [score for _, score in sorted(scores)]


def side_by_side(url, asked, threads=8):
    with httpx.Client(base_url=url, timeout=300) as client, ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda body: ask(client, body), asked))


@pytest.mark.parametrize("remedy", [(), ("average:3",), ("adaptive:threshold=0.4",)])
def test_the_toy_side_by_side_equals_one_by_one(serve, remedy):
    running = serve("toy:slot_bias=0.3,noise=0.1,relevance=hash", remedies=remedy)
    asked = bodies(24)
    alone = [ask(running.client, body) for body in asked]
    assert side_by_side(running.url, asked) == alone


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_model_side_by_side_equals_one_by_one(serve):
    pytest.importorskip("torch")
    running = serve("smollm2-135m", limits={"timeout": 900.0})
    asked = bodies(200)
    together = side_by_side(running.url, asked)
    alone = [ask(running.client, body) for body in asked]
    gap = max(np.abs(np.array(a) - np.array(b)).max() for a, b in zip(together, alone, strict=True))
    assert gap < 1e-5
    batches = running.client.get("/metrics").text
    assert "evenhand_batch_requests_bucket" in batches
