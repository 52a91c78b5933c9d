"""llama.cpp's own server over the embedded default's weights, as the file holds them."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("xllamacpp")

from evenhand import audit
from evenhand.data.demo import demo_slates
from evenhand.errors import ScorerError
from evenhand.models.fetch import LOCAL_FILE, check_file, download, take_file
from evenhand.present.design import design
from evenhand.score import open_scorer
from evenhand.types import Slate, Surface
from llama_server import LlamaServer
from openai_server import judge, shape
from servers import Service

pytestmark = pytest.mark.slow

# The server multiplies by 4-bit weights with 8-bit activations, the local scorer in
# float32: over 36 scores of four surfaces they differ by .038 at most, .012 on average.
QUANTISED = 0.06
CUT = {"max_candidate_tokens": 24}


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    named = os.environ.get(LOCAL_FILE)
    if named:
        check_file(Path(named))
        return Path(named)
    folder = tmp_path_factory.mktemp("weights")
    try:
        return take_file(download(folder), folder)
    except ScorerError as error:
        pytest.skip(f"the embedded default cannot be fetched here: {error}")


@pytest.fixture(scope="module")
def server(weights):
    with LlamaServer(weights) as running:
        yield running


@pytest.fixture(scope="module")
def slates():
    return [
        Slate(whole.id, whole.query, whole.candidates[:3], whole.grades) for whole in demo_slates(2)
    ]


def opened(server, **options):
    # The tokens of both sides are counted, and a reused prefix would move scores by up to .03.
    known = {"top_logprobs": 100, "extra": {"cache_prompt": False}, "timeout": 300.0, "concurrency": 2}
    return open_scorer("openai:smollm2", base_url=f"{server.url}/v1", **CUT, **{**known, **options})


def rows(slates, surface=None):
    drawn = design(rows=2, width=3, repeat=False, surface=surface or Surface())
    return [one for slate in slates for one in drawn.draw(slate).shown(slate)]


def test_over_ids_scores_are_those_of_the_local_scorer_up_to_quantisation(server, slates):
    # under dummy grades of 3 the scores lie far apart, so that another prompt would show
    shown = rows(slates[:1], Surface(dummy=3))
    local = open_scorer("smollm2-135m", device="cpu", **CUT)
    read, made = local.score(shown), opened(server, tokenizer="smollm2-135m")
    assert np.ptp([one.scores for one in read]) > 6 * QUANTISED
    found = made.score(shown)
    for item, one, other in zip(shown, found, read, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=QUANTISED)
        np.testing.assert_allclose(one.label_mass, other.label_mass, atol=QUANTISED)
        np.testing.assert_array_equal(one.truncated, other.truncated)
        assert one.failure is None
        # a request a slot, of the window up to its readout, and one token written
        [prompt] = local.prompts(item)
        assert (one.prompts, one.tokens) == (3, sum(readout + 2 for readout in prompt.readouts))
    again = made.score(shown)
    assert all(
        np.array_equal(one.scores, other.scores) for one, other in zip(found, again, strict=True)
    )


def test_it_is_audited_by_the_next_token(server, slates):
    result = audit(opened(server, extra={}), slates, rows=2, width=3)
    assert "openai:smollm2" in result.table()
    for record in result.folder.recorded():
        assert np.isfinite(record.matrix.scores).all()
        assert (record.prompts == 3).all()
        assert (record.tokens > 300).all()
        assert (record.label_mass > 0.5).all()


def test_it_is_audited_by_written_grades(server, slates):
    made = opened(server, mode="written", max_missing=1, max_new_tokens=40, extra={})
    result = audit(made, slates, rows=2, width=3)
    missing = 0
    for record in result.folder.recorded():
        for scores, failure in zip(record.matrix.scores, record.failures, strict=True):
            gone = np.isnan(scores)
            missing += gone.sum()
            assert set(scores[~gone]) <= {0, 1 / 3, 2 / 3, 1}
            assert not gone.any() or failure.startswith(f"{gone.sum()} of 3 scores are missing")
        assert (record.prompts == 1).all()
        assert (record.tokens > 100).all()
    # this small model keeps to no form: its answers are counted, none is guessed at
    assert missing > 0
    assert made.spent.refused.total() > 0
    assert made.spent.completion_tokens <= made.spent.prompts * 40


def test_prompt_log_probabilities_are_refused(server, slates):
    made = opened(server, mode="prompt", tokenizer="smollm2-135m")
    with pytest.raises(ScorerError, match="'prompt': the answer holds no prompt_logprobs"):
        made.score(rows(slates[:1]))
    assert made.spent.prompts == 1


@pytest.mark.parametrize(
    "more", [{"max_tokens": 1, "logprobs": True, "top_logprobs": 3}, {"max_tokens": 4}]
)
def test_the_fake_of_the_fast_tests_answers_in_the_same_keys(server, more):
    content = "Query: q\n\nPassages:\n[1] a\n\nGrades:\n[1] Grade: "
    body = {"model": "m", "messages": [{"role": "user", "content": content}], "temperature": 0, **more}
    real = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=300)
    assert real.status_code == 200
    with Service(judge()) as fake:
        answer = httpx.post(f"{fake.url}/v1/chat/completions", json=body)
    assert answer.status_code == 200
    assert shape(answer.json()) <= shape(real.json())


def test_a_request_that_the_server_refuses_is_told(server):
    wrong = opened(server, extra={"temperature": "hot"})
    [slate] = demo_slates(1)
    with pytest.raises(ScorerError, match=r"mode 'next': the service answered [45]00"):
        wrong.score(rows([Slate("s", slate.query, slate.candidates[:1])]))


def test_it_stops_in_order(weights):
    assert LlamaServer(weights).close() == 0
