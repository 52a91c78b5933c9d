import json
import math

import numpy as np
import pytest

from evenhand.errors import InputError
from evenhand.study.analysis import Analysis, Cost, Curve, Finding, ThresholdFit
from evenhand.study.found.summary import analysis_from_dict, analysis_to_dict, write_summary
from evenhand.types import Estimate


@pytest.fixture
def analysis():
    estimate = Estimate(0.5, math.nan, math.nan, 1, 2, 0.9)
    return Analysis(
        scorer={"name": "toy \ud800"},
        settings={"rows": 2},
        slate_ids=("a", "b"),
        stability={"tauPSI": estimate},
        floor={},
        served={"nDCG@10": estimate},
        shuffled={},
        decisions={},
        threshold=ThresholdFit("f1", (0.25, 0.5), 1, "r"),
        cost=Cost(1.5, math.nan),
        counts={"slates": 2},
        findings=(Finding("few_slates", "warning", "few"),),
        per_slate={"tauPSI": np.array([0.1, math.nan])},
        slot_curve=Curve(np.array([0.0]), {"score": np.array([0.5])}),
        overlap_curve=Curve(np.array([]), {"overlap": np.array([])}),
    )


def test_an_analysis_comes_back_through_the_file(analysis, tmp_path):
    write_summary(tmp_path, analysis)
    record = json.loads((tmp_path / "summary.json").read_text())
    assert record["per_slate"]["tauPSI"] == [0.1, None]
    assert record["stability"]["tauPSI"]["low"] is None
    back = analysis_from_dict(record)
    assert back.threshold == analysis.threshold
    assert back.findings == analysis.findings
    assert back.slate_ids == analysis.slate_ids
    assert math.isnan(back.cost.tokens_per_slate)
    np.testing.assert_array_equal(back.per_slate["tauPSI"], analysis.per_slate["tauPSI"])
    assert analysis_to_dict(back) == analysis_to_dict(analysis)


@pytest.mark.parametrize("record", [{}, {"threshold": None, "cost": 1}, []])
def test_another_record_is_refused(record):
    with pytest.raises(InputError, match="not the JSON form"):
        analysis_from_dict(record)
