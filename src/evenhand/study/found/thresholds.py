"""What a run is asked for is kept beside it once it is known to make sense there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.decide.threshold import check_threshold
from evenhand.records import RunFolder, write_asked


def keep_asked(folder: RunFolder, threshold: float | None, measures: Sequence[str] | None) -> None:
    """Keep the analysis options of a run, for a later look at it.

    A fixed threshold is checked first, so that one that no analysis can use does not
    stay behind: what was kept before stands then.

    Args:
        folder: a finished run.
        threshold: keep candidates at or above it; None = fitted.
        measures: names of further measures; None = the usual ones.

    Raises:
        UsageError: the threshold is outside the observed scores.
        ResumeError: the run is not finished, a file is damaged, or the folder cannot
            be written.
    """
    if threshold is not None:
        _check(folder, threshold)
    write_asked(folder.path, threshold, measures)


def _check(folder: RunFolder, threshold: float) -> None:
    extremes = []
    for record in folder.recorded():
        known = record.matrix.canonical[~np.isnan(record.matrix.canonical)]
        if known.size:
            extremes.append(np.array([known.min(), known.max()]))
    # Without a single score the analysis says why there is none.
    if extremes:
        check_threshold(threshold, extremes)
