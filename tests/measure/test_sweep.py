import numpy as np
import pytest

from evenhand.measure import decision
from evenhand.measure.sweep import overlap_at, set_f1_at

THRESHOLDS = np.array([0.0, 0.2, 0.5, 0.51, 0.9, 2.0])


@pytest.mark.parametrize("exhaustive", [False, True])
@pytest.mark.parametrize("missing", [0, 4])
def test_overlap_equals_the_measures_one_by_one(exhaustive, missing):
    rng = np.random.default_rng(missing)
    rows = rng.random((5, 6)).round(1)
    rows.flat[rng.choice(rows.size, missing, replace=False)] = np.nan
    found = overlap_at(rows, THRESHOLDS, exhaustive=exhaustive)
    for column, threshold in enumerate(THRESHOLDS):
        kept = decision.retained_sets(rows, threshold)
        if not missing:
            assert found[0, column] == pytest.approx(decision.overlap(kept, exhaustive=exhaustive))
            assert found[1, column] == pytest.approx(
                decision.overlap_without_empty(kept, exhaustive=exhaustive), nan_ok=True
            )
        assert found[2, column] == pytest.approx(decision.retained_share(kept))


def test_nothing_scored():
    assert np.isnan(overlap_at(np.full((2, 3), np.nan), THRESHOLDS)).all()


def test_set_f1_by_hand():
    # relevant: .9 and the missing one. At .5 kept {.9, .6}: 2*1/(2+2); at .9 kept {.9}: 2*1/(1+2)
    found = set_f1_at([0.9, 0.6, np.nan, 0.1], [True, False, True, False], np.array([0.5, 0.9, 0.95]))
    np.testing.assert_allclose(found, [0.5, 2 / 3, 0])
    assert set_f1_at([0.9], [False], np.array([0.5]))[0] == 0


def test_one_row_or_no_shared_candidate_has_no_overlap():
    alone = overlap_at([[0.9, 0.1]], np.array([0.5]))
    assert np.isnan(alone[:2]).all()
    assert alone[2, 0] == 0.5
    apart = overlap_at([[0.9, 0.1, np.nan, np.nan], [np.nan, np.nan, 0.9, 0.1]], np.array([0.5]))
    assert np.isnan(apart[:2]).all()
