"""A threshold is kept with a run only where it can cut its scores."""

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.records import read_asked
from evenhand.study.found.thresholds import keep_asked

ROWS = np.array([[0.9, 0.6, 0.3, np.nan]] * 4)


@pytest.fixture
def folder(kit, tmp_path):
    return kit.run(tmp_path / "run", [(kit.slate(), kit.plan([(1, 0, 2, 3), (3, 2, 1, 0)]), ROWS)])


def test_a_threshold_outside_the_scores_leaves_what_was_kept(folder):
    keep_asked(folder, 0.5, ["P@2"])
    # The scores go from .3 to .9.
    for threshold in (0.29, 0.91, 99.0):
        with pytest.raises(UsageError, match="outside the observed scores, 0.3 to 0.9"):
            keep_asked(folder, threshold, None)
    found = read_asked(folder.path)
    assert (found.threshold, found.measures) == (0.5, ("P@2",))
    keep_asked(folder, None, None)
    assert read_asked(folder.path).threshold is None


def test_without_a_score_nothing_is_checked(kit, tmp_path):
    entry = (kit.slate(), kit.plan([(1, 0, 2, 3)]), np.full((3, 4), np.nan))
    folder = kit.run(tmp_path / "blank", [entry])
    keep_asked(folder, 0.5, None)
    assert read_asked(folder.path).threshold == 0.5
