"""How far the labels of a teacher depend on the order they were given in.

A teacher labels a slate T times, each time in one random order. silver-beta is
the share of the variance of those labels that is within candidates:

    mean_d var_t(y) / (mean_d var_t(y) + var_d(mean_t y)),

variances with divisors T and n, so that the denominator is the variance of all
T x n labels. The method's paper names the number but prints no formula; this is
ours.

Bias. With finite T the numerator is too low by a factor (T - 1)/T and the spread
of the means too high by 1/T of it: labels that say nothing about the candidates
get (T - 1)/T, not 1. The corrected form takes both off, and may leave [0, 1].

Missing labels (NaN) follow the rule of the package: an order without any label
is left out, then each candidate that some remaining order lacks. Fewer than two
orders or two candidates, or labels that are all equal, are undefined.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from evenhand.measure.checks import listed
from evenhand.measure.rows import complete


def label_variances(labels: ArrayLike, *, corrected: bool = False) -> tuple[float, float]:
    """Return mean_d var_t(y) and var_d(mean_t y) of one slate's labels.

    Args:
        labels: (T, n), one row per order, columns in canonical order.
        corrected: unbiased for T orders and n candidates (see the module).

    Returns:
        Both in squared units of the label; NaN with fewer than two orders or two
        candidates.

    Raises:
        UsageError: the labels are no (T, n) numbers.
    """
    rows = complete(labels)
    orders, n = rows.shape
    if orders < 2 or n < 2:
        return float("nan"), float("nan")
    # From each candidate's first label, so that what never moves gives exactly 0.
    moved = rows - rows[0]
    within = float(moved.var(axis=0, ddof=int(corrected)).mean())
    # A constant shift changes no variance, and equal means then give exactly 0.
    means = moved.mean(axis=0) + (rows[0] - rows[0, 0])
    between = float(means.var(ddof=int(corrected)))
    return within, between - within / orders if corrected else between


def silver_beta(labels: ArrayLike, *, corrected: bool = False) -> float:
    """Return the order inconsistency of one slate's labels.

    Args:
        labels: (T, n), one row per order, columns in canonical order.
        corrected: for finite T and n (see the module).

    Returns:
        0 (every order gives the same labels) to 1 (candidates differ only within,
        never on average); NaN with fewer than two orders or candidates, or when
        all labels are equal.
    """
    return _share(*label_variances(labels, corrected=corrected))


def silver_beta_pooled(slates: Iterable[ArrayLike], *, corrected: bool = False) -> float:
    """Return the order inconsistency over many slates together.

    The variance within candidates and that between the candidates of a slate are
    each meaned over slates before the share is taken, so that a slate whose labels
    hardly differ does not count as much as one where they do. Differences between
    slates are in neither.

    Args:
        slates: (T, n) labels of each slate.
        corrected: for finite T and n (see the module).

    Returns:
        As `silver_beta`; undefined slates are left out.

    Raises:
        UsageError: no list, or something in it that is no (T, n) labels.
    """
    every = listed("slates", slates, "(T, n) labels")
    pairs = [label_variances(labels, corrected=corrected) for labels in every]
    known = [pair for pair in pairs if not np.isnan(pair[0])]
    if not known:
        return float("nan")
    within, between = np.mean(known, axis=0)
    return _share(float(within), float(between))


def _share(within: float, between: float) -> float:
    total = within + between
    return within / total if total > 0 else float("nan")
