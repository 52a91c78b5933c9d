"""Declared collections: names, places, and what they hold where the files are here."""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from evenhand.data.collections import COLLECTIONS, collection, collection_folder, open_collection
from evenhand.errors import InputError, UsageError
from evenhand.present.texts import RUBRICS

HOME = Path(os.environ.get("EVENHAND_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
needs_files = pytest.mark.skipif(
    not (HOME / "trec_dl19").is_dir(),
    reason="the shared collections are not here; name their folder in EVENHAND_SHARED_DATA",
)


def test_unknown_names_and_places_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("EVENHAND_DATA", raising=False)
    with pytest.raises(UsageError, match=r"unknown collection 'dl19'; known are .*trec_dl19"):
        collection("dl19")
    with pytest.raises(InputError, match=r"needs its files .*variable EVENHAND_DATA"):
        collection_folder("cran")
    with pytest.raises(InputError, match=r"cran: no folder of collection 'cran'; get the files from"):
        collection_folder("cran", tmp_path)
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    (tmp_path / "cran").mkdir()
    assert collection_folder("cran") == tmp_path / "cran"
    with pytest.raises(UsageError, match="limit must be at least 1, got 0"):
        open_collection("cran", tmp_path, limit=0)


def test_every_declaration_is_whole():
    for name, declared in COLLECTIONS.items():
        assert declared.rubric in RUBRICS, name
        assert declared.title
        assert declared.source
        assert declared.licence
        assert declared.width >= 2


@needs_files
@pytest.mark.parametrize("name", sorted(set(COLLECTIONS) - {"climate_fever"}))
def test_a_complete_copy_holds_what_is_declared(name):
    slates = open_collection(name, HOME)
    assert sum(1 for _ in slates) == COLLECTIONS[name].slates
    first = next(iter(open_collection(name, HOME, limit=1)))
    assert first.grades
    assert len(first) >= 2
    if COLLECTIONS[name].task == "qa":
        assert first.answers


@needs_files
@pytest.mark.slow
def test_climate_fever_has_verdicts_and_its_own_five():
    slates = list(open_collection("climate_fever", HOME))
    assert len(slates) == COLLECTIONS["climate_fever"].slates
    verdicts = Counter(slate.verdict for slate in slates)
    assert verdicts == {"SUPPORTS": 654, "REFUTES": 253, "NOT_ENOUGH_INFO": 474}
    for slate in islice(slates, 50):
        assert set(slate.grades) <= set(slate.ids)


@needs_files
def test_limit_and_options_reach_the_reader():
    slates = list(open_collection("trec_dl19", HOME, limit=2, run="SPLADE", depth=7))
    assert [len(slate) for slate in slates] == [7, 7]
