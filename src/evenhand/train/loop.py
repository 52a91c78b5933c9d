"""The training loop, from top to bottom.

Groups are drawn, shown, read and compared; the gradients of a step's micro-batches
add up to that of the step. What a step holds does not depend on devices, and every
draw on the seed and the step alone, so a run that was killed and goes on ends with
the weights of one that was not.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from evenhand.errors import UsageError
from evenhand.models.load import Loaded
from evenhand.models.quiet import require
from evenhand.present.surface import texts_hash
from evenhand.seeds import content_hash
from evenhand.train.feed import Steps, by_id, feed, labels_identity, plan, prompt_builder
from evenhand.train.labels import Labelled
from evenhand.train.machine import Machine
from evenhand.train.settings import Training
from evenhand.train.tracking import require_tracker, tracking
from evenhand.train.weights import Checkpoint

Evaluate = Callable[[int, Loaded], Mapping[str, Any]]
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        steps: done in all. stopped: why it ended early, or None.
        log: one record a step: loss and its terms, norm of the gradient, windows, tokens
            of all processes, tokens cut from candidates.
        model: what was trained, in eval mode: a transformers model, or a PEFT model around one.
    """

    steps: int
    stopped: str | None
    log: tuple[Record, ...]
    model: Any = field(default=None, compare=False, repr=False)


def train(
    loaded: Loaded,
    labelled: Sequence[Labelled],
    settings: Training,
    out: str | os.PathLike[str],
    *,
    evaluate: Evaluate | None = None,
    progress: Callable[[Record], None] | None = None,
) -> Outcome:
    """Train a model on labelled slates; go on where a run in `out` was interrupted.

    Args:
        loaded: the model; its weights are changed in place, adapters are put into it.
        labelled: slates with labels, ids unique.
        settings: everything else.
        out: folder of the checkpoint.
        evaluate: called with the step and the model as it stands, every
            `run.evaluate_every` steps and at the end; what it returns is logged, and a
            true "stop" in it, a reason, ends the run for good.
        progress: called with the record of each step.

    Raises:
        UsageError: no labels, ids that repeat, a tracker that is not installed, or a
            launcher that shards the weights.
        ResumeError: `out` holds a run with other settings, labels or weights.
        ScorerError: a loss or gradient is not finite.
    """
    slates, run = by_id(labelled), settings.run
    accelerator = _accelerator(loaded, settings, out)
    groups = plan(slates, settings)
    machine = Machine(loaded, settings, accelerator.device)
    checkpoint = Checkpoint(
        _folder(out), settings, labels_identity(slates), _identity(loaded, settings)
    )
    nothing: dict[str, Any] = {"done": 0, "log": [], "stopped": None}
    state = checkpoint.load(machine.grader, machine.optimiser) or nothing
    machine.restore(state)
    done, log, stopped = state["done"], list(state["log"]), state["stopped"]
    if stopped:
        return Outcome(done, stopped, tuple(log), machine.finished())
    builder = prompt_builder(loaded, run.max_candidate_tokens)
    rank, world = accelerator.process_index, accelerator.num_processes
    steps = Steps(slates, groups, settings, builder, start=done, rank=rank, world=world)
    machine.spread(accelerator)
    with tracking(accelerator, settings) as track:
        for fed in feed(steps, run.workers):
            began = time.perf_counter()
            record = machine.descend(fed, steps, len(groups))
            done, record["seconds"] = fed.number + 1, time.perf_counter() - began
            if evaluate is not None and _due(done, run.evaluate_every, len(groups)):
                record["evaluation"] = _plain(_looked(evaluate, done, machine.shown(loaded)))
                stopped = record["evaluation"].get("stop")
            log.append(record)
            track(record)
            if progress is not None and accelerator.is_main_process:
                progress(record)
            if accelerator.is_main_process and (stopped or _due(done, run.save_every, len(groups))):
                extra = {"log": log, "stopped": stopped, **machine.extra()}
                checkpoint.save(machine.grader, machine.optimiser, done, **extra)
            if stopped:
                break
    return Outcome(done, stopped, tuple(log), machine.finished())


def _accelerator(loaded: Loaded, settings: Training, out: str | os.PathLike[str]) -> Any:
    tracker = settings.run.tracker
    require_tracker(tracker)
    # Number types are the grader's business, whatever the launcher was configured with.
    accelerator = require("accelerate").Accelerator(
        mixed_precision="no", cpu=loaded.device.type == "cpu", log_with=tracker,
        project_dir=None if tracker is None else os.fspath(out),
    )  # fmt: skip
    kind = accelerator.distributed_type.value
    if kind != "NO" and not kind.startswith("MULTI_"):
        # The state and the scorer are written from the first process's weights.
        raise UsageError(
            f"accelerate is configured for {kind}, which leaves each process a part of the weights; "
            "training needs all of them in each: launch it with --multi_gpu or torchrun, and with "
            "adapters, half = true and checkpointing = true where memory is short"
        )
    return accelerator


def _looked(evaluate: Evaluate, step: int, shown: Loaded) -> Mapping[str, Any]:
    # Held-out prompts have as many shapes as lengths; compiled blocks would be built for each.
    with torch.compiler.set_stance("force_eager"):
        return evaluate(step, shown)


def _identity(loaded: Loaded, settings: Training) -> str:
    """Return a hash of the weights that a run starts from and of the words around candidates."""
    return content_hash([loaded.revision, loaded.dtype, texts_hash(settings.views.surface)])


def _plain(values: Mapping[str, Any]) -> Record:
    """Return what an evaluation gave as plain values: a checkpoint holds no others."""
    found: Record = json.loads(json.dumps(dict(values), default=lambda value: value.item()))
    return found


def _folder(out: str | os.PathLike[str]) -> Path:
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _due(done: int, every: int, steps: int) -> bool:
    return done == steps or (every > 0 and done % every == 0)
