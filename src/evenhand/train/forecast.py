"""What a run would take, before it is begun: steps, tokens, memory, hours."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import UsageError
from evenhand.models.load import Loaded, load
from evenhand.models.quiet import quiet, require
from evenhand.models.source import parse
from evenhand.models.tokenizer import load_tokenizer
from evenhand.train.feed import Steps, by_id, plan, prompt_builder
from evenhand.train.labels import Labelled
from evenhand.train.loop import train
from evenhand.train.session import shortened
from evenhand.train.settings import Training

SAMPLED = 8
# Numbers per token of a block that are kept for the way back: of the hidden size
# (states, norms, queries, keys, values, attention) and of the inner size (gate, up, product).
_KEPT_HIDDEN, _KEPT_INNER = 10, 4


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run would take.

    Attributes:
        slates, steps, candidates: of the run. windows: of its first views.
        prompts: of all views. tokens: of all prompts, from `sampled` of the steps.
        truncated: tokens cut from candidates in these steps.
        parameters, trained: weights of the model, and those that are trained.
        memory: bytes, a rough estimate: weights, gradients, AdamW, and what a
            micro-batch keeps. batch: tokens of the largest micro-batch that was sampled.
        token_budget: of the settings, which bounds it.
        rate: tokens a second, or None when not known. hours: tokens over it.
    """

    slates: int
    steps: int
    windows: int
    candidates: int
    prompts: int
    tokens: int
    sampled: int
    truncated: int
    parameters: int
    trained: int
    memory: int
    batch: int
    token_budget: int
    rate: float | None
    hours: float | None


def forecast(
    settings: Training, labelled: Sequence[Labelled], *, rate: float | None = None
) -> Forecast:
    """Return what a run would take; no weights are loaded where the model is a folder or hub id.

    Args:
        rate: tokens a second; None = unknown.

    Raises:
        UsageError: the rate is not above 0; as `models.load`.
        InputError: a query does not fit the context.
    """
    if rate is not None and not rate > 0:
        raise UsageError(f"a rate is tokens a second, above 0, got {rate}")
    slates, outline = by_id(labelled), outlined(settings.base)
    groups = plan(slates, settings)
    builder = prompt_builder(outline, settings.run.max_candidate_tokens)
    steps = Steps(slates, groups, settings, builder)
    chosen = sorted({round(i * (len(steps) - 1) / max(1, SAMPLED - 1)) for i in range(SAMPLED)})
    sample = [steps[index] for index in chosen]
    every = [group for step in groups for group in step]
    tokens = sum(fed.tokens for fed in sample) * len(steps) / len(sample)
    largest = max(micro.tokens for fed in sample for micro in fed.micros)
    parameters, trained = counted(outline.model, settings)
    return Forecast(
        slates=len(slates),
        steps=len(steps),
        windows=sum(group.windows for group in every),
        candidates=sum(len(group.members) for group in every),
        prompts=sum(len(view.windows) for group in every for view in group.views),
        tokens=round(tokens),
        sampled=len(sample),
        truncated=sum(fed.truncated for fed in sample),
        parameters=parameters,
        trained=trained,
        memory=memory(outline.model.config.get_text_config(), parameters, trained, largest, settings),
        batch=largest,
        token_budget=settings.run.token_budget,
        rate=rate,
        hours=None if rate is None else tokens / rate / 3600,
    )


def outlined(base: str) -> Loaded:
    """Return a model without weights and its tokenizer; a GGUF file or adapter is loaded whole."""
    source = parse(base)
    if source.adapter is not None or source.base.kind == "gguf":
        return load(base)
    torch, transformers = require("torch"), require("transformers")
    tokenizer, identity = load_tokenizer(base)
    where = (
        source.base.where if source.base.kind not in ("default", "shipped") else tokenizer.name_or_path
    )
    revision: Mapping[str, Any] = (
        {"revision": source.base.revision or "main"} if source.base.kind == "hub" else {}
    )
    with quiet(), torch.device("meta"):
        config = transformers.AutoConfig.from_pretrained(where, **revision)
        model = transformers.AutoModelForCausalLM.from_config(config)
    return Loaded(model, tokenizer, base, identity, torch.device("meta"), "float32")


def counted(model: Any, settings: Training) -> tuple[int, int]:
    """Return how many weights a model has, and how many would be trained."""
    parameters = sum(value.numel() for value in model.parameters())
    weights = settings.weights
    if weights.method == "full":
        return parameters, parameters
    sizes = [
        sum(module.weight.shape)
        for name, module in model.named_modules()
        if name.rpartition(".")[2] in weights.targets
    ]
    return parameters, weights.rank * sum(sizes)


def memory(config: Any, parameters: int, trained: int, tokens: int, settings: Training) -> int:
    """Return the bytes of float32 weights, gradients, AdamW's two averages, and of a micro-batch.

    Args:
        config: of the model. tokens: of the largest micro-batch.
    """
    run = settings.run
    hidden, inner = int(config.hidden_size), int(config.intermediate_size)
    kept = _KEPT_HIDDEN * hidden + _KEPT_INNER * inner
    layers = int(config.num_hidden_layers)
    # With recomputation only the input of each block is kept, and one block in full.
    values = layers * hidden + kept if run.checkpointing else layers * kept
    return 4 * parameters + 12 * trained + (2 if run.half else 4) * values * tokens


def measured_rate(
    settings: Training, labelled: Sequence[Labelled], *, device: str | None = None
) -> float:
    """Return the tokens a second of a second step, trained for nothing in a temporary folder."""
    loaded = load(settings.base, device=device)
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        outcome = train(loaded, labelled, shortened(settings, 2), Path(folder))
    last = outcome.log[-1]
    return float(last["tokens"] / last["seconds"])
