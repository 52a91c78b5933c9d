"""What a training leaves to be used: an adapter or weights, `scorer.json` and a card."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evenhand import __version__
from evenhand.models.load import Loaded
from evenhand.models.quiet import quiet
from evenhand.models.source import parse
from evenhand.present.surface import texts_hash
from evenhand.present.texts import RUBRICS, SKELETONS
from evenhand.score.base import GRADES
from evenhand.score.shipped import FORMAT, NAME, grade_ids
from evenhand.train.card import CARD, card
from evenhand.train.feed import prompt_builder
from evenhand.train.licence import base_licence
from evenhand.train.settings import Training

FOLDER = "scorer"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a trained scorer is from.

    Attributes:
        steps: of the training. labels: facts about the labels.
        measures: of the last look at held-out slates, or None.
        looked: how these were shown and judged.
    """

    steps: int
    labels: Mapping[str, Any] = field(default_factory=dict)
    measures: Mapping[str, float] | None = None
    looked: Mapping[str, Any] = field(default_factory=dict)


def write_artifact(
    out: Path, model: Any, loaded: Loaded, settings: Training, provenance: Provenance
) -> Path:
    """Write a trained scorer to `out/scorer`, whole or not at all; one that is there is replaced.

    An adapter is a PEFT folder, to be opened as "BASE+FOLDER"; weights are a transformers
    folder with their tokenizer, to be opened as "hf:FOLDER". `scorer.json` says the form
    of the prompts, the base, the settings and what held-out slates gave; the card
    (README.md) says it to people.

    Args:
        model: what was trained (`loop.Outcome.model`).
        loaded: the model that the training began with.

    Returns:
        The folder.
    """
    folder, partial = out / FOLDER, out / f"{FOLDER}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    if settings.weights.method == "lora":
        _save_adapter(partial, model, settings.base)
    else:
        with quiet():
            model.save_pretrained(str(partial))
            loaded.tokenizer.save_pretrained(str(partial))
    record = scorer_record(loaded, settings, provenance)
    write_record(partial, record)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write `scorer.json` and the card that says the same to people."""
    text = json.dumps(record, indent=2, allow_nan=False) + "\n"
    (folder / NAME).write_text(text, encoding="utf-8")
    (folder / CARD).write_text(card(record), encoding="utf-8")


def _save_adapter(folder: Path, model: Any, base: str) -> None:
    config = model.peft_config["default"]
    # Where the base stood on this machine is nobody's business; its name is.
    place = parse(base).base
    config.base_model_name_or_path = place.where if place.kind == "hub" else Path(base).name
    config.revision = place.revision
    with quiet():
        model.save_pretrained(str(folder), save_embedding_layers=False)
    # A set in another order each time, by which the folder's hash would change.
    path = folder / "adapter_config.json"
    saved = json.loads(path.read_bytes())
    saved["target_modules"] = sorted(saved["target_modules"])
    path.write_text(json.dumps(saved, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def scorer_record(loaded: Loaded, settings: Training, provenance: Provenance) -> dict[str, Any]:
    """Return what `scorer.json` holds, as JSON values."""
    surface, run = settings.views.surface, settings.run
    builder = prompt_builder(loaded, run.max_candidate_tokens)
    record = {
        "format": FORMAT,
        "evenhand": __version__,
        "base": {
            "name": named(settings.base),
            "revision": loaded.revision,
            "dtype": loaded.dtype,
            "licence": base_licence(settings.base),
        },
        "surface": asdict(surface),
        "texts_hash": texts_hash(surface),
        "rubric": asdict(RUBRICS[surface.rubric]),
        "skeleton": asdict(SKELETONS[surface.skeleton]),
        "grades": {"strings": list(GRADES), "ids": list(grade_ids(builder, surface))},
        "width": max(settings.views.widths),
        "max_candidate_tokens": run.max_candidate_tokens,
        # Scores of another scorer are on another scale: none is known until it is fitted.
        "threshold": None,
        "threshold_tuned": None,
        "training": {
            "settings": {**asdict(settings), "base": named(settings.base)},
            "steps": provenance.steps,
            "labels": provenance.labels,
        },
        "measures": provenance.measures,
        "measured_on": provenance.looked,
    }
    found: dict[str, Any] = _plain(record)
    return found


def named(base: str) -> str:
    """Return a spec without the folders of this machine."""
    place = parse(base).base
    if place.kind in ("folder", "gguf"):
        return f"{base.partition(':')[0]}:{Path(place.where).name}"
    return base


def _plain(value: Any) -> Any:
    """Return JSON values; what is no number is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
