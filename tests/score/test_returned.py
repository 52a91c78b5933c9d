import math

import numpy as np
import pytest

from evenhand.score.returned import number, numbers_of, shortened


@pytest.mark.parametrize("answer", [[1, 2.5], (1, 2.5), np.array([1, 2.5]), range(1, 3)])
def test_sequences_and_arrays(answer):
    found = numbers_of(answer, 2)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, list(answer))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "NoneType None"),
        ("12", "str '12'"),
        ({1, 2}, "set {1, 2}"),
        ([1], "1 values for 2 texts"),
        ([1, "2"], "str '2' as the score of text 1"),
        ([[1], [2]], r"list \[1\] as the score of text 0"),
        ([1, math.inf], "the infinite inf as the score of text 1"),
    ],
)
def test_what_is_no_scores_is_said(answer, said):
    with pytest.raises(ValueError, match=f"^{said}$"):
        numbers_of(answer, 2)


def test_a_number():
    assert [number(v) for v in (True, 3, np.float32(0.5), np.array(2))] == [1.0, 3.0, 0.5, 2.0]
    assert math.isnan(number(math.nan))
    for wrong in (10**400, 1j, np.array([1.0, 2.0]), type("Odd", (), {"item": 5})()):
        with pytest.raises(ValueError, match="infinite|complex|ndarray|Odd"):
            number(wrong)


def test_shortened():
    assert shortened("x" * 99) == "'" + "x" * 59 + "..."
    assert shortened(10**5000) == "of too many digits"
