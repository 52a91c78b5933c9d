"""Learning rate and lambda over the steps, by hand."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

from evenhand.train.schedule import ramp_at, rate_at
from evenhand.train.settings import Descent


def test_rate_warms_up_and_falls_along_a_cosine():
    # 20 steps, a tenth of warm-up: 1/2, then 1; step 11 is half of the way down, step 19 the last.
    descent = Descent(rate=2.0, warmup=0.1)
    found = [rate_at(step, 20, descent) for step in range(20)]
    assert found[:3] == pytest.approx([1.0, 2.0, 2.0])
    assert found[11] == pytest.approx(1.0)
    assert found[19] == pytest.approx(1 + math.cos(math.pi * 17 / 18))
    assert found[2:] == sorted(found[2:], reverse=True)


def test_rate_without_warm_up_starts_at_its_highest():
    assert rate_at(0, 10, Descent(rate=1.0, warmup=0.0)) == 1.0
    assert rate_at(0, 1, Descent(rate=1.0, warmup=0.1)) == 1.0


@pytest.mark.parametrize(
    ("ramp", "expected"),
    [
        (0.5, [0, 0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1]),  # 5 of 10 steps
        (4, [0, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1]),
        (0, [1] * 10),
        (1.0, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        (500, [step / 500 for step in range(10)]),
    ],
)
def test_ramp(ramp, expected):
    assert [ramp_at(step, 10, Descent(ramp=ramp)) for step in range(10)] == pytest.approx(expected)
