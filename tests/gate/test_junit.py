from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from evenhand.gate.criteria import parse_change, parse_criterion
from evenhand.gate.junit import COMPLETE, clean, to_junit
from evenhand.gate.outcome import Outcome
from evenhand.gate.verdict import Judged, RunVerdict, Verdict

FACTS = {
    "scorer": "toy",
    "dtype": None,
    "slates": 10,
    "M": 4,
    "B": "whole slate",
    "threshold": [0.25, 0.5],
}
GOOD = Judged(parse_criterion("Overlap>=0.8"), Outcome.PASSED, 0.9, 0.85, 0.95, 10, floor=1.0)
BAD = Judged(parse_criterion("tauPSI<=0.12"), Outcome.FAILED, 0.3, 0.25, 0.35, 9, 1, 0.01)
OPEN = Judged(parse_criterion("nDCG@10>=0.4"), Outcome.INCONCLUSIVE, undefined=10, reason="no grades")
DROP = Judged(
    parse_change("drop", "F1=0.1"), Outcome.PASSED, 0.125, 0.1, 0.15, 9, before=0.5, after=0.375
)

# What each element may hold and carry, after the schema of Jenkins' xUnit plugin (junit-10):
# properties stand in suites only. Readers such as GitLab's ignore what they do not know.
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase", "system-out"},
    "properties": {"property"},
    "testcase": {"skipped", "error", "failure", "system-out"},
}
NEEDED = {
    "testsuites": set(),
    "testsuite": {"name", "tests", "failures", "errors"},
    "property": {"name", "value"},
    "testcase": {"name"},
}
ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
}


def valid(root):
    """Hold a document against the tables above, and its counts against its cases."""
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set()), element.tag
        assert NEEDED.get(element.tag, set()) <= set(element.attrib) <= ALLOWED.get(element.tag, set())
    for suite in root:
        held = {"tests": suite.findall("testcase"), "failures": suite.findall("testcase/failure")}
        held |= {
            "errors": suite.findall("testcase/error"),
            "skipped": suite.findall("testcase/skipped"),
        }
        assert {name: int(suite.get(name)) for name in held} == {n: len(e) for n, e in held.items()}
    for name in ("tests", "failures", "errors"):
        assert int(root.get(name)) == sum(int(suite.get(name)) for suite in root)
    return root


def document(*runs):
    return valid(ET.fromstring(to_junit(Verdict(tuple(runs), "bound", 0.95)).encode()))


def test_a_case_for_each_criterion():
    (suite,) = document(RunVerdict("runs/a", FACTS, (GOOD, BAD, OPEN, DROP)))
    assert (suite.get("name"), suite.get("tests")) == ("runs/a", "4")
    cases = suite.findall("testcase")
    assert {case.get("classname") for case in cases} == {"runs/a"}
    assert [case.get("name") for case in cases] == [
        "Overlap >= 0.8",
        "tauPSI <= 0.12",
        "nDCG@10, served >= 0.4",
        "drop of F1, served <= 0.1",
    ]
    held = [[child.tag for child in case if child.tag != "system-out"] for case in cases]
    assert held == [[], ["failure"], ["skipped"], []]
    failure = cases[1].find("failure")
    assert failure.get("message") == "failed: tauPSI <= 0.12: 0.3 [0.25, 0.35]"
    assert failure.text == "tauPSI <= 0.12: 0.3 [0.25, 0.35]\nn 9, undefined 1, noise floor 0.01"
    assert "no grades" in cases[2].find("skipped").get("message")
    assert cases[3].find("system-out").text.endswith("baseline 0.5, run 0.375")


def test_properties():
    (suite,) = document(RunVerdict("a", FACTS, (BAD, OPEN)))
    found = {one.get("name"): one.get("value") for one in suite.find("properties")}
    assert found == {
        "scorer": "toy",
        "slates": "10",
        "M": "4",
        "B": "whole slate",
        "threshold": "0.25, 0.5",
        "verdict": "failed",
        "tauPSI <= 0.12: value": "0.3",
        "tauPSI <= 0.12: low": "0.25",
        "tauPSI <= 0.12: high": "0.35",
        "tauPSI <= 0.12: floor": "0.01",
        "tauPSI <= 0.12: n": "9",
        "tauPSI <= 0.12: undefined": "1",
        "tauPSI <= 0.12: verdict": "failed",
        "nDCG@10, served >= 0.4: value": "none",
        "nDCG@10, served >= 0.4: low": "none",
        "nDCG@10, served >= 0.4: high": "none",
        "nDCG@10, served >= 0.4: floor": "none",
        "nDCG@10, served >= 0.4: n": "0",
        "nDCG@10, served >= 0.4: undefined": "10",
        "nDCG@10, served >= 0.4: verdict": "inconclusive",
    }


def test_a_run_that_lacks_scores_has_a_case_that_says_so():
    partly = RunVerdict("a", {}, (GOOD,), Outcome.PARTLY, "3 of 40 scores missing")
    (suite,) = document(partly)
    assert [case.get("name") for case in suite.findall("testcase")] == ["Overlap >= 0.8", COMPLETE]
    assert suite.find("testcase/error").get("message") == "partly scored: 3 of 40 scores missing"


def test_a_run_without_a_score_is_all_errors():
    gone = Judged(GOOD.criterion, Outcome.UNSCORED, reason="the service refused")
    one, other = document(
        RunVerdict("a", {}, (gone,), Outcome.UNSCORED, "the service refused"),
        RunVerdict("b", {}, (GOOD,)),
    )
    assert (one.get("errors"), other.get("errors")) == ("1", "0")
    assert "the service refused" in one.find("testcase/error").text


@pytest.mark.parametrize("outcome", list(Outcome))
def test_what_is_not_green_is_what_does_not_pass(outcome):
    (suite,) = document(RunVerdict("a", {}, (Judged(GOOD.criterion, outcome),)))
    marks = [int(suite.get(name)) for name in ("failures", "errors", "skipped")]
    assert sum(marks) == (0 if outcome is Outcome.PASSED else 1)


def test_hostile_text_is_text():
    name = 'a"<b>&\x00\x1b[31m\ud800]]>'
    run = RunVerdict(name, {"scorer": name}, (Judged(GOOD.criterion, Outcome.FAILED, reason=name),))
    (suite,) = document(RunVerdict(run.run, run.facts, run.results, notes=(name,)))
    assert suite.get("name") == 'a"<b>&��[31m�]]>'
    assert suite.find("system-out").text == clean(name)
    assert clean("a\tb\n😀") == "a\tb\n😀"
    assert not re.search("[\x00\x1b\ud800]", to_junit(Verdict((run,), "bound", 0.9)))


def test_a_junit_library_reads_it(tmp_path):
    junitparser = pytest.importorskip("junitparser")
    runs = (RunVerdict("runs/a", FACTS, (GOOD, BAD, OPEN)), RunVerdict("runs/b", FACTS, (DROP,)))
    file = tmp_path / "gate.xml"
    file.write_text(to_junit(Verdict(runs, "bound", 0.95)), encoding="utf-8")
    found = junitparser.JUnitXml.fromfile(str(file))
    assert (found.tests, found.failures, found.errors) == (4, 1, 0)
    suites = list(found)
    assert [(suite.name, suite.tests, suite.skipped) for suite in suites] == [
        ("runs/a", 3, 1),
        ("runs/b", 1, 0),
    ]
    cases = list(suites[0])
    assert [case.classname for case in cases] == ["runs/a"] * 3
    assert [case.is_passed for case in cases] == [True, False, False]
    assert [type(one) for case in cases for one in case.result] == [
        junitparser.Failure,
        junitparser.Skipped,
    ]
    assert {one.name: one.value for one in suites[0].properties()}["M"] == "4"
