import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.measure import checks

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("value", [0, 2.5, 2.0, "2", None, INF, NAN, True, [2], np.float64(2.0)])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(UsageError, match="draws must be at least 1, a whole number, got"):
        checks.whole("draws", value)


def test_whole_numbers_of_numpy_become_plain():
    assert checks.whole("draws", np.int32(3)) == 3
    assert type(checks.whole("draws", np.int32(3))) is int
    assert checks.integer("seed", -4) == -4
    with pytest.raises(UsageError, match="seed must be a whole number, got 0.0"):
        checks.integer("seed", 0.0)


@pytest.mark.parametrize("value", ["1", None, INF, -INF, NAN, True, 1j, [1.0], 10**400])
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(UsageError, match="threshold must be a finite number, got"):
        checks.finite("threshold", value)


def test_numbers_come_back_as_floats():
    assert checks.finite("threshold", np.float32(0.5)) == 0.5
    assert checks.cut_value("threshold", -INF) == -INF
    with pytest.raises(UsageError, match="must be a number, got nan"):
        checks.cut_value("threshold", NAN)
    assert checks.inside("level", 0.5) == 0.5
    for value in (0, 1, "x", None, NAN):
        with pytest.raises(UsageError, match="level must lie between 0 and 1"):
            checks.inside("level", value)


@pytest.mark.parametrize("value", ["abc", [["a"]], [[1.0], [1.0, 2.0]], [[1j]], {"a": 1}, object(),
                                   np.array(["2026-01-01"], dtype="datetime64[D]")])  # fmt: skip
def test_what_is_no_array_of_numbers_is_refused(value):
    with pytest.raises(UsageError, match="scores must be numbers, in lines of one length"):
        checks.floats("scores", value)


def test_arrays_of_numbers():
    assert checks.floats("scores", [[1, None], [True, 2.5]]).tolist()[1] == [1.0, 2.5]
    assert np.isnan(checks.floats("scores", [[1, None]])[0, 1])
    with pytest.raises(UsageError, match="must be finite, or NaN where missing"):
        checks.floats("scores", [1.0, INF])
    assert checks.floats("scores", [1.0, INF], infinite=True)[1] == INF


def test_lists_and_names():
    assert checks.listed("slates", (1, 2), "slates") == [1, 2]
    for value in ("ab", {"a": 1}, 3, None, np.array(1.0)):
        with pytest.raises(UsageError, match="slates must be a list of slates, got"):
            checks.listed("slates", value, "slates")
    checks.known_names("candidates", ["q1"], {"q1": 0}, "slate")
    with pytest.raises(UsageError, match="candidates names 'q9', no slate; known are 'q1'"):
        checks.known_names("candidates", ["q1", "q9"], {"q1": 0}, "slate")


def test_places_fit_the_scores():
    assert checks.same_places("ties", [1, 0], (3, 2)).tolist() == [1, 0]
    for value, said in (([1, 0, 2], "shape"), ([0.5, 1], "whole numbers"), (["a", "b"], "numbers")):
        with pytest.raises(UsageError, match=said):
            checks.same_places("ties", value, (3, 2))


def test_a_value_without_a_repr_is_still_told():
    class Odd:
        def __repr__(self):
            raise RuntimeError

    assert checks.came(Odd()) == "a Odd"
    assert checks.came("x" * 500).endswith("(a str)")
