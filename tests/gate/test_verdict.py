from __future__ import annotations

import json

from evenhand.gate.criteria import parse_change, parse_criterion
from evenhand.gate.outcome import Outcome
from evenhand.gate.verdict import Judged, RunVerdict, Verdict, to_dict

TAU = Judged(
    parse_criterion("tauPSI<=0.12"), Outcome.FAILED, 0.3, 0.2, 0.4, n=9, undefined=1, floor=0.01
)
BARE = Judged(parse_criterion("nDCG@10>=0.4"), Outcome.INCONCLUSIVE, reason="no grades")
DROP = Judged(parse_change("drop", "F1=0.1"), Outcome.PASSED, 0.0, 0.0, 0.0, 9, before=0.5, after=0.5)


def test_one_value_gives_word_and_code():
    run = RunVerdict("runs/a", {"M": 4}, (TAU, BARE, DROP))
    found = Verdict((run, RunVerdict("runs/b", {}, (DROP,))), "bound", 0.95)
    assert (found.outcome, found.exit_code, found.passed) == (Outcome.FAILED, 1, False)
    assert [found.count(end) for end in (Outcome.PASSED, Outcome.FAILED)] == [2, 1]
    assert found.runs[1].outcome is Outcome.PASSED


def test_the_state_of_the_scores_is_part_of_it():
    run = RunVerdict("a", {}, (DROP,), Outcome.PARTLY, "1 score missing")
    assert Verdict((run,), "mean", 0.9).exit_code == 7


def test_json():
    run = RunVerdict("runs/a", {"M": 4}, (TAU, BARE), Outcome.PARTLY, "lost", ("warning: w",))
    found = json.loads(json.dumps(to_dict(Verdict((run,), "bound", 0.95)), allow_nan=False))
    assert {key: found[key] for key in ("verdict", "exit_code", "on", "level")} == {
        "verdict": "failed",
        "exit_code": 1,
        "on": "bound",
        "level": 0.95,
    }
    (told,) = found["runs"]
    assert (told["scored"], told["problem"], told["notes"]) == ("partly scored", "lost", ["warning: w"])
    first, second = told["criteria"]
    assert first == {
        "criterion": "tauPSI <= 0.12",
        "measure": "tauPSI",
        "change": None,
        "relation": "<=",
        "bound": 0.12,
        "verdict": "failed",
        "value": 0.3,
        "low": 0.2,
        "high": 0.4,
        "floor": 0.01,
        "before": None,
        "after": None,
        "n": 9,
        "undefined": 1,
        "reason": "",
    }
    assert (second["value"], second["reason"]) == (None, "no grades")
