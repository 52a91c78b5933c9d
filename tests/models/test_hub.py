"""A single file of the hub: fetched, not there, or not to be had."""

from __future__ import annotations

import pytest

hub = pytest.importorskip("huggingface_hub")
errors = pytest.importorskip("huggingface_hub.errors")
pytest.importorskip("transformers")

from evenhand.errors import ScorerError
from evenhand.models.hub import hub_file
from evenhand.models.source import Place

PLACE = Place("hub", "org/name", "v1")


def test_a_file_is_fetched_at_its_revision(tmp_path, monkeypatch):
    def fetch(where, name, *, revision):
        assert (where, name, revision) == ("org/name", "scorer.json", "v1")
        return str(tmp_path / name)

    monkeypatch.setattr(hub, "hf_hub_download", fetch)
    assert hub_file(PLACE, "scorer.json") == tmp_path / "scorer.json"


@pytest.mark.parametrize(
    "error", [errors.EntryNotFoundError("404"), errors.LocalEntryNotFoundError("offline"),
              errors.OfflineModeIsEnabled("offline")],
)  # fmt: skip
def test_what_is_not_there_is_none(monkeypatch, error):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(hub, "hf_hub_download", refuse)
    assert hub_file(PLACE, "scorer.json") is None


def test_what_cannot_be_fetched_is_told(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("the cache is read-only\nsecond line")

    monkeypatch.setattr(hub, "hf_hub_download", refuse)
    message = r"scorer\.json of org/name could not be fetched .*read-only\); try again"
    with pytest.raises(ScorerError, match=message):
        hub_file(PLACE, "scorer.json")
