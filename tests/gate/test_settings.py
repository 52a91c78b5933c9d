from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.errors import UsageError
from evenhand.gate.criteria import parse_change, parse_criterion
from evenhand.gate.settings import GateSettings

TAU = parse_criterion("tauPSI<=0.1")
DROP = parse_change("drop", "nDCG@10=0.01")


def test_defaults():
    found = GateSettings((TAU,))
    assert (found.on, found.level, found.max_missing, found.strict) == ("bound", 0.95, 0.0, False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"criteria": ()}, "nothing to judge"),
        ({"criteria": ("tauPSI<=0.1",)}, "criteria must hold Criterion"),
        ({"criteria": (TAU, TAU)}, "bound one thing twice"),
        ({"criteria": (DROP,)}, "'drop of nDCG@10, served <= 0.01' needs a run to compare with"),
        ({"baselines": (Path("x"),)}, "a baseline is named and nothing is compared with it"),
        ({"vary": ("width",)}, "vary width says in what a baseline may differ, and there is none"),
        ({"on": "low"}, "unknown on 'low'"),
        ({"level": 0}, "level must lie between"),
        ({"min_slates": 0}, "min-slates must be at least 1"),
        ({"max_missing": -0.1}, "max-missing is a share under 1"),
        ({"threshold": float("nan")}, "threshold must be a finite number"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(UsageError, match=message):
        GateSettings(**{"criteria": (TAU,), **given})
