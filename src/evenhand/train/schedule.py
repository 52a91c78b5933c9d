"""How learning rate and lambda go over the steps of a run."""

from __future__ import annotations

import math

from evenhand.train.settings import Descent


def rate_at(step: int, steps: int, descent: Descent) -> float:
    """Return the learning rate of a step: linear warm-up, then cosine to 0 after the last.

    With w warm-up steps, step t (from 0) has rate (t + 1)/w of the highest, then
    (1 + cos(pi (t - w)/(steps - w)))/2 of it.
    """
    warm = math.ceil(descent.warmup * steps)
    if step < warm:
        return descent.rate * (step + 1) / warm
    return descent.rate * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) / 2


def ramp_at(step: int, steps: int, descent: Descent) -> float:
    """Return the factor on lambda: from 0 at step 0 linearly to 1."""
    length = descent.ramp if descent.ramp > 1 else descent.ramp * steps
    return 1.0 if length < 1 else min(1.0, step / length)
