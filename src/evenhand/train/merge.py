"""An adapter merged into its base, and proof that the scores stayed."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import InputError, ScorerError, UsageError
from evenhand.models.load import Loaded, adapter_folder, load
from evenhand.models.quiet import first_line, quiet, require
from evenhand.models.source import parse
from evenhand.present.design import design
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.score.shipped import Shipped, shipped_with
from evenhand.train.artifact import named, write_record
from evenhand.types import FloatArray, Slate, Surface

TOLERANCE = 1e-5
# The canonical presentation and another, so that more than one order is compared.
_ROWS = 1


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge gave.

    Attributes:
        folder: of the model. open_as: what `open_scorer` takes to load it.
        gap: largest difference of a score to the unmerged model's. scores: compared.
        slates: they are of. form: whether there was a `scorer.json` to take along.
    """

    folder: Path
    open_as: str
    gap: float
    scores: int
    slates: int
    form: bool


def merge(
    spec: str, out: str | os.PathLike[str], probe: Sequence[Slate], *, device: str | None = None
) -> Merged:
    """Merge a model and its adapter in float32 into a folder, and compare scores with the unmerged.

    What is compared was read back from the folder. Where scores differ nothing is left.

    Args:
        spec: "BASE+ADAPTER", as `models.load` takes it.
        out: folder to be written; it must not hold anything.
        probe: slates that both are shown, in two presentations each.
        device: as `models.load` takes it.

    Raises:
        UsageError: the spec has no adapter, or there are no probe slates.
        InputError: `out` holds something, the folder holds no adapter, or `scorer.json` is
            damaged.
        ScorerError: the adapter does not fit, no score is known, or one differs by more
            than `TOLERANCE`.
    """
    folder = _free(Path(out))
    if parse(spec).adapter is None:
        raise UsageError(
            f"{spec!r} has no adapter; name one as BASE+ADAPTER, or there is nothing to merge"
        )
    if not probe:
        raise UsageError("no probe slates: nothing would show that the scores stayed")
    shipped = shipped_with(spec)
    wanted = _scores(_unmerged(spec, device), shipped, probe)
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        _write(spec, partial, shipped)
        found = _scores(load(f"hf:{partial.resolve()}", device=device), shipped, probe)
        gap, known = largest_gap(wanted, found)
        if folder.is_dir():
            folder.rmdir()
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Merged(folder, f"hf:{folder}", gap, known, len(probe), shipped is not None)


def largest_gap(wanted: FloatArray, found: FloatArray) -> tuple[float, int]:
    """Return the largest difference of two vectors of scores, and how many are known.

    Raises:
        ScorerError: it is above `TOLERANCE`, none is known, or other scores are missing.
    """
    known = ~np.isnan(wanted)
    if not known.any():
        raise ScorerError("the unmerged model gave no score on the probe slates; give others")
    if not np.array_equal(known, ~np.isnan(found)):
        raise ScorerError("the merged model lacks other scores than the unmerged one; it was not kept")
    gap = float(np.abs(wanted - found)[known].max())
    if not gap <= TOLERANCE:
        raise ScorerError(
            f"scores of the merged model differ from the unmerged one's by up to {gap:.2g}, more than "
            f"{TOLERANCE:g}; it was not kept. Use base and adapter as they are"
        )
    return gap, int(known.sum())


def _free(folder: Path) -> Path:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError("is there already; name another folder for the merged model", path=str(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def _unmerged(spec: str, device: str | None) -> Loaded:
    """Return the base in float32 with the adapter beside its weights."""
    adapter = parse(spec).adapter
    assert adapter is not None
    folder = adapter_folder(adapter)
    base = load(_base(spec), device=device)
    try:
        with quiet():
            model = require("peft").PeftModel.from_pretrained(base.model, str(folder))
    except Exception as error:
        raise ScorerError(
            f"the adapter does not fit the model ({type(error).__name__}: {first_line(error)}); give "
            "the one that was trained on these weights"
        ) from error
    model = model.eval().requires_grad_(False).to(base.device)
    return Loaded(model, base.tokenizer, spec, base.revision, base.device, base.dtype)


def _base(spec: str) -> str:
    """Return the spec of the base: what stands before the '+' of the adapter."""
    cuts = [index for index, character in enumerate(spec) if character == "+"]
    whole = parse(spec).base
    return next(spec[:index] for index in cuts if _same(spec[:index], whole))


def _same(spec: str, base: Any) -> bool:
    try:
        found = parse(spec)
    except (InputError, UsageError):
        return False
    return found.base == base and found.adapter is None


def _scores(loaded: Loaded, shipped: Shipped | None, probe: Sequence[Slate]) -> FloatArray:
    """Return all scores of the probe slates as one vector; the model is let go after it."""
    given, surface = ({}, Surface()) if shipped is None else shipped.under({}, {})
    scorer = LocalScorer(loaded, LocalOptions(**given, label_mass=False), surface)
    drawn = design(
        "reorder", rows=_ROWS, width=scorer.options.width, surface=surface, repeat=False, seed=0
    )
    shown = [one for slate in probe for one in drawn.draw(slate).shown(slate)]
    found = np.concatenate([scored.scores for scored in scorer.score(shown)])
    del scorer
    gc.collect()
    return found


def _write(spec: str, folder: Path, shipped: Shipped | None) -> None:
    # On the CPU: adding and saving needs no other device.
    loaded = load(spec, device="cpu")
    with quiet():
        loaded.model.save_pretrained(str(folder))
        loaded.tokenizer.save_pretrained(str(folder))
    if shipped is not None:
        record = json.loads(Path(shipped.path).read_bytes())
        write_record(
            folder, {**record, "merged": {"from": named(_base(spec)), "revision": loaded.revision}}
        )
