"""Declarations: what they say of themselves, and what they must hold."""

from __future__ import annotations

import re

import pytest

from evenhand.data.collections import COLLECTIONS, FIRST, Hub, Irds, Placed
from evenhand.errors import UsageError
from evenhand.present.texts import RUBRICS


def test_a_source_without_a_revision_must_say_why():
    with pytest.raises(UsageError, match="give a revision, or the reason"):
        Hub("a/b", {}, "hotpot", 1.0)
    with pytest.raises(UsageError, match="give a revision, or the reason"):
        Hub("a/b", {}, "hotpot", 1.0, revision="0" * 40, unpinned="both")


def test_a_source_in_words():
    assert str(Hub("a/b", {}, "hotpot", 1.0, unpinned="why")) == "Hugging Face a/b (not pinned: why)"
    pinned = Hub("a/b", {}, "hotpot", 1.0, revision="0123456789ab" + "0" * 28)
    assert str(pinned) == "Hugging Face a/b (revision 0123456789ab)"
    assert str(Irds("beir/x", 1.0)) == "ir_datasets beir/x (pinned by MD5)"
    assert str(Placed("its authors", "place it")) == "its authors"


@pytest.mark.parametrize("name", sorted(COLLECTIONS))
def test_every_declaration_is_whole(name):
    one = COLLECTIONS[name]
    assert one.rubric in RUBRICS
    assert one.first in FIRST
    for text in (one.title, one.source, one.licence, one.cite, one.counts.where, one.need):
        assert text
    assert one.width >= 2
    if isinstance(one.origin, Hub) and one.origin.revision is not None:
        assert re.fullmatch(r"[0-9a-f]{40}", one.origin.revision)
    if isinstance(one.origin, Irds) and one.origin.lists is not None:
        assert re.fullmatch(r"[0-9a-f]{32}", one.origin.lists.md5)


def test_what_a_collection_needs():
    needs = {name: COLLECTIONS[name].need for name in ("robust04", "llmbar", "musique", "fiqa")}
    assert needs == {
        "robust04": "agreement",
        "llmbar": "files by hand",
        "musique": "extra data",
        "fiqa": "extras data, data-ir",
    }
