"""The licence of a base model, as the model itself states it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from evenhand.errors import ScorerError
from evenhand.models.fetch import SMOLLM2
from evenhand.models.hub import hub_file
from evenhand.models.source import Place, parse
from evenhand.score.shipped import NAME

UNKNOWN = "unknown, check"
# Models that bring neither card nor config with a licence.
_KNOWN = {SMOLLM2: "apache-2.0"}
_FRONT = re.compile(r"\A---\s*\n(.*?)^---\s*$", re.MULTILINE | re.DOTALL)
_LICENCE = re.compile(r"^license(_name)?\s*:\s*[\"']?([^\"'\n#]+)", re.MULTILINE)


def base_licence(spec: str) -> str:
    """Return the licence that a model's own files state, or `UNKNOWN`.

    Read are, in this order, `scorer.json` of a trained one, the head of the card
    (README.md) and the config.

    Args:
        spec: as `models.load` takes it; an adapter on it is not looked at.
    """
    place = parse(spec).base
    if place.kind in ("default", "shipped"):
        return _KNOWN[SMOLLM2]
    if place.kind == "gguf":
        return UNKNOWN
    for name, stated in ((NAME, _of_scorer), ("README.md", card_licence), ("config.json", _of_config)):
        text = _text(place, name)
        found = None if text is None else stated(text)
        if found:
            return found
    return UNKNOWN


def card_licence(text: str) -> str | None:
    """Return the licence in the head of a card; its name where the licence is "other"."""
    front = _FRONT.match(text)
    if front is None:
        return None
    found = {bool(named): value.strip() for named, value in _LICENCE.findall(front.group(1))}
    licence = found.get(False)
    return found.get(True, licence) if licence == "other" else licence


def _of_scorer(text: str) -> str | None:
    return _looked_up(text, "base", "licence")


def _of_config(text: str) -> str | None:
    return _looked_up(text, "license")


def _looked_up(text: str, *names: str) -> str | None:
    try:
        value = json.loads(text)
        for name in names:
            value = value[name]
    except (ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, str) and value not in ("", UNKNOWN) else None


def _text(place: Place, name: str) -> str | None:
    """Return a file of a model; a licence that cannot be fetched is unknown, no reason to fail."""
    try:
        path = hub_file(place, name) if place.kind == "hub" else Path(place.where) / name
        return path.read_text(encoding="utf-8", errors="replace") if path else None
    except (OSError, ScorerError):
        return None
