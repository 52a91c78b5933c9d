import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.measure.rows import (
    as_rows,
    complete,
    complete_part,
    over_pairs,
    ranks,
    scored_rows,
    without_ties,
)

NAN = float("nan")


def test_as_rows_refuses_another_shape():
    with pytest.raises(UsageError, match=r"\(rows, candidates\), got shape \(3,\)"):
        as_rows([1.0, 2.0, 3.0])


def test_rows_without_any_score_are_left_out():
    assert scored_rows([[1, NAN], [NAN, NAN]]).shape == (1, 2)


def test_complete_drops_missing_rows_before_candidates():
    # Row 1 is all missing and goes first, so column 0 and 2 survive it; row 2
    # lacks column 1.
    scores = [[1, 2, 3], [NAN, NAN, NAN], [4, NAN, 6]]
    rows, columns = complete_part(scores)
    assert rows.tolist() == [0, 2]
    assert columns.tolist() == [0, 2]
    assert complete(scores).tolist() == [[1, 3], [4, 6]]


def test_complete_of_nothing_is_empty():
    assert complete([[NAN, NAN]]).shape == (0, 2)


def _first_difference(part, exhaustive):
    """Mean |difference| of column 0 over the pairs of rows; NaN without columns."""
    if not part.shape[1]:
        return NAN
    gaps = np.abs(part[:, None, 0] - part[None, :, 0])
    return float(gaps.mean()) if exhaustive else float(gaps[np.triu_indices(len(part), 1)].mean())


def test_over_pairs_hands_whole_rows_over():
    # Gaps 1, 2, 1 over distinct pairs; over all nine pairs 2 * 4 / 9.
    assert over_pairs(_first_difference, [[0, 5], [1, 5], [2, 5]], False) == pytest.approx(4 / 3)
    assert over_pairs(_first_difference, [[0, 5], [1, 5], [2, 5]], True) == pytest.approx(8 / 9)


def test_over_pairs_leaves_a_candidate_out_of_the_pairs_that_lack_it():
    # Row 0 lacks column 0, so its pairs start at column 1: |5-5| and |5-8|;
    # the pair (1, 2) still starts at column 0: |1-3|. Mean of 0, 3, 2.
    scores = [[NAN, 5], [1, 5], [3, 8]]
    assert over_pairs(_first_difference, scores, False) == pytest.approx(5 / 3)
    # With itself: three pairs of gap 0, and the others twice: 10 / 9.
    assert over_pairs(_first_difference, scores, True) == pytest.approx(10 / 9)


def test_over_pairs_leaves_out_pairs_without_common_candidates():
    # (0, 1) share nothing; (0, 2) and (1, 2) differ by 3 and 1.
    scores = [[NAN, 5], [1, NAN], [2, 8]]
    assert over_pairs(_first_difference, scores, False) == pytest.approx(2.0)
    assert np.isnan(over_pairs(_first_difference, scores[:2], False))


def test_ranks_order_ties_by_the_given_values():
    assert ranks([[0.5, 0.9, 0.5, 0.1]], [3, 0, 1, 2]).tolist() == [[2, 0, 1, 3]]
    # One tie order per row.
    assert ranks([[1, 1], [1, 1]], [[0, 1], [1, 0]]).tolist() == [[0, 1], [1, 0]]


def test_missing_scores_rank_last_and_stay_missing_without_ties():
    assert ranks([[NAN, 0.2, 0.4]], [0, 1, 2]).tolist() == [[2, 1, 0]]
    assert without_ties([[NAN, 0.2, 0.2]], [0, 2, 1])[0, 1:].tolist() == [-1.0, 0.0]
    assert np.isnan(without_ties([[NAN, 0.2, 0.2]], [0, 2, 1])[0, 0])
