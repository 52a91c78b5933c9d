"""The embedded default, its real weights: against the oracle, and the same score everywhere."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.data.demo import demo_slates
from evenhand.errors import ScorerError
from evenhand.models.load import load
from evenhand.present.design import design
from evenhand.score.likelihood import LikelihoodOptions, LikelihoodScorer
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.types import Slate, Surface

pytestmark = pytest.mark.usefixtures("one_thread")
# The first bundled slate: its first four candidates, cut to 48 tokens, two a window, float32.
CANDIDATES, CUT = 4, 48
GOLDEN = {
    "sequential": (0.47588, 0.40640, 0.45526, 0.43695),
    "parallel": (0.47588, 0.55178, 0.45526, 0.58057),
    "isolated": (0.51170, 0.47571, 0.43687, 0.42507),
    "likelihood": (-2.30229, -1.92943, -3.39872, -3.52900),
}


@pytest.fixture(scope="module")
def smollm2():
    try:
        return load("smollm2-135m", device="cpu")
    except ScorerError as error:
        pytest.skip(f"the embedded default cannot be fetched here: {error}")


@pytest.fixture(scope="module")
def plain():
    """A second copy of the weights that stays on transformers' own attention."""
    try:
        return load("smollm2-135m", device="cpu").model
    except ScorerError as error:
        pytest.skip(f"the embedded default cannot be fetched here: {error}")


def rows(surface, width=2, count=1):
    [whole] = demo_slates(1)
    kept = whole.candidates[:CANDIDATES]
    slate = Slate(whole.id, whole.query, kept)
    return list(design(rows=count, width=width, surface=surface).draw(slate).shown(slate))


@pytest.mark.parametrize("visibility", ["sequential", "parallel"])
def test_equals_the_slow_oracle_and_the_golden_scores(visibility, smollm2, plain):
    surface = Surface(visibility=visibility)
    scorer = LocalScorer(smollm2, LocalOptions(max_candidate_tokens=CUT), surface)
    one = rows(surface)[0]
    [scored] = scorer.score([one])
    prompt, window = scorer.prompts(one)[0], one.presentation.windows[0]
    for slot in (0, len(window) - 1):
        candidate = window[slot]
        seen = [i for i, b in zip(prompt.ids, prompt.branches, strict=True) if b in (0, slot + 1)]
        cut = seen if visibility == "parallel" else prompt.ids[: prompt.readouts[slot] + 1]
        with torch.inference_mode():
            found = plain(input_ids=torch.tensor([list(cut)]), logits_to_keep=1)
        logits = found.logits[0, -1].float()
        full = torch.softmax(logits, -1)[list(prompt.grades)].double().numpy()
        assert np.abs(scored.grades[candidate] - full / full.sum()).max() < 1e-5
        assert scored.label_mass[candidate] == pytest.approx(full.sum(), abs=1e-4)
    assert np.abs(scored.scores - GOLDEN[visibility]).max() < 1e-3


@pytest.mark.slow
def test_isolated_is_a_window_of_one_at_any_place(smollm2, plain):
    surface = Surface(visibility="isolated")
    scorer = LocalScorer(smollm2, LocalOptions(max_candidate_tokens=CUT), surface)
    [single] = rows(surface, width=1)[:1]
    [alone] = scorer.score([single])
    for one in rows(surface, width=2, count=2)[:2] + rows(surface, width=CANDIDATES)[:1]:
        [scored] = scorer.score([one])
        assert np.abs(scored.scores - alone.scores).max() < 1e-5
        assert scored.tokens < alone.tokens
    for candidate in (0, CANDIDATES - 1):
        prompt = scorer.prompts(single)[candidate]
        with torch.inference_mode():
            found = plain(input_ids=torch.tensor([list(prompt.ids)]), logits_to_keep=1)
        full = torch.softmax(found.logits[0, -1].float(), -1)[list(prompt.grades)].double().numpy()
        assert np.abs(alone.grades[candidate] - full / full.sum()).max() < 1e-5
    assert np.abs(alone.scores - GOLDEN["isolated"]).max() < 1e-3


def test_batches_do_not_matter(smollm2):
    surface = Surface(visibility="parallel")
    shown = rows(surface)[:1]
    wide = LocalScorer(smollm2, LocalOptions(CUT, token_budget=8192), surface).score(shown)
    narrow = LocalScorer(smollm2, LocalOptions(CUT, token_budget=1), surface).score(shown)
    for a, b in zip(wide, narrow, strict=True):
        assert np.abs(a.scores - b.scores).max() < 1e-5


def test_likelihood_golden_scores(smollm2):
    [scored] = LikelihoodScorer(smollm2, LikelihoodOptions(CUT)).score(rows(Surface())[:1])
    assert np.abs(scored.scores - GOLDEN["likelihood"]).max() < 1e-3
