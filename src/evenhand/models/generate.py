"""Greedy text from a causal language model, in batches that fit a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.models.batching import batches
from evenhand.models.quiet import quiet, require

# Tokens that end a turn in the templates in use; those a model knows stop it.
END_OF_TURN = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<turn|>", "<|end_of_text|>", "<|end|>")


def greedy(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    max_tokens: int,
    *,
    token_budget: int = 8192,
    one_line: bool = False,
) -> list[tuple[int, ...]]:
    """Continue each prompt with the likeliest tokens, up to the end of the turn.

    Nothing of the model's own generation settings (sampling, penalties) applies.
    Prompts are sorted by length and padded on the left; an answer does not depend on
    its batch beyond float error, which can turn a tie between two tokens.

    Args:
        model: transformers causal language model on its own attention.
        tokenizer: its tokenizer.
        prompts: token ids, none empty.
        max_tokens: longest answer.
        token_budget: padded tokens of a batch, answers included.
        one_line: an answer is over with its first line that is not empty.

    Returns:
        The new tokens of each prompt in the given order, without the token that ended it.
    """
    torch = require("torch")
    stops = stop_ids(model, tokenizer)
    fill = next((i for i in (tokenizer.pad_token_id, *sorted(stops)) if i is not None), 0)
    found: list[tuple[int, ...]] = [()] * len(prompts)
    for batch in batches([len(prompt) + max_tokens for prompt in prompts], token_budget):
        rows = [list(prompts[place]) for place in batch]
        longest = max(map(len, rows))
        ids = torch.tensor([[fill] * (longest - len(row)) + row for row in rows], device=model.device)
        mask = torch.tensor(
            [[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=model.device
        )
        until = [_line_end(tokenizer, longest)] if one_line else []
        out = _generate(model, ids, mask, max_tokens, stops, fill, until)
        for place, row in zip(batch, out[:, longest:].tolist(), strict=True):
            ended = next((at for at, token in enumerate(row) if token in stops), len(row))
            # A row that is done before its neighbours is filled up.
            while one_line and ended and row[ended - 1] == fill:
                ended -= 1
            found[place] = tuple(row[:ended])
    return found


def _generate(
    model: Any,
    ids: Any,
    mask: Any,
    max_tokens: int,
    stops: frozenset[int],
    fill: int,
    until: list[Any],
) -> Any:
    torch, transformers = require("torch"), require("transformers")
    settings = transformers.GenerationConfig(
        do_sample=False,
        max_new_tokens=max_tokens,
        eos_token_id=sorted(stops) or None,
        pad_token_id=fill,
    )
    model.generation_config = settings
    with torch.inference_mode(), quiet():
        return model.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=settings,
            stopping_criteria=transformers.StoppingCriteriaList(until),
        )


def _line_end(tokenizer: Any, start: int) -> Any:
    """Return what tells of each row whether a line that is not empty has ended after a place."""
    torch = require("torch")

    def ended(ids: Any, scores: Any, **_: Any) -> Any:
        said = [tokenizer.decode(row) for row in ids[:, start:].tolist()]
        over = ["\n" in text.lstrip() for text in said]
        return torch.tensor(over, dtype=torch.bool, device=ids.device)

    return ended


def stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the ids that end an answer: what model and tokenizer say, and known ends of turn."""
    found: set[int] = set()
    own = getattr(model.generation_config, "eos_token_id", None)
    for given in (own, model.config.get_text_config().eos_token_id, tokenizer.eos_token_id):
        found.update([given] if isinstance(given, int) else given or [])
    known = tokenizer.get_vocab()
    found.update(known[token] for token in END_OF_TURN if token in known)
    return frozenset(found)
