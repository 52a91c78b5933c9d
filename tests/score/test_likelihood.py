"""Query likelihood against a plain loop over the model's own log-probabilities."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import UsageError
from evenhand.present.design import design
from evenhand.score.likelihood import LikelihoodOptions, LikelihoodScorer, open_likelihood
from evenhand.types import Candidate, Slate


def make(tiny_model, tiny_tokenizer, family="llama", **options):
    loaded = SimpleNamespace(
        model=tiny_model(family), tokenizer=tiny_tokenizer, name="tiny", revision="r"
    )
    return LikelihoodScorer(loaded, LikelihoodOptions(**options))


def slate(query="boil an egg", texts=("egg boils", "water", "", "seven minutes")):
    return Slate("q", query, tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts)))


def first(one):
    return next(iter(design().draw(one).shown(one)))


@pytest.mark.parametrize("family", ["llama", "gemma3", "granite"])
def test_equals_a_plain_loop(family, tiny_model, tiny_tokenizer):
    scorer, model = make(tiny_model, tiny_tokenizer, family), tiny_model(family)
    one = slate()
    [scored] = scorer.score([first(one)])

    def encode(text):
        return tiny_tokenizer.encode(text, add_special_tokens=False)

    for candidate, score in zip(one.candidates, scored.scores, strict=True):
        text = encode(f" {candidate.text}") if candidate.text else []
        start = encode("Passage:") + text + encode("\nSearch query:")
        query = encode(" boil an egg")
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([start + query])).logits[0].float()
        logs = torch.log_softmax(logits, -1)
        wanted = np.mean([logs[len(start) - 1 + i, token].item() for i, token in enumerate(query)])
        assert score == pytest.approx(wanted, abs=1e-5)
    assert scored.prompts == 4


def test_is_order_free_and_batch_free(tiny_model, tiny_tokenizer):
    one = slate()
    rows = list(design(rows=3).draw(one).shown(one))
    scorer = make(tiny_model, tiny_tokenizer)
    wide = [scored.scores for scored in scorer.score(rows)]
    narrow = make(tiny_model, tiny_tokenizer, token_budget=1).score(rows)
    for scores, scored in zip(wide, narrow, strict=True):
        assert np.abs(scores - wide[0]).max() < 1e-5
        assert np.abs(scores - scored.scores).max() < 1e-5


def test_only_what_is_shown_is_read(tiny_model, tiny_tokenizer):
    one = slate()
    scorer = make(tiny_model, tiny_tokenizer, max_candidate_tokens=1)
    [whole] = scorer.score([first(one)])
    [scored] = scorer.score([next(iter(design("membership").draw(one).shown(one)))])
    np.testing.assert_allclose(scored.scores[:3], whole.scores[:3], atol=1e-5)
    assert np.isnan(scored.scores[3])
    assert scored.prompts == 3
    assert scored.truncated.tolist() == [*whole.truncated[:3], 0]
    assert whole.truncated[3] > 0


def test_cuts_candidates_and_counts(tiny_model, tiny_tokenizer):
    one = slate(texts=("egg " * 100, "egg"))
    [scored] = make(tiny_model, tiny_tokenizer, max_candidate_tokens=5).score([first(one)])
    whole = len(tiny_tokenizer.encode(" " + ("egg " * 100).strip(), add_special_tokens=False))
    assert scored.truncated[0] == whole - 5
    assert scored.truncated[1] == max(
        0, len(tiny_tokenizer.encode(" egg", add_special_tokens=False)) - 5
    )


def test_empty_or_endless_query_is_missing_with_the_reason(tiny_model, tiny_tokenizer):
    scorer = make(tiny_model, tiny_tokenizer)
    empty, endless, good = scorer.score(
        [first(slate("  ")), first(slate("egg " * 4000)), first(slate())]
    )
    assert np.isnan(empty.scores).all()
    assert "the query is empty" in empty.failure
    assert "never cut" in endless.failure
    assert np.isfinite(good.scores).all()


def test_refuses_what_it_does_not_have():
    with pytest.raises(UsageError, match="no surface to set"):
        open_likelihood("smollm2-135m", visibility="parallel")
    with pytest.raises(UsageError, match="unknown scorer options"):
        open_likelihood("smollm2-135m", width=3)
    with pytest.raises(UsageError, match="at least 1"):
        LikelihoodOptions(max_candidate_tokens=0)
