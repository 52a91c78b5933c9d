"""The documentation is true: its Python runs, its output is what is printed, its links lead on."""

import functools
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DOCS = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def names(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


def blocks(page):
    """Return the fenced blocks of a page as (language, text)."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def shell_lines(page):
    """Return the evenhand commands of a page's sh blocks, continued lines joined."""
    text = "".join(body.replace("\\\n", " ") for language, body in blocks(page) if language == "sh")
    return [line for line in text.splitlines() if line.startswith("evenhand ")]


@pytest.mark.parametrize("page", DOCS, ids=names(DOCS))
def test_python_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "docs"}
    for (language, body), after in itertools.pairwise([*blocks(page), ("", "")]):
        if language != "python":
            continue
        exec(compile(body, str(page), "exec"), space)
        printed = capsys.readouterr().out
        expected = after[1] if after[0] == "text" else ""
        assert printed.rstrip() == expected.rstrip(), body


@functools.cache
def help_of(*verb):
    """Return what `evenhand VERB --help` prints; a verb may be two words."""
    code = "from evenhand.cli import main; main()"
    wide = {**os.environ, "COLUMNS": "240", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-c", code, *verb, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        env=wide,
    )
    assert done.returncode == 0, f"{verb}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_command_shown_exists_with_its_options(page):
    for line in shell_lines(page):
        words = shlex.split(line, comments=True)
        options = {word.partition("=")[0] for word in words if word.startswith("-")}
        known = set(
            re.findall(r"(?<![\w-])--?[a-z][\w-]*", help_of(*words[1 : 3 if words[1] == "data" else 2]))
        )
        assert options <= known, line


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_relative_links_lead_to_files(page):
    targets = [link.partition("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8"))]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_every_measure_is_explained():
    from evenhand.measure.registry import MEASURES

    pages = [ROOT / "docs/measures.md", *(ROOT / "docs/measures").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert set(MEASURES) <= set(re.findall(r"`(\w+)[@`]", text))


def test_every_exit_code_is_explained():
    from evenhand import errors

    codes = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type)}
    rows = re.findall(r"^\| (\d+) \|", (ROOT / "docs/cli.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert codes <= {int(row) for row in rows}


def test_index_names_every_page():
    listed = {
        (ROOT / "docs" / link).resolve() for link in LINK.findall((ROOT / "docs/index.md").read_text())
    }
    assert set(DOCS) - {ROOT / "docs/index.md"} <= listed


def test_runs_named_on_the_page_of_the_command_line_are_made_there():
    made = set()
    for line in shell_lines(ROOT / "docs" / "cli.md"):
        words = shlex.split(line, comments=True)
        if words[1] in ("report", "compare"):
            assert {word for word in words[2:] if word.startswith("runs/")} <= made, line
        if words[1] in ("audit", "decompose", "worst") and words[2].endswith(".jsonl"):
            assert words[2] in made, line
        made |= {after for word, after in itertools.pairwise(words) if word == "--out"}


def test_the_page_of_measures_names_every_label_of_the_report():
    from evenhand.report.words import describe
    from evenhand.study.found.measures import USUAL

    page = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    rows = [
        line
        for line in page.splitlines()
        if line.startswith("| ") and line.endswith((" yes |", " no |"))
    ]
    for name in USUAL:
        (row,) = [row for row in rows if f"| `{name}` |" in row]
        assert row.startswith(f"| {describe(name)[0]}")


def test_the_page_of_the_command_line_names_every_option_of_a_scorer():
    pytest.importorskip("torch")
    from dataclasses import fields

    from evenhand.score.likelihood import LikelihoodOptions
    from evenhand.score.local import LOAD_OPTIONS, LocalOptions
    from evenhand.score.toy import Toy
    from evenhand.types import Surface

    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    known = {one.name for kind in (LocalOptions, LikelihoodOptions, Surface) for one in fields(kind)}
    known |= LOAD_OPTIONS | {one.name for one in fields(Toy) if one.init}
    assert [name for name in sorted(known) if f"`{name}`" not in page] == []
