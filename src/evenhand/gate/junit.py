"""A verdict as JUnit XML, which CI systems read.

A suite is a run, a case a criterion. Numbers are properties of the suite, named
"CRITERION: value" and so on: readers that check the file against a schema refuse
properties inside a case. Each case has them once more as text.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from evenhand.gate.outcome import Outcome
from evenhand.gate.verdict import Judged, RunVerdict, Verdict

# By outcome: the element that a case holds, and the count of the suite it adds to.
_ELEMENT = {
    Outcome.FAILED: ("failure", "failures"),
    Outcome.INCONCLUSIVE: ("skipped", "skipped"),
    Outcome.PARTLY: ("error", "errors"),
    Outcome.UNSCORED: ("error", "errors"),
    Outcome.UNMEASURED: ("error", "errors"),
}
_COUNTS = ("failures", "errors", "skipped")
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The case of a run that lacks scores, beside those of its criteria.
COMPLETE = "all scores are there"
_NAME = "evenhand gate"
_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
_HEAD = f'{_DECLARATION}<testsuites name="{_NAME}"'


def to_junit(verdict: Verdict) -> str:
    """Return the verdict as one XML document.

    Failed is a `failure`, inconclusive `skipped`; where scores lack, all or some, an `error`.
    """
    root = ET.Element("testsuites", name=_NAME)
    for run in verdict.runs:
        root.append(_suite(run))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, 0)) for suite in root)))
    ET.indent(root)
    return _DECLARATION + ET.tostring(root, encoding="unicode") + "\n"


def is_junit(path: Path) -> bool:
    """Return whether a file holds a verdict that `to_junit` made."""
    return path.read_bytes()[:200].startswith(_HEAD.encode())


def _suite(run: RunVerdict) -> ET.Element:
    cases = [_case(run, str(one.criterion), one.outcome, described(one)) for one in run.results]
    if run.scored is Outcome.PARTLY:
        cases.append(_case(run, COMPLETE, run.scored, run.problem))
    suite = ET.Element("testsuite", name=clean(run.run), tests=str(len(cases)))
    names = [_ELEMENT[end][1] for end in _ends(run) if end in _ELEMENT]
    for name in _COUNTS:
        suite.set(name, str(names.count(name)))
    suite.set("time", "0")
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(run):
        ET.SubElement(properties, "property", name=clean(name), value=clean(value))
    suite.extend(cases)
    if run.notes:
        ET.SubElement(suite, "system-out").text = clean("\n".join(run.notes))
    return suite


def _ends(run: RunVerdict) -> list[Outcome]:
    """Return the outcome of each case of a run."""
    ends = [one.outcome for one in run.results]
    return [*ends, run.scored] if run.scored is Outcome.PARTLY else ends


def _case(run: RunVerdict, name: str, outcome: Outcome, text: str) -> ET.Element:
    case = ET.Element("testcase", classname=clean(run.run), name=clean(name), time="0")
    if outcome in _ELEMENT:
        element = ET.SubElement(case, _ELEMENT[outcome][0])
        first, _, _ = text.partition("\n")
        element.set("message", clean(f"{outcome.word}: {first}"))
        # Readers that show one of the two show either the message or the text.
        element.text = clean(text)
        if element.tag != "skipped":
            element.set("type", outcome.word)
    ET.SubElement(case, "system-out").text = clean(text)
    return case


def described(one: Judged) -> str:
    """Return a criterion with its numbers in words: what was asked, what came, why."""
    lines = [f"{one.criterion}: {_exact(one.value)} [{_exact(one.low)}, {_exact(one.high)}]"]
    if one.reason:
        lines[0] += f"; {one.reason}"
    lines.append(f"n {one.n}, undefined {one.undefined}, noise floor {_exact(one.floor)}")
    if one.criterion.change is not None:
        lines.append(f"baseline {_exact(one.before)}, run {_exact(one.after)}")
    return "\n".join(lines)


def _properties(run: RunVerdict) -> list[tuple[str, str]]:
    found = [(name, _plain(value)) for name, value in run.facts.items() if value is not None]
    found.append(("verdict", run.outcome.word))
    for one in run.results:
        numbers = {"value": one.value, "low": one.low, "high": one.high, "floor": one.floor}
        shown = {name: _exact(value) for name, value in numbers.items()}
        shown |= {"n": str(one.n), "undefined": str(one.undefined), "verdict": one.outcome.word}
        found += [(f"{one.criterion}: {name}", value) for name, value in shown.items()]
    return found


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _exact(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.6g}"


def clean(text: str) -> str:
    """Return text with what XML cannot hold, even escaped, replaced by U+FFFD."""
    return _NOT_XML.sub("�", text)
