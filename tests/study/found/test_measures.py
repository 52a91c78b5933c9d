import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.study.found.measures import choose, join, measure_batch


def names(measures):
    return [str(one) for one in measures]


def test_further_measures_come_beside_the_usual_ones():
    chosen = choose(["P@5", "tauPSI", "Overlap(t=0.3)", "SetR"])
    assert names(chosen.stability)[:2] == ["tauPSI", "tauPSI(ties='strict')"]
    assert names(chosen.stability).count("tauPSI") == 1
    assert names(chosen.decisions)[-1] == "Overlap(t=0.3)"
    assert names(chosen.ranking) == ["nDCG@10", "nDCG@1", "AP", "RR", "P@5"]
    assert names(chosen.sets) == ["F1", "SetR"]
    assert names(choose(min_grade=2).sets) == ["F1(rel=2)"]


def test_only_agreement_has_a_noise_floor():
    floored = names(choose().floored)
    assert {"tauPSI", "Overlap", "PairFlip"} <= set(floored)
    assert not {"ScoreSpread", "Retained", "FirstSlot", "TiedPairs"} & set(floored)


def test_unknown_measures_list_the_known(kit):
    with pytest.raises(UsageError, match="tauPSI"):
        choose(["tauPSY"])
    with pytest.raises(UsageError, match="list of names"):
        choose("tauPSI")


def test_values_stand_in_slate_order(kit):
    plan = kit.plan([(1, 0), (0, 1)])
    records = [
        # Random rows agree; canonical and repeat swap.
        kit.record(kit.slate("s", "ab", {"a": 1}), plan, [[2, 1], [2, 1], [2, 1], [1, 2]]),
        # Random rows swap; canonical and repeat agree. No grades.
        kit.record(kit.slate("t", "ab"), plan, [[2, 1], [2, 1], [1, 2], [2, 1]]),
    ]
    both = measure_batch(choose(), records, np.array([1.5, 1.5]))
    np.testing.assert_array_equal(both.stability["tauPSI"], [0, 1])
    np.testing.assert_array_equal(both.floor["tauPSI"], [1, 0])
    # Sets {a} {a} and {a} {b}.
    np.testing.assert_array_equal(both.decisions["Overlap"], [1, 0])
    np.testing.assert_array_equal(both.served["nDCG@1"], [1, np.nan])
    np.testing.assert_array_equal(both.served["F1"], [1, np.nan])
    one_by_one = join([measure_batch(choose(), [record], np.array([1.5])) for record in records])
    for part in ("stability", "decisions", "floor", "served", "shuffled"):
        for name, values in getattr(both, part).items():
            np.testing.assert_array_equal(getattr(one_by_one, part)[name], values)


def test_membership_shows_what_it_is_about_unasked():
    names = [str(one) for one in choose(design="membership").stability]
    assert {"PoolPSI", "PoolPSI(kind='replaced')", "PoolPSI(kind='dropped')"} <= set(names)
    assert "PoolPSI" not in [str(one) for one in choose(design="reorder").stability]
    decisions = [str(one) for one in choose(design="membership").decisions]
    assert {"TopSetFlip@10", "RetainedDelta"} <= set(decisions)
    by_order = choose(design="membership", order_only=True, picks=True)
    assert "CorrectFlip" in [str(one) for one in by_order.decisions]
    assert "Margin" not in [str(one) for one in by_order.decisions]
    assert "RetainedDelta" not in [str(one) for one in by_order.decisions]
