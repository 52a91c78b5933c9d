"""A family of comparisons: p-values adjusted for how many questions were asked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import UsageError
from evenhand.measure.checks import floats
from evenhand.types import FloatArray


def holm(p_values: ArrayLike) -> FloatArray:
    """Return p-values adjusted by Holm's step-down correction.

    With the m defined p-values in rising order p(1) <= ... <= p(m), the adjusted
    one of rank i is the largest of min(1, (m - j + 1) p(j)) over j <= i. Calling a
    comparison significant where its adjusted p is at most alpha keeps the chance of
    any false call in the family at most alpha, however the comparisons depend on
    each other.

    Args:
        p_values: (m,) p-values in [0, 1]; NaN = no test was made, not counted in m.

    Returns:
        (m,) adjusted p-values, at least the given ones and in the same order of
        size; NaN where there was none.

    Raises:
        UsageError: not one-dimensional, or a value outside [0, 1].
    """
    given = floats("p-values", p_values)
    if given.ndim != 1:
        raise UsageError(f"a family needs one p-value per comparison, got shape {given.shape}")
    made = np.flatnonzero(~np.isnan(given))
    tested = given[made]
    outside = tested[(tested < 0) | (tested > 1)]
    if outside.size:
        raise UsageError(f"a p-value lies between 0 and 1, got {outside[0]}")
    order = np.argsort(tested, kind="stable")
    steps = tested[order] * np.arange(len(tested), 0, -1)
    adjusted = np.full(given.shape, np.nan)
    adjusted[made[order]] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted
