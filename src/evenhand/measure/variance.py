"""Where a score's movement comes from, read off the random rows of a run.

The decomposition of the method's paper: score = mu(candidate) + delta, with a
fixed effect for each candidate of each slate. What is left of a score after its
candidate's mean is explained first by the slot, then by the window index, and
what neither explains is the `residual`: companions, order inside the window and
noise together. `measure.crossed` takes that residual apart.

Bias. Dummies explain something by chance: with q of them, noise of variance v
adds q * v to their sum of squares. The corrected shares take that off, with v
from the residual, so that they are adjusted R-squared shares: unbiased but for
the ratio when the residuals are independent. They are not quite: candidates of
one window share what their companions do to them, so the chance sum of squares
of the *window* dummies is up to about B times as large, and the window share
stays too high by up to 1 / (M - 1) of the residual share in one slate, by that
over the number of slates when pooled. So pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import UsageError
from evenhand.measure.checks import came, choice, floats, listed
from evenhand.measure.rows import as_rows
from evenhand.types import FloatArray, IntArray

# An eigenvalue under this share of the number of scores is no dimension of its own.
_NO_DIMENSION = 1e-9
_TRIPLE = "(scores, slots, windows), each (M, n), of each slate"


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of the variance within candidates; they sum to 1, and are NaN when there is none."""

    slot: float
    window: float
    residual: float


@dataclass(frozen=True, slots=True)
class NestedFit:
    """A nested least-squares fit of the movement of scores.

    Attributes:
        slot, window, residual: sums of squares explained by the slot, by the
            window index on top of it, and by neither.
        df_slot, df_window, df_residual: their degrees of freedom.
        documents: candidates with at least two scores (each of each slate).
        observations: their scores.
    """

    slot: float
    window: float
    residual: float
    df_slot: int
    df_window: int
    df_residual: int
    documents: int
    observations: int

    @property
    def variance(self) -> float:
        """Variance of a score around its candidate's mean; NaN without observations."""
        total = self.df_slot + self.df_window + self.df_residual
        return (self.slot + self.window + self.residual) / total if total else float("nan")

    @property
    def residual_variance(self) -> float:
        """Variance that slot and window index leave; NaN without degrees of freedom."""
        return self.residual / self.df_residual if self.df_residual else float("nan")

    def shares(self, *, corrected: bool = True) -> Shares:
        """Return the shares of slot, window index and residual.

        Args:
            corrected: for degrees of freedom (see the module). A corrected share
                of a channel that explains nothing is as often below 0 as above.
                False gives shares of the sums of squares, in [0, 1], which call
                chance an effect.

        Returns:
            Shares that sum to 1; NaN when no score moves, or, corrected, when no
            degrees of freedom are left for the residual.
        """
        total = self.slot + self.window + self.residual
        noise = self.residual_variance if corrected else 0.0
        if not total > 0 or np.isnan(noise):
            return Shares(float("nan"), float("nan"), float("nan"))
        slot = (self.slot - self.df_slot * noise) / total
        window = (self.window - self.df_window * noise) / total
        chance = (self.df_slot + self.df_window) * noise
        return Shares(slot, window, (self.residual + chance) / total)


def nested_fit(slates: Iterable[tuple[ArrayLike, ArrayLike, ArrayLike]]) -> NestedFit:
    """Fit slot and window effects that all given slates share.

    One slate gives that slate's own effects. Missing scores are left out one by
    one, then candidates with fewer than two scores.

    Args:
        slates: for each slate (scores, slots, windows), each (M, n): scores in
            canonical columns with NaN = missing, the slot in its window and the
            index of the window of each candidate in each row.

    Raises:
        UsageError: the three do not have one shape, or a place is negative where
            a score stands.
    """
    parts = [_checked(*_three(slate)) for slate in listed("slates", slates, _TRIPLE)]
    sizes = [max((int(p[i].max(initial=-1)) + 1 for p in parts), default=0) for i in (1, 2)]
    gram = np.zeros((sum(sizes), sum(sizes)))
    moments = np.zeros(sum(sizes))
    total, documents, observations = 0.0, 0, 0
    for scores, slots, windows in parts:
        known = ~np.isnan(scores)
        known &= known.sum(axis=0) >= 2
        design = np.concatenate(
            [_within(_dummies(slots, sizes[0]), known), _within(_dummies(windows, sizes[1]), known)],
            axis=2,
        )[known]
        first = np.take_along_axis(scores, known.argmax(axis=0)[None], axis=0)
        moved = _within((scores - first)[:, :, None], known)[known][:, 0]
        gram += design.T @ design
        moments += design.T @ moved
        total += float(moved @ moved)
        documents += int(known.any(axis=0).sum())
        observations += int(known.sum())
    slot, df_slot = _explained(gram[: sizes[0], : sizes[0]], moments[: sizes[0]], observations)
    both, df_both = _explained(gram, moments, observations)
    return NestedFit(
        slot,
        max(0.0, both - slot),
        max(0.0, total - both),
        df_slot,
        df_both - df_slot,
        max(0, observations - documents - df_both),
        documents,
        observations,
    )


def slate_share(
    part: Literal["slot", "window", "residual"],
    scores: ArrayLike,
    slots: ArrayLike,
    windows: ArrayLike,
    *,
    corrected: bool = True,
) -> float:
    """Return one share of a single slate's nested fit; see `nested_fit` and its bias.

    Args:
        part: which share.
        scores: (M, n).
        slots: (M, n). windows: (M, n).
        corrected: for degrees of freedom; a share may then leave [0, 1].

    Returns:
        The share; NaN when no score moves or, corrected, nothing is left to
        estimate the residual from.

    Raises:
        UsageError: unknown share, or as `nested_fit`.
    """
    choice("share", part, ("slot", "window", "residual"))
    shares = nested_fit([(scores, slots, windows)]).shares(corrected=corrected)
    return float(getattr(shares, part))


def residual_against(fit: NestedFit, reference: NestedFit) -> float:
    """Return the residual variance of a scorer over that of a reference.

    How much a remedy or a training leaves of what companions, inner order and
    noise did to the reference. It compares numbers on one scale: fits of a
    scorer and its own base, not of two unlike scorers.

    Args:
        fit: of the scorer.
        reference: of the reference, on the same slates in the same rows.

    Returns:
        0 (nothing left) to 1 (as before) and above; NaN when either variance is
        undefined or the reference's is 0.

    Raises:
        UsageError: something else than two fits, or of different numbers of candidates.
    """
    for each in (fit, reference):
        if not isinstance(each, NestedFit):
            raise UsageError(f"a residual share compares two NestedFit, got {came(each)}")
    if fit.documents != reference.documents:
        raise UsageError(
            f"fits of {fit.documents} and {reference.documents} candidates: a residual share needs the "
            "same slates and candidates in both; leave out what either of them lacks"
        )
    base = reference.residual_variance
    return fit.residual_variance / base if base > 0 else float("nan")


def _checked(
    scores: ArrayLike, slots: ArrayLike, windows: ArrayLike
) -> tuple[FloatArray, IntArray, IntArray]:
    rows = as_rows(scores)
    named = {"slots": slots, "windows": windows}
    places = [_places(name, each) for name, each in named.items()]
    for name, place in zip(named, places, strict=True):
        if place.shape != rows.shape:
            raise UsageError(f"{name} of shape {place.shape} for scores of shape {rows.shape}")
        if (place[~np.isnan(rows)] < 0).any():
            raise UsageError(f"{name} hold a negative place for a candidate that has a score")
    return rows, places[0], places[1]


def _three(slate: object) -> Sequence[ArrayLike]:
    if not isinstance(slate, Sequence) or isinstance(slate, str) or len(slate) != 3:
        raise UsageError(f"a nested fit needs {_TRIPLE}, got {came(slate)}")
    return slate


def _places(name: str, values: ArrayLike) -> IntArray:
    found = floats(name, values)
    if np.isnan(found).any() or (found != np.floor(found)).any():
        raise UsageError(f"{name} must be whole numbers, got {came(values)}")
    return found.astype(np.int64)


def _dummies(places: IntArray, size: int) -> FloatArray:
    """Return (M, n, size): 1 where a candidate stands at a place."""
    return np.asarray(places[:, :, None] == np.arange(size), dtype=np.float64)


def _within(values: FloatArray, known: NDArray[np.bool_]) -> FloatArray:
    """Return (M, n, k) values less their mean over the known rows of their candidate."""
    counts = np.maximum(known.sum(axis=0), 1)[:, None]
    means = np.where(known[:, :, None], values, 0.0).sum(axis=0) / counts
    return np.asarray(values - means)


def _explained(gram: FloatArray, moments: FloatArray, observations: int) -> tuple[float, int]:
    """Return the sum of squares that some columns explain, and how many dimensions they have."""
    if not len(moments) or not observations:
        return 0.0, 0
    values, vectors = np.linalg.eigh(gram)
    real = values > _NO_DIMENSION * observations
    along = vectors[:, real].T @ moments
    return float((along**2 / values[real]).sum()), int(real.sum())
