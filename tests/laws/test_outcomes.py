"""Laws of what is measured on outcomes (answers, verdicts, right or wrong) and on labels."""

import math

import numpy as np
import pytest

from evenhand.measure.outcomes import modal_flip, pairwise_flip
from evenhand.measure.selection import correctness_flip
from evenhand.measure.silver import silver_beta

NAN = float("nan")
FLIPS = {
    "pairwise": pairwise_flip,
    "pairwise, exhaustive": lambda given: pairwise_flip(given, exhaustive=True),
    "modal": modal_flip,
    "correctness": correctness_flip,
    "correctness, pairwise": lambda given: correctness_flip(given, kind="pairwise"),
    "correctness, modal": lambda given: correctness_flip(given, kind="modal"),
}
every_flip = pytest.mark.parametrize("flip", FLIPS.values(), ids=FLIPS)


def drawn(seed, rows=9):
    """Right (1) or wrong (0) in some rows, both at least once."""
    found = np.random.default_rng(seed).integers(0, 2, rows).astype(float)
    found[:2] = 0, 1
    return found.tolist()


@every_flip
@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_what_never_changes_never_flips(flip, outcome):
    assert flip([outcome] * 7) == 0


@every_flip
def test_what_changes_flips_within_its_range(flip):
    values = [flip(drawn(seed)) for seed in range(50)]
    assert all(0 < value <= 1 for value in values)


@every_flip
def test_the_order_of_rows_and_the_names_of_outcomes_do_not_matter(flip):
    for seed in range(20):
        given = drawn(seed)
        shuffled = np.random.default_rng(seed).permutation(given).tolist()
        assert flip(shuffled) == flip(given)
        assert flip([1 - one for one in given]) == pytest.approx(flip(given))


@every_flip
def test_a_missing_outcome_counts_for_nothing(flip):
    given = drawn(3)
    assert flip([None, *given, None]) == flip(given)


@every_flip
def test_too_few_outcomes_are_undefined(flip):
    for given in ([], [1.0], [None, None], [None, 0.0]):
        assert math.isnan(flip(given))


def test_labels_are_told_apart_by_nothing_but_their_differences():
    rng = np.random.default_rng(4)
    labels = rng.random((5, 8))
    found = silver_beta(labels)
    assert 0 < found < 1
    assert silver_beta(labels[rng.permutation(5)]) == pytest.approx(found)
    assert silver_beta(labels[:, rng.permutation(8)]) == pytest.approx(found)
    assert silver_beta(3 - 2 * labels) == pytest.approx(found)
    assert silver_beta(np.vstack([labels, np.full(8, NAN)])) == pytest.approx(found)
    assert silver_beta(np.tile(labels[0], (5, 1))) == 0
