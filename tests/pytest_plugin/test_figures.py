import math

import evenhand
from evenhand.gate.criteria import parse_change, parse_criterion
from evenhand.gate.outcome import Outcome
from evenhand.gate.verdict import Judged, RunVerdict
from evenhand.pytest_plugin.figures import failure, figures_of, line
from evenhand.types import Candidate, Slate


def test_figures_of_a_run(tmp_path):
    # Scores by place alone, both orders of two candidates: they swap in half of the pairs of
    # rows, each row with itself included, so tauPSI is .5; no grades, so no nDCG.
    slates = [Slate(f"q{i}", "x", (Candidate("a", "one"), Candidate("b", "two"))) for i in range(3)]
    scorer = evenhand.scorer(lambda query, texts: [1.0, 0.0][: len(texts)], name="place")
    found = figures_of(evenhand.audit(scorer, slates, rows=2, width=2, out=tmp_path / "r").analysis)
    assert (found["tauPSI"], found["tauPSI.floor"]) == (0.5, 0.0)
    assert "nDCG@10.served" not in found
    assert [found[name] for name in ("scorer", "M", "B", "n", "missing")] == ["place", 2, 2, 3, 0]
    # What a worker sends and JUnit files hold must be plain.
    assert {type(value) for value in found.values()} <= {str, int, float}


def test_line():
    figures = {"scorer": "toy", "nDCG@10.served": 0.5, "tauPSI": 0.1234, "M": 4, "B": 3, "n": 7}
    measured = "toy; nDCG@10 served 0.500, shuffled –, tauPSI 0.123, floor –, overlap –; M 4, B 3, n 7"
    assert line(figures | {"missing": 0}) == measured
    more = {"missing": 1, "findings": "collapse", "reused": True, "verdict": "passed"}
    assert line(figures | more) == f"{measured}; 1 score missing; warnings: collapse; reused; passed"


def test_failure_tells_each_bound():
    bound = Judged(
        parse_criterion("tauPSI<=0.1"), Outcome.FAILED, 0.25, 0.2, 0.3, n=9, floor=0.01, reason="noisy"
    )
    change = Judged(
        parse_change("drop", "tauPSI=0.1"), Outcome.PASSED, 0.05, 0.0, 0.1, before=0.3, after=0.25
    )
    facts = {"scorer": "toy", "slates": 9, "M": 4, "B": 3}
    run = RunVerdict("folder", facts, (bound, change), notes=("few slates",))
    assert failure(run).splitlines() == [
        "failed: toy on 9 slates, M 4, B 3",
        "  tauPSI <= 0.1: failed, 0.250 [0.200, 0.300]; noise floor 0.010; noisy",
        "  drop of tauPSI <= 0.1: passed, 0.050 [0.000, 0.100]; baseline 0.300, here 0.250",
        "  note: few slates",
    ]


def test_failure_tells_what_kept_numbers_from_being_there():
    lost = Judged(parse_criterion("tauPSI<=0.1"), Outcome.UNSCORED, reason="down")
    run = RunVerdict("folder", {"scorer": "s", "slates": 1}, (lost,), Outcome.UNSCORED, "down")
    assert math.isnan(lost.value)
    assert failure(run).splitlines() == [
        "nothing scored: s on 1 slate, M None, B None",
        "  down",
        "  tauPSI <= 0.1: nothing scored, – [–, –]; down",
    ]
