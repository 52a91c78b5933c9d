"""What a server tells of itself: which scorer, in which form, how steady it was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evenhand import __version__
from evenhand.errors import UsageError
from evenhand.models.shipped import NAMES
from evenhand.models.source import parse as parse_model
from evenhand.models.store import folder_sha256
from evenhand.present.surface import texts_hash
from evenhand.score.facts import scorer_facts
from evenhand.score.shipped import NAME
from evenhand.serve.ask import Reader
from evenhand.study.plain import plain

_LOCAL = (*NAMES, "smollm2-135m", "hf:", "gguf:", "ql:")


def facts(reader: Reader, spec: str, measured: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what `/info` answers, as plain values.

    Args:
        reader: of the server. spec: the scorer as it was named.
        measured: estimates of a finished run of this scorer, or None; where there are none
            the held-out measures of the scorer's own `scorer.json` stand in.
    """
    serving, scorer = reader.serving, reader.scorer
    served = reader.default.scorer
    shipped = _shipped(scorer)
    surface = served.surface
    reads_rubric = "rubric" in scorer.channels
    found = {
        "evenhand": __version__,
        "models": list(reader.names),
        "scorer": scorer_facts(scorer),
        "adapter": _adapter(spec),
        "trained": None if shipped is None else shipped.get("base"),
        "remedies": list(reader.default.names),
        "served_revision": served.revision,
        "order_free": served.order_free,
        "rubric": surface.rubric if reads_rubric else None,
        "rubric_hash": texts_hash(surface) if reads_rubric else None,
        "surface": asdict(surface) if reads_rubric else None,
        "width": reader.layout.width,
        "rule": reader.layout.rule,
        "threshold": serving.threshold,
        "uncertain_at": serving.uncertain_at,
        "measured": measured if measured is not None else _held_out(reader, shipped),
        "limits": asdict(serving.limits),
    }
    cleaned: dict[str, Any] = _said(reader, plain(found))
    return cleaned


def _said(reader: Reader, value: Any) -> Any:
    """Return plain values with the names in them as clients may see them."""
    if isinstance(value, dict):
        return {key: _said(reader, one) for key, one in value.items()}
    if isinstance(value, list):
        return [_said(reader, one) for one in value]
    return reader.said(value) if isinstance(value, str) else value


def shown_as(reader: Reader) -> dict[str, Any]:
    """Return how documents are scored, under the names that a run's settings have."""
    scorer, surface = reader.default.scorer, reader.default.scorer.surface
    return {
        "scorer": {"name": scorer.name, "revision": scorer.revision},
        "surface": asdict(surface),
        "surface_texts": texts_hash(surface),
        "width": reader.layout.width,
        "rule": reader.layout.rule,
    }


def require_same(served: Mapping[str, Any], run: Mapping[str, Any], name: str) -> None:
    """Refuse a run whose figures are not those of what is served.

    Args:
        served: of `shown_as`. run: settings of the run. name: of its folder.

    Raises:
        UsageError: names each setting that differs.
    """
    pairs = {"revision": (run["scorer"]["revision"], served["scorer"]["revision"])}
    pairs |= {key: (run.get(key), served[key]) for key in served if key != "scorer"}
    other = [f"{key} {had!r}, served {has!r}" for key, (had, has) in pairs.items() if had != has]
    if other:
        raise UsageError(
            f"{name}: the run is of {run['scorer']['name']} and not of what is served, "
            f"{served['scorer']['name']}: {'; '.join(other)}. Name a run with the same settings"
        )


def _held_out(reader: Reader, shipped: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the measures of the training, and which settings of the server are not as there."""
    if shipped is None or shipped.get("measures") is None:
        return None
    surface, now = shipped.get("surface") or {}, asdict(reader.default.scorer.surface)
    changed = {
        "remedies": bool(reader.default.names),
        "width": reader.layout.width != shipped.get("width"),
        "rule": reader.layout.rule != "contiguous",
        "surface": any(now.get(key) != value for key, value in surface.items()),
    }
    differs = [name for name, other in changed.items() if other]
    measured = {"measures": shipped["measures"], "on": shipped.get("measured_on")}
    return {"source": NAME, "as_served": not differs, "differs": differs, **measured}


def _shipped(scorer: Any) -> dict[str, Any] | None:
    """Return the `scorer.json` of a trained scorer."""
    trained = getattr(scorer, "trained", None)
    if trained is None:
        return None
    record: dict[str, Any] = json.loads(Path(trained.path).read_bytes())
    return record


def _adapter(spec: str) -> dict[str, Any] | None:
    """Return the adapter that a spec names, without folders of this machine; a hash where local."""
    if not spec.startswith(_LOCAL):
        return None
    place = parse_model(spec.removeprefix("ql:")).adapter
    if place is None:
        return None
    if place.kind != "folder":
        return {"name": place.where, "revision": place.revision}
    folder = Path(place.where)
    return {"name": folder.name, "revision": folder_sha256(folder)}
