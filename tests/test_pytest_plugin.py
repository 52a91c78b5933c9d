"""The plugin as a user has it: sample projects, run by a pytest of their own."""

import importlib.metadata
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

pytest_plugins = ["pytester"]

# A scorer that no order moves, one that goes by place alone, slates of five candidates.
PROJECT = """
import pytest

from evenhand.types import Candidate, Slate

SLATES = [
    Slate(
        f"q{i}",
        "query",
        tuple(Candidate(f"c{j}", "word " * (j + i + 1)) for j in range(5)),
        {f"c{j}": j for j in range(5)},
    )
    for i in range(4)
]


def length(query, texts):
    return [len(text) / 100 for text in texts]


def place(query, texts):
    return [1 - slot / len(texts) for slot in range(len(texts))]
"""

# Plugins of other packages that happen to be installed take seconds to load.
BLOCKED = [
    f"-pno:{one.name}"
    for one in importlib.metadata.entry_points(group="pytest11")
    if one.name not in ("evenhand", "xdist")
] + ["-pno:cacheprovider"]


@pytest.fixture
def project(pytester):
    """A function that runs a project of one file of tests in a process, warnings being errors."""

    def run(source, *words, ini=""):
        pytester.makepyfile(test_sample=PROJECT + source)
        pytester.makeini(f"[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n{ini}\n")
        return pytester.runpytest_subprocess(*BLOCKED, *words, timeout=200)

    return run


def test_installed_under_the_name_it_has():
    found = importlib.metadata.entry_points(group="pytest11")
    assert [one.value for one in found if one.name == "evenhand"] == ["evenhand.pytest_plugin"]


def test_importing_it_loads_nothing_else():
    code = (
        "import json, sys, pytest\nbefore = set(sys.modules)\nimport evenhand.pytest_plugin\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == ["evenhand", "evenhand.pytest_plugin"]


SAMPLE = """
def test_steady(audit_scorer):
    result = audit_scorer(length, SLATES, rows=4)
    assert result.analysis.stability["tauPSI"].mean == 0
    assert audit_scorer.check(result, max_tau_psi=0.05, require="Overlap >= 0.9").passed


def test_by_place(audit_scorer):
    audit_scorer(place, SLATES, rows=4, max_tau_psi=0.05)


def test_two(audit_scorer):
    audit_scorer(length, iter(SLATES), rows=2, width=3)
    audit_scorer("toy", "demo", rows=3, width=6)


@pytest.mark.evenhand(rows=3, widht=2)
def test_misspelt():
    raise SystemExit("never run")


@pytest.mark.evenhand(3)
def test_bare_value():
    raise SystemExit("never run")


def test_unknown_setting(audit_scorer):
    audit_scorer(length, SLATES, row=3)


def test_unknown_bound(audit_scorer):
    result = audit_scorer(length, SLATES, rows=2)
    with pytest.raises(ValueError, match="check: unknown setting rows; known are .*max_tau_psi"):
        audit_scorer.check(result, rows=3)
    with pytest.raises(ValueError, match="nothing to judge"):
        audit_scorer.check(result)


def test_no_slates(audit_scorer):
    with pytest.raises(ValueError, match="no slates: give them to audit_scorer"):
        audit_scorer(length)


def test_missing(audit_scorer):
    def partly(query, texts):
        if texts[0] == "word ":
            raise RuntimeError("down")
        return length(query, texts)

    audit_scorer(partly, SLATES, rows=4, repeat=False)


@pytest.mark.evenhand(rows=2, width=2, max_tau_psi=0.9, on="mean")
class TestMarked:
    @pytest.mark.evenhand(rows=3)
    def test_closest(self, audit_scorer):
        result = audit_scorer(place, SLATES, seed=5)
        settings = result.analysis.settings
        assert [settings[name] for name in ("rows", "width", "seed")] == [3, 2, 5]


def test_without_audits():
    pass
"""


def test_a_project(project, pytester):
    done = project(SAMPLE, "--junit-xml", "junit.xml")
    # steady, two, unknown bound, no slates, missing, closest, without; place, unknown setting.
    done.assert_outcomes(passed=7, failed=2, errors=2)
    done.stdout.fnmatch_lines(
        [
            "*ERROR at setup of test_misspelt*",
            "@pytest.mark.evenhand: unknown setting widht; known are baseline, design, *width*",
            "*ERROR at setup of test_bare_value*",
            "@pytest.mark.evenhand(3): name each value, for example rows=6",
            ">*audit_scorer(place, SLATES, rows=4, max_tau_psi=0.05)",
            "E*AssertionError: failed: place on 4 slates, M 4, B whole slate",
            "E*tauPSI <= 0.05: failed, 0.* [[]0.*, 0.*]; noise floor 0.000",
            ">*audit_scorer(length, SLATES, row=3)",
            "E*audit_scorer: unknown setting row; known are *rows*",
            "=* evenhand: audits of scorers =*",
            "test_sample.py::TestMarked::test_closest  place; *; M 3, B 2, n 4; *; passed",
            "test_sample.py::test_by_place  place; *; M 4, B whole slate, n 4; *; failed",
            "test_sample.py::test_missing  partly; *; M 4, B whole slate, n 4; * missing; *",
            "test_sample.py::test_steady  length; nDCG@10 served 1.000, shuffled 1.000, tauPSI 0.000, "
            "floor 0.000, overlap 1.000; M 4, B whole slate, n 4; *; passed",
            "test_sample.py::test_two  length; *; M 2, B 3, n 4; *",
            "test_sample.py::test_two  toy; *; M 3, B 6, n 30",
            "=* short test summary info =*",
        ]
    )
    done.stdout.no_fnmatch_line("*During handling*")
    # The frames of the plugin are not the user's: only those of the test are shown.
    done.stdout.no_fnmatch_line("*audits.py*")
    properties = junit_properties(pytester.path / "junit.xml")
    steady = properties["test_steady"]
    assert steady["evenhand.1.scorer"] == "length"
    assert float(steady["evenhand.1.tauPSI"]) == 0
    assert (steady["evenhand.1.M"], steady["evenhand.1.n"]) == ("4", "4")
    assert steady["evenhand.1.verdict"] == "passed"
    assert 0.2 < float(properties["test_by_place"]["evenhand.1.tauPSI"]) < 0.8
    assert properties["test_two"]["evenhand.2.scorer"] == "toy"
    assert "evenhand.1.verdict" not in properties["test_two"]
    assert properties["test_without_audits"] == {}
    # Without a repeat row there is no noise floor, and no figure for it.
    assert "evenhand.1.tauPSI.floor" not in properties["test_missing"]


def junit_properties(path):
    """Return the properties of each test of a JUnit file."""
    cases = ET.parse(path).getroot().iter("testcase")
    return {
        case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
        for case in cases
    }


def test_options_ini_and_cache(project, pytester):
    source = """
def test_settings(audit_scorer):
    settings = audit_scorer(place).analysis.settings
    assert [settings[name] for name in ("rows", "seed", "width")] == [2, 9, 3]
    again = audit_scorer(place, "slates.jsonl", rows=2)
    other = audit_scorer(place, rows=3)
    assert again.path != other.path


@pytest.mark.evenhand(rows=4)
def test_marker_over_option(audit_scorer):
    assert audit_scorer(length).analysis.settings["rows"] == 4


def test_kept(audit_scorer):
    # Measures do not change a run, and remedies do.
    plain = audit_scorer(length)
    assert audit_scorer(length, measures=["Top1Flip"]).path == plain.path
    assert audit_scorer(length, remedies=["average:2"]).path != plain.path
"""
    line = {"id": "q", "query": "x", "candidates": [{"id": c, "text": c * 9} for c in "abcd"]}
    (pytester.path / "slates.jsonl").write_text(json.dumps(line) + "\n")
    ini = "evenhand_rows = 7\nevenhand_width = 3\nevenhand_slates = slates.jsonl\nevenhand_cache = kept"
    done = project(source, "--evenhand-rows=2", "--evenhand-seed=9", ini=ini)
    done.assert_outcomes(passed=3)
    lines = [line for line in done.outlines if "test_sample.py::" in line]
    assert ["; reused" in line for line in lines] == [False, True, False, False, False, True, False]
    folders = sorted(path.name for path in (pytester.path / "kept").iterdir())
    assert [re.sub("-[0-9a-f]{12}$", "", name) for name in folders] == [
        "test_sample.py-test_kept",
        "test_sample.py-test_kept",
        "test_sample.py-test_marker_over_option",
        "test_sample.py-test_settings",
        "test_sample.py-test_settings",
    ]


def test_workers_send_figures(project, pytester):
    pytest.importorskip("xdist")
    source = """
@pytest.mark.parametrize("f", [length, place])
def test_each(audit_scorer, f):
    audit_scorer(f, SLATES, rows=3)
"""
    done = project(source, "-n", "2", "--junit-xml", "junit.xml")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(
        [
            "=* evenhand: audits of scorers =*",
            "test_sample.py::test_each[[]length]  length; *tauPSI 0.000*",
            "test_sample.py::test_each[[]place]  place; *",
        ]
    )
    found = junit_properties(pytester.path / "junit.xml")
    assert {one["evenhand.1.scorer"] for one in found.values()} == {"length", "place"}


def test_what_breaks_off_leaves_the_rest_of_its_test_alone(project):
    source = """
def test_broken_off(audit_scorer):
    calls = []

    def stops(query, texts):
        calls.append(texts)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return length(query, texts)

    with pytest.raises(KeyboardInterrupt):
        audit_scorer(stops, SLATES, rows=2)
    audit_scorer(length, SLATES, rows=2)


def test_bounds_are_read_before_anything_is_scored(audit_scorer):
    def never(query, texts):
        raise SystemExit("scored")

    for bounds in ({"max_tau_psi": "x"}, {"max_drop": "tauPSI=0.1"}, {"on": "low", "min_ndcg": 0.1}):
        with pytest.raises(ValueError, match="finite number|needs a run|unknown on"):
            audit_scorer(never, SLATES, rows=2, **bounds)


def test_no_result(audit_scorer):
    with pytest.raises(ValueError, match="check takes the result of an audit, got NoneType"):
        audit_scorer.check(None, max_tau_psi=0.1)
"""
    done = project(source)
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines(["test_sample.py::test_broken_off  length; *"])


def test_skip_option(project):
    source = """
def test_fixture(audit_scorer):
    raise SystemExit("never run")


@pytest.mark.evenhand(widht=3)
def test_marker():
    raise SystemExit("never run")


def test_other():
    pass
"""
    done = project(source, "--evenhand-skip", "-rs")
    done.assert_outcomes(passed=1, skipped=2)
    done.stdout.fnmatch_lines(["SKIPPED*--evenhand-skip"])
    done.stdout.no_fnmatch_line("*audits of scorers*")


def test_without_the_plugin(project):
    done = project("def test_other():\n    pass\n", "-p", "no:evenhand")
    done.assert_outcomes(passed=1)
    done.stdout.no_fnmatch_line("*evenhand-0*audits*")
    done = project("def test_other(audit_scorer):\n    pass\n", "-p", "no:evenhand")
    done.stdout.fnmatch_lines(["*fixture 'audit_scorer' not found"])


def test_ini_values_and_help(project):
    done = project("", ini="evenhand_rows = many")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: evenhand_rows must be a whole number, got 'many'"])
    done = project("", "--help")
    done.stdout.fnmatch_lines(["evenhand: audits of scorers:", "*--evenhand-cache=FOLDER*"])
