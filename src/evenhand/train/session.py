"""A whole training: load, train, look at held-out slates, keep what is to be used."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.errors import InputError, UsageError
from evenhand.models.load import Loaded, load
from evenhand.models.quiet import require
from evenhand.models.source import parse
from evenhand.records.files import write_whole
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.train.artifact import Provenance, write_artifact
from evenhand.train.evaluate import guard, hold_out
from evenhand.train.labels import Labelled, graded
from evenhand.train.loop import Evaluate, Outcome, Record, train
from evenhand.train.settings import Training
from evenhand.train.tracking import require_tracker
from evenhand.train.trials import FOLDER, Trial, held_out_values, write_trial
from evenhand.types import Slate

LOG = "log.jsonl"


@dataclass(frozen=True, slots=True)
class Look:
    """How held-out slates are shown: rows M, width B, the measure of quality, the seed."""

    rows: int = 5
    width: int = 10
    measure: str = "nDCG@10"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """What a training left.

    Attributes:
        outcome: of the loop.
        scorer: folder of the trained scorer; None when the run was stopped.
        open_as: what `open_scorer` takes to load it.
        measures: of the last look at held-out slates, or None.
        main: whether this is the one process that writes; the others know of no scorer.
    """

    outcome: Outcome
    scorer: Path | None
    open_as: str | None
    measures: dict[str, Any] | None
    main: bool = True


def train_scorer(
    settings: Training, labelled: Sequence[Labelled], out: str | os.PathLike[str], *,
    held_out: Sequence[Slate] = (), look: Look | None = None, facts: Mapping[str, Any] | None = None,
    device: str | None = None, progress: Callable[[Record], None] | None = None,
) -> Finished:  # fmt: skip
    """Train the model that the settings name, and write it to `out/scorer`.

    A run that was interrupted goes on. Every look at held-out slates is kept in
    `out/held_out`, for `evenhand select`; the log of the steps is `out/log.jsonl`. A run
    that the collapse guard stops leaves no scorer.

    Args:
        held_out: looked at every `run.evaluate_every` steps and at the end.
        look: how; None = five rows at the widest window of the views.
        facts: about the labels, for the record.
        device: as `models.load` takes it.
        progress: called with the record of each step.

    Raises:
        UsageError: settings or labels are wrong, held-out slates are trained on, or the
            tracker is not installed.
        ResumeError: `out` holds another run.
        ScorerError: the model cannot be loaded, or the loss is not finite.
    """
    require_apart(labelled, held_out)
    require_plain_base(settings)
    require_tracker(settings.run.tracker)
    loaded = load(settings.base, device=device)
    folder, shown = Path(out), look or Look(width=max(settings.views.widths))
    evaluate = looking(held_out, settings, shown, folder) if held_out else None
    outcome = train(loaded, labelled, settings, folder, evaluate=evaluate, progress=progress)
    measures = _measures(outcome)
    if not require("accelerate").PartialState().is_main_process:
        return Finished(outcome, None, None, measures, main=False)
    lines = [json.dumps(record) + "\n" for record in outcome.log]
    write_whole(folder / LOG, "".join(lines).encode("ascii"))
    if outcome.stopped is not None:
        return Finished(outcome, None, None, measures)
    looked = {"slates": len(held_out), **asdict(shown)} if held_out else {}
    provenance = Provenance(outcome.steps, facts or {}, measures, looked)
    scorer = write_artifact(folder, outcome.model, loaded, settings, provenance)
    lora = settings.weights.method == "lora"
    return Finished(outcome, scorer, f"{settings.base}+{scorer}" if lora else f"hf:{scorer}", measures)


def _measures(outcome: Outcome) -> dict[str, Any] | None:
    look = outcome.log[-1].get("evaluation") if outcome.log else None
    return None if look is None else {name: value for name, value in look.items() if name != "stop"}


def looking(held_out: Sequence[Slate], settings: Training, look: Look, folder: Path) -> Evaluate:
    """Return the evaluation of a run: measures, and a reason to stop where the scores collapsed."""
    options = LocalOptions(
        max_candidate_tokens=settings.run.max_candidate_tokens, width=look.width, label_mass=False
    )
    penalty = settings.objective
    weight = penalty.consistency or penalty.jaccard or sum(one for _, one in penalty.channels)

    def evaluate(step: int, shown: Loaded) -> Mapping[str, Any]:
        scorer = LocalScorer(shown, options, settings.views.surface)
        found = hold_out(scorer, held_out, **asdict(look))
        ids, values = tuple(slate.id for slate in held_out), held_out_values(found)
        trial = Trial(folder.name, weight, step, ids, values, found.missing, asdict(look))
        if require("accelerate").PartialState().is_main_process:
            write_trial(folder / FOLDER / f"{step:06d}.json", trial)
        means = found.means()
        return {**means, "stop": guard(means)}

    return evaluate


def require_apart(labelled: Sequence[Labelled], held_out: Sequence[Slate]) -> None:
    """Refuse held-out slates that are trained on, by id or by query.

    Raises:
        UsageError: says how many, and names one.
    """
    ids = {one.slate.id for one in labelled}
    queries = {one.slate.query for one in labelled}
    shared = [slate.id for slate in held_out if slate.id in ids or slate.query in queries]
    if shared:
        raise UsageError(
            f"{len(shared)} of {len(held_out)} held-out slates are trained on, by id or by query "
            f"(first: {shared[0]!r}); what is selected on must be others"
        )


def require_plain_base(settings: Training) -> None:
    """Refuse an adapter on an adapter: what was trained could not be opened by base and folder.

    Raises:
        UsageError: the base has an adapter, and one is to be trained.
    """
    if settings.weights.method == "lora" and parse(settings.base).adapter is not None:
        raise UsageError(
            f"base {settings.base!r} has an adapter already; merge it into a model folder first, or "
            "train all weights (weights.method = 'full')"
        )


def graded_slates(slates: Sequence[Slate]) -> list[Labelled]:
    """Return slates labelled by their human grades over the highest grade of all of them.

    Raises:
        InputError: slates have no grades, or there is none above 0.
    """
    bare = [slate.id for slate in slates if slate.grades is None]
    if bare:
        raise InputError(
            f"{len(bare)} of {len(slates)} slates have no grades (first: {bare[0]!r}); leave them "
            "out, or label them with `evenhand label`"
        )
    highest = max((grade for slate in slates for grade in (slate.grades or {}).values()), default=0)
    if highest < 1:
        raise InputError(f"none of {len(slates)} slates has a grade above 0; there is nothing to learn")
    return [graded(slate, highest) for slate in slates]


def shortened(settings: Training, steps: int) -> Training:
    """Return the settings of a run of so many steps, for a measurement of speed."""
    run = replace(settings.run, steps=steps, evaluate_every=0, save_every=0, tracker=None)
    return replace(settings, run=run)
