"""The gate: finished runs held against bounds, with one verdict for people and machines.

`judge` takes runs and `GateSettings` and returns a `Verdict`; table, JSON, JUnit
and the exit code are read off that.
"""

from evenhand.gate.criteria import Criterion, parse_change, parse_criterion
from evenhand.gate.judge import judge
from evenhand.gate.junit import is_junit, to_junit
from evenhand.gate.outcome import Outcome
from evenhand.gate.settings import GateSettings
from evenhand.gate.verdict import Judged, RunVerdict, Verdict, to_dict

__all__ = [
    "Criterion",
    "GateSettings",
    "Judged",
    "Outcome",
    "RunVerdict",
    "Verdict",
    "is_junit",
    "judge",
    "parse_change",
    "parse_criterion",
    "to_dict",
    "to_junit",
]
