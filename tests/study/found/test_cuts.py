import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.study.against.contenders import contenders
from evenhand.study.against.lines import choose_lines
from evenhand.study.found.cuts import require_one_rule, studied_systems

ORDERS = [(1, 0, 2, 3), (3, 2, 1, 0)]


def systems(kit, tmp_path, matched=False):
    """A system that scores 1 to 4 and one that scores ten times that."""
    found = {}
    for name, scale in (("a", 1), ("b", 10)):
        scores = np.tile([4.0, 3.0, 2.0, 1.0], (4, 1)) * scale
        slates = [(kit.slate(f"s{at}", grades={"a": 1}), kit.plan(ORDERS), scores) for at in range(4)]
        found[name] = [kit.run(tmp_path / name, slates)]
    return studied_systems(contenders(found), choose_lines(["Overlap"]), matched, 0)


def test_the_share_that_the_baseline_keeps_is_matched(kit, tmp_path):
    first, second = systems(kit, tmp_path, matched=True)
    # The baseline is cut between 4 and 3 for F1, which keeps one of four; so are the others.
    assert [a.threshold.rule for s in (first, second) for a in s.every()] == ["f1", "fixed"]
    [analysis] = second.every()
    assert analysis.per_slate["threshold"].tolist() == [35.0] * 4
    assert analysis.decisions["Retained"].mean == 0.25


def test_sets_cut_by_different_rules_are_refused(kit, tmp_path):
    both = systems(kit, tmp_path)
    require_one_rule(both, choose_lines(["Overlap"]))
    [analysis] = both[1].every()
    object.__setattr__(analysis.threshold, "rule", "quantile")
    require_one_rule(both, choose_lines(["tauPSI", "Overlap(t=0.5)"]))
    with pytest.raises(UsageError, match="Overlap would compare retained sets cut by different rules"):
        require_one_rule(both, choose_lines(["Overlap"]))
