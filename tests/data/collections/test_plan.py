"""Plans: nothing is fetched, everything that is missing is said."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from evenhand.data.collections import COLLECTIONS, fetch, listing, markdown, plan
from evenhand.data.collections.plan import family, modules_of
from evenhand.errors import UsageError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "data.md"


@pytest.fixture
def no_network(monkeypatch):
    """Any socket is an error."""
    import socket

    def refuse(*_, **__):
        raise AssertionError("a plan opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


def test_a_plan_of_all_reads_nothing_and_writes_nothing(tmp_path, no_network):
    planned = plan(root=tmp_path)
    assert [one.name for one in planned] == list(COLLECTIONS)
    assert {one.state for one in planned} == {"missing"}
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("EVENHAND_DATA", raising=False)
    found, there = importlib.util.find_spec, {"ir_datasets": object()}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: there[name] if name in there else found(name)
    )
    scifact, robust, nectar = plan(["scifact", "robust04", "nectar"])
    assert scifact.lacks == ("a folder (--root or EVENHAND_DATA)",)
    assert (scifact.megabytes, scifact.get) == (2.8, "evenhand data fetch scifact")
    assert robust.lacks[-1] == "a signed agreement and its files"
    assert robust.megabytes is None
    assert "sign NIST's agreement" in robust.get
    assert nectar.lacks[-1] == "ultrafeedback, whose prompts are left out"
    there["ir_datasets"] = None
    (again,) = plan(["scifact"], tmp_path)
    assert again.lacks == ("the module ir_datasets (extra data-ir)",)


def test_modules_of_a_fetch():
    modules = {
        name: modules_of(COLLECTIONS[name]) for name in ("fiqa", "trec_dl21", "musique", "llmbar")
    }
    assert modules == {
        "fiqa": ["ir_datasets", "bm25s"],
        "trec_dl21": ["ir_datasets"],
        "musique": ["datasets"],
        "llmbar": [],
    }


def test_states(tmp_path, mirror):
    pytest.importorskip("datasets", reason="the extra data is not installed")
    fetch("musique", tmp_path, mirror=mirror)
    (tmp_path / "llmbar").mkdir()
    (tmp_path / "llmbar" / "responses.jsonl").write_text("x")
    (tmp_path / "fiqa" / "runs").mkdir(parents=True)
    (tmp_path / ".fetching" / "arguana-0123456789ab").mkdir(parents=True)
    names = ["musique", "llmbar", "fiqa", "arguana", "scifact"]
    states = {one.name: one.state for one in plan(names, tmp_path)}
    assert states == {
        "musique": "fetched", "llmbar": "placed", "fiqa": "missing", "arguana": "begun",
        "scifact": "missing",
    }  # fmt: skip
    musique = plan(["musique"], tmp_path)[0]
    assert (musique.lacks, musique.get) == ((), "")


def test_an_unknown_name_is_refused():
    with pytest.raises(UsageError, match="unknown collection 'x'"):
        plan(["x"])


def test_a_source_that_is_not_pinned_is_said():
    (one,) = plan(["ppe_math"])
    assert "not pinned: the commit is known by its first digits alone, c46ce3c" in one.source
    unpinned = [row["name"] for row in listing() if not row["pinned"]]
    assert unpinned == ["ppe_math", "ppe_mmlu_pro", "rm_bench_full"]


def test_the_listing_has_a_row_a_collection():
    rows = {row["name"]: row for row in listing()}
    assert list(rows) == list(COLLECTIONS)
    assert rows["trec_dl19"]["slates"] == 43
    assert rows["musique"]["need"] == "extra data"


def test_families():
    assert family("bright_pony") == "bright"
    assert family("trec_covid") is None


def test_the_table_on_the_page_is_that_of_the_registry():
    text = PAGE.read_text(encoding="utf-8")
    assert markdown() in text
    told = [line.split("`")[1] for line in markdown().splitlines()[2:]]
    plain = [name for name in COLLECTIONS if family(name) is None]
    assert [name for name in told if "*" not in name] == plain
    assert [name for name in told if "*" in name] == ["bright_*", "miracl_*"]
