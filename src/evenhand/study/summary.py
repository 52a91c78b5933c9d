"""An analysis as JSON and back; what is not a number is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import InputError
from evenhand.records.files import write_whole
from evenhand.study.analysis import Analysis, Cost, Curve, Finding, ThresholdFit
from evenhand.types import Estimate, FloatArray

NAME = "summary.json"


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _back(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _listed(values: FloatArray) -> list[float | None]:
    return [_number(value) for value in values]


def _array(values: list[float | None]) -> FloatArray:
    return np.array([_back(value) for value in values], dtype=np.float64)


def _estimates(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    return {
        name: {
            "mean": _number(one.mean),
            "low": _number(one.low),
            "high": _number(one.high),
            "n": one.n,
            "undefined": one.undefined,
            "level": one.level,
        }
        for name, one in estimates.items()
    }


def _estimates_back(record: Mapping[str, Any]) -> dict[str, Estimate]:
    return {
        name: Estimate(
            _back(one["mean"]), _back(one["low"]), _back(one["high"]),
            one["n"], one["undefined"], one["level"],
        )
        for name, one in record.items()
    }  # fmt: skip


def _curve(curve: Curve) -> dict[str, Any]:
    return {"x": _listed(curve.x), "y": {name: _listed(y) for name, y in curve.y.items()}}


def _curve_back(record: Mapping[str, Any]) -> Curve:
    return Curve(_array(record["x"]), {name: _array(y) for name, y in record["y"].items()})


def analysis_to_dict(analysis: Analysis) -> dict[str, Any]:
    """Return an analysis as JSON values, the form that `analysis_from_dict` reads."""
    cost = analysis.cost
    fit = analysis.threshold
    return {
        "scorer": dict(analysis.scorer),
        "settings": dict(analysis.settings),
        "slate_ids": list(analysis.slate_ids),
        "stability": _estimates(analysis.stability),
        "floor": _estimates(analysis.floor),
        "served": _estimates(analysis.served),
        "shuffled": _estimates(analysis.shuffled),
        "decisions": _estimates(analysis.decisions),
        "threshold": None if fit is None else {**asdict(fit), "folds": list(fit.folds)},
        "cost": {
            "prompts_per_slate": _number(cost.prompts_per_slate),
            "tokens_per_slate": _number(cost.tokens_per_slate),
        },
        "counts": dict(analysis.counts),
        "findings": [asdict(finding) for finding in analysis.findings],
        "per_slate": {name: _listed(values) for name, values in analysis.per_slate.items()},
        "slot_curve": _curve(analysis.slot_curve),
        "overlap_curve": _curve(analysis.overlap_curve),
    }


def analysis_from_dict(record: Mapping[str, Any]) -> Analysis:
    """Build an analysis from its JSON form; null becomes NaN.

    Raises:
        InputError: the record is not such a form.
    """
    try:
        fit = record["threshold"]
        cost = record["cost"]
        return Analysis(
            scorer=record["scorer"],
            settings=record["settings"],
            slate_ids=tuple(record["slate_ids"]),
            stability=_estimates_back(record["stability"]),
            floor=_estimates_back(record["floor"]),
            served=_estimates_back(record["served"]),
            shuffled=_estimates_back(record["shuffled"]),
            decisions=_estimates_back(record["decisions"]),
            threshold=None if fit is None else ThresholdFit(**{**fit, "folds": tuple(fit["folds"])}),
            cost=Cost(_back(cost["prompts_per_slate"]), _back(cost["tokens_per_slate"])),
            counts=record["counts"],
            findings=tuple(Finding(**finding) for finding in record["findings"]),
            per_slate={name: _array(values) for name, values in record["per_slate"].items()},
            slot_curve=_curve_back(record["slot_curve"]),
            overlap_curve=_curve_back(record["overlap_curve"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"not the JSON form of an analysis ({type(error).__name__}: {error})"
        ) from None


def write_summary(folder: Path, analysis: Analysis) -> None:
    """Write `summary.json` into a run folder, whole or not at all."""
    text = json.dumps(analysis_to_dict(analysis), indent=1, ensure_ascii=True, allow_nan=False)
    write_whole(folder / NAME, (text + "\n").encode("ascii"))
