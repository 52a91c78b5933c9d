"""Importing evenhand is cheap: what is heavy loads when it is first used."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "transformers",
    "peft",
    "accelerate",
    "plotly",
    "jinja2",
    "pandas",
    "datasets",
    "bm25s",
)

LIGHT = (
    "import evenhand, evenhand.cli",
    "import evenhand.measure",
    "import evenhand.data",
    "import evenhand.score",
    "import evenhand.decide, evenhand.decide.endpoint, evenhand.study.found.consume",
    "import evenhand.records, evenhand.study.rows.run, evenhand.study.found.analyse",
    "import evenhand.report.result; from evenhand import *",
)


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules a fresh interpreter holds after the statement."""
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.parametrize("statement", LIGHT)
def test_import_loads_nothing_heavy(statement):
    assert loaded_by(statement).isdisjoint(HEAVY)


def test_the_probe_sees_a_heavy_module():
    # Guards the tests above: jinja2 is seen when something does load it.
    pytest.importorskip("jinja2")
    assert "jinja2" in loaded_by("import jinja2")
