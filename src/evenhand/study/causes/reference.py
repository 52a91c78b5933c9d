"""A kept decomposition that another scorer's is held against."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from evenhand.errors import InputError, UsageError
from evenhand.measure.variance import NestedFit, residual_against
from evenhand.study.rows.kept import HEAD, RESULT, slates_hash
from evenhand.types import Scorer, Slate


@dataclass(frozen=True, slots=True)
class Reference:
    """The nested fit of a reference scorer, on the slates and rows of the scorer at hand.

    Attributes:
        name: of the scorer. folder: of its `evenhand decompose --out`. fit: its nested fit.
    """

    name: str
    folder: str
    fit: NestedFit

    def residual_share(self, fit: NestedFit) -> float:
        """Return the residual variance of a scorer over that of the reference.

        Args:
            fit: of the scorer.

        Returns:
            As `measure.variance.residual_against`; NaN too where scores that are missing
            leave other candidates in the one than in the other.
        """
        same = fit.documents == self.fit.documents
        return residual_against(fit, self.fit) if same else float("nan")


def open_reference(
    path: str | os.PathLike[str],
    scorer: Scorer,
    slates: Iterable[Slate],
    settings: Mapping[str, Any],
) -> Reference:
    """Open a kept decomposition, and refuse one that is not of the same slates and rows.

    Args:
        path: folder of a finished `evenhand decompose --out`.
        scorer: what is to be held against it; on the same scale.
        slates: those that it is to be asked about.
        settings: partitions, orders, width, rule and seed of its design.

    Raises:
        InputError: the folder holds no finished decomposition.
        UsageError: it is of other slates, rows or another scale; each difference is named.
    """
    head, found = _read(Path(path) / HEAD), _read(Path(path) / RESULT)
    try:
        theirs = {**head["settings"], "slates": head["slates"], "scale": head["scorer"]["scale"]}
        known = found["decomposition"]["nested"]
        fit = NestedFit(**{each.name: known[each.name] for each in fields(NestedFit)})
        name = str(head["scorer"]["name"])
    except (KeyError, TypeError):
        raise InputError("holds no finished decomposition", path=str(path)) from None
    ours = {**settings, "slates": slates_hash(slates), "scale": scorer.scale}
    faults = [
        f"{key}: {theirs.get(key)!r} there, {value!r} here"
        for key, value in ours.items()
        if theirs.get(key) != value
    ]
    if faults:
        raise UsageError(
            f"{path} is no reference for {scorer.name}: {'; '.join(faults)}. Decompose the reference "
            "with the same slates and settings, and a scorer on the same scale"
        )
    return Reference(name, str(path), fit)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            "is not there; name the folder of a finished evenhand decompose --out", path=str(path)
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as JSON ({error})", path=str(path)) from None
