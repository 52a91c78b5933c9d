"""`scorer.json`: read, or refused with its reason."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from evenhand.errors import InputError
from evenhand.present.surface import texts_hash
from evenhand.score.shipped import FORMAT, NAME, read_shipped, shipped_with
from evenhand.types import Surface

SURFACE = Surface(markers="letters", visibility="parallel")
RECORD = {
    "format": FORMAT,
    "surface": asdict(SURFACE),
    "texts_hash": texts_hash(SURFACE),
    "width": 10,
    "max_candidate_tokens": 64,
    "grades": {"strings": ["0", "1", "2", "3"], "ids": [5, 6, 7, 8]},
}


def written(folder, record):
    path = folder / NAME
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    return path


def test_a_file_is_read(tmp_path):
    found = read_shipped(written(tmp_path, {**RECORD, "measures": None}))
    assert found.surface == SURFACE
    assert (found.width, found.max_candidate_tokens, found.grades) == (10, 64, (5, 6, 7, 8))


def test_without_a_file_there_is_nothing(tmp_path):
    assert read_shipped(tmp_path / NAME) is None
    assert shipped_with(f"hf:{tmp_path}") is None
    assert shipped_with("smollm2-135m") is None


def test_what_comes_with_evenhand_says_its_form():
    for name in ("evenhand-smol", "evenhand-smol-single"):
        found = shipped_with(name)
        assert found.surface == Surface(markers="single", enclose=True, query="around")
        assert (found.width, found.max_candidate_tokens) == (10, 64)
        # Written under the words that this version has: nothing asks to train it again.
        assert found.under({}, {})[1] == found.surface


def test_the_hub_is_asked_for_the_file_of_the_adapter_or_else_of_the_model(tmp_path, monkeypatch):
    asked = []

    def fetch(place, name):
        asked.append((place.where, place.revision, name))
        return written(tmp_path, RECORD) if place.where == "me/lora" else None

    monkeypatch.setattr("evenhand.score.shipped.hub_file", fetch)
    assert shipped_with("hf:org/name@v1") is None
    assert shipped_with("hf:org/name+me/lora@v2").width == 10
    assert shipped_with("smollm2-135m+me/lora").surface == SURFACE
    assert asked == [
        ("org/name", "v1", NAME), ("me/lora", "v2", NAME), ("me/lora", None, NAME),
    ]  # fmt: skip


def test_the_folder_of_the_adapter_speaks_for_the_pair(tmp_path):
    base, adapter = tmp_path / "base", tmp_path / "adapter"
    for folder, width in ((base, 3), (adapter, 4)):
        folder.mkdir()
        written(folder, {**RECORD, "width": width})
    assert shipped_with(f"hf:{base}").width == 3
    assert shipped_with(f"hf:{base}+{adapter}").width == 4
    assert shipped_with(f"hf:{base}", adapter=str(adapter)).width == 4
    (adapter / NAME).unlink()
    assert shipped_with(f"hf:{base}+{adapter}") is None


def test_options_go_before_the_file(tmp_path):
    found = read_shipped(written(tmp_path, RECORD))
    assert found.under({}, {"device": "cpu"}) == ({"width": 10, "max_candidate_tokens": 64}, SURFACE)
    given, surface = found.under({"width": 5}, {"width": 5, "markers": "numeric"})
    assert given == {"width": 5, "max_candidate_tokens": 64}
    assert surface == Surface(markers="numeric", visibility="parallel")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ({**RECORD, "format": 99}, "is of format 99, this version reads 1"),
        ({key: value for key, value in RECORD.items() if key != "surface"}, "is damaged .KeyError"),
        ({**RECORD, "surface": {"rubric": "taste"}}, "unknown rubric 'taste'"),
        ({**RECORD, "surface": {"colour": "red"}}, "is damaged .TypeError"),
        ({**RECORD, "width": "wide"}, "is damaged .ValueError"),
        ({**RECORD, "grades": {}}, "is damaged .KeyError"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, record, message):
    path = written(tmp_path, record)
    with pytest.raises(InputError, match=message) as caught:
        read_shipped(path)
    assert str(path) in str(caught.value)
