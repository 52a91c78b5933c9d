"""An analysis as JSON and back; what is not a number is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np

from evenhand.decide.fitness import Fitness
from evenhand.decide.preference import JudgeSummary, PairKind
from evenhand.decide.reading import InputOrder
from evenhand.errors import InputError
from evenhand.records.files import write_whole
from evenhand.study.analysis import Analysis, Cost, Curve, Finding, ReaderAnalysis, ThresholdFit
from evenhand.types import Estimate, FloatArray

NAME = "summary.json"
_JUDGE = ("first_place", "accuracy", "accuracy_decided")
_FITNESS = ("accuracy", "accuracy_bare", "f1", "f1_bare")


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _back(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _listed(values: FloatArray) -> list[float | None]:
    return [_number(value) for value in values]


def _array(values: list[float | None]) -> FloatArray:
    return np.array([_back(value) for value in values], dtype=np.float64)


def _estimates(estimates: Mapping[Any, Estimate]) -> dict[str, Any]:
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


def reader_to_dict(reader: ReaderAnalysis) -> dict[str, Any]:
    """Return the analysis of a reader as JSON values, the form that `reader_from_dict` reads."""
    fit = reader.fitness
    single = {name: getattr(fit, name) for name in _FITNESS if getattr(fit, name) is not None}
    return {
        "reader": dict(reader.reader),
        "estimates": {name: _estimates(found) for name, found in reader.estimates.items()},
        "own_order": _estimates({"own_order": reader.own_order})["own_order"],
        "fitness": {
            **_estimates(single),
            "majority": _number(fit.majority),
            "majority_label": fit.majority_label,
            "gold": dict(fit.gold),
            "outputs": dict(fit.outputs),
            "fit": fit.fit,
            "reason": fit.reason,
        },
        "counts": dict(reader.counts),
        "outputs": dict(reader.outputs),
        "reasons": list(reader.reasons),
        "findings": [asdict(finding) for finding in reader.findings],
        "slate_ids": list(reader.slate_ids),
        "per_slate": {name: _listed(values) for name, values in reader.per_slate.items()},
    }


def reader_from_dict(record: Mapping[str, Any]) -> ReaderAnalysis:
    """Build the analysis of a reader from its JSON form; null becomes NaN.

    Raises:
        KeyError, TypeError: the record is not such a form.
    """
    fit = record["fitness"]
    single = _estimates_back({name: fit[name] for name in _FITNESS if name in fit})
    estimates = {name: _estimates_back(found) for name, found in record["estimates"].items()}
    return ReaderAnalysis(
        reader=record["reader"],
        estimates=cast("Mapping[str, Mapping[InputOrder, Estimate]]", estimates),
        own_order=_estimates_back({"own_order": record["own_order"]})["own_order"],
        fitness=Fitness(
            single["accuracy"],
            single["accuracy_bare"],
            single.get("f1"),
            single.get("f1_bare"),
            _back(fit["majority"]),
            *(fit[name] for name in ("majority_label", "gold", "outputs", "fit", "reason")),
        ),
        counts=record["counts"],
        outputs=record["outputs"],
        reasons=tuple(record["reasons"]),
        findings=tuple(Finding(**finding) for finding in record["findings"]),
        slate_ids=tuple(record["slate_ids"]),
        per_slate={name: _array(values) for name, values in record["per_slate"].items()},
    )


def _fit(fit: ThresholdFit | None) -> dict[str, Any] | None:
    return None if fit is None else {**asdict(fit), "folds": list(fit.folds)}


def _fit_back(record: Mapping[str, Any] | None) -> ThresholdFit | None:
    return None if record is None else ThresholdFit(**{**record, "folds": tuple(record["folds"])})


def _judge(judge: JudgeSummary | None) -> dict[str, Any] | None:
    if judge is None:
        return None
    shares = {kind: _number(share) for kind, share in judge.shares.items()}
    values = {name: _number(getattr(judge, name)) for name in _JUDGE}
    return {"shares": shares, **values, "slates": judge.slates, "gold": judge.gold}


def _judge_back(record: Mapping[str, Any] | None) -> JudgeSummary | None:
    if record is None:
        return None
    shares = {kind: _back(share) for kind, share in record["shares"].items()}
    values = {name: _back(record[name]) for name in _JUDGE}
    return JudgeSummary(
        cast("dict[PairKind, float]", shares), **values, slates=record["slates"], gold=record["gold"]
    )


def analysis_to_dict(analysis: Analysis) -> dict[str, Any]:
    """Return an analysis as JSON values, the form that `analysis_from_dict` reads."""
    cost = analysis.cost
    return {
        "scorer": dict(analysis.scorer),
        "settings": dict(analysis.settings),
        "slate_ids": list(analysis.slate_ids),
        "stability": _estimates(analysis.stability),
        "floor": _estimates(analysis.floor),
        "served": _estimates(analysis.served),
        "shuffled": _estimates(analysis.shuffled),
        "decisions": _estimates(analysis.decisions),
        "threshold": _fit(analysis.threshold),
        "threshold_high": _fit(analysis.threshold_high),
        "cost": {
            "prompts_per_slate": _number(cost.prompts_per_slate),
            "tokens_per_slate": _number(cost.tokens_per_slate),
        },
        "counts": dict(analysis.counts),
        "findings": [asdict(finding) for finding in analysis.findings],
        "per_slate": {name: _listed(values) for name, values in analysis.per_slate.items()},
        "slot_curve": _curve(analysis.slot_curve),
        "overlap_curve": _curve(analysis.overlap_curve),
        "judge": _judge(analysis.judge),
        "reader": None if analysis.reader is None else reader_to_dict(analysis.reader),
    }


def analysis_from_dict(record: Mapping[str, Any]) -> Analysis:
    """Build an analysis from its JSON form; null becomes NaN.

    Raises:
        InputError: the record is not such a form.
    """
    try:
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
            threshold=_fit_back(record["threshold"]),
            threshold_high=_fit_back(record.get("threshold_high")),
            cost=Cost(_back(cost["prompts_per_slate"]), _back(cost["tokens_per_slate"])),
            counts=record["counts"],
            findings=tuple(Finding(**finding) for finding in record["findings"]),
            per_slate={name: _array(values) for name, values in record["per_slate"].items()},
            slot_curve=_curve_back(record["slot_curve"]),
            overlap_curve=_curve_back(record["overlap_curve"]),
            judge=_judge_back(record.get("judge")),
            reader=None if record.get("reader") is None else reader_from_dict(record["reader"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"not the JSON form of an analysis ({type(error).__name__}: {error})"
        ) from None


def write_summary(folder: Path, analysis: Analysis) -> None:
    """Write `summary.json` into a run folder, whole or not at all."""
    text = json.dumps(analysis_to_dict(analysis), indent=1, ensure_ascii=True, allow_nan=False)
    write_whole(folder / NAME, (text + "\n").encode("ascii"))
