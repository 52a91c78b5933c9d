import math

import numpy as np
import pytest

from evenhand.study.analysis import Curve
from evenhand.study.found.keeps import keeps
from evenhand.types import Estimate

CURVE = Curve(
    np.array([0.1, 0.2, 0.3]),
    {
        "retained": np.array([1.0, 0.6, 0.01]),
        "overlap": np.array([1.0, 0.7, 0.9]),
        "overlap_without_empty": np.array([1.0, 0.7, math.nan]),
    },
)


def decisions(retained, overlap=0.97, empty=0.9):
    values = {"Retained": retained, "Overlap": overlap, "BothEmpty": empty}
    return {name: Estimate(value, math.nan, math.nan, 5, 0) for name, value in values.items()}


@pytest.mark.parametrize(
    ("retained", "code"),
    [
        (0.96, "keeps_all"),
        (0.95, None),
        (0.5, None),
        (0.02, None),
        (0.019, "keeps_none"),
        (math.nan, None),
    ],
)
def test_the_share_kept_decides(retained, code):
    found = keeps(decisions(retained), CURVE)
    assert (None if found is None else found.code) == code
    assert found is None or found.severity == "warning"


def test_the_message_names_the_numbers_and_another_place():
    every = keeps(decisions(0.96), CURVE).message
    # .6 is the retained share of the curve that is nearest to a half.
    for words in ("keeps 96.0%", "overlap of 0.970", "at 0.2, which keeps 60.0%, it is 0.700"):
        assert words in every
    assert "90.0% of the pairs of sets are both empty" in keeps(decisions(0.01), CURVE).message
    assert keeps({}, CURVE) is None
    assert keeps(decisions(0.96), None).message.endswith("(the curve of the report).")
