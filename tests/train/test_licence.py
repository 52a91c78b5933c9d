"""The licence of a base: where it is looked for, and what is said when there is none."""

from __future__ import annotations

import json

import pytest

from evenhand.models.source import Place
from evenhand.train.licence import UNKNOWN, base_licence, card_licence


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("---\nlicense: apache-2.0\ntags: [x]\n---\n# Model", "apache-2.0"),
        ('---\ntags: [x]\nlicense: "mit"  # ours\n---\n', "mit"),
        ("---\nlicense: other\nlicense_name: gemma\n---\n", "gemma"),
        ("---\nlicense_name: odd\nlicense: other\n---\n", "odd"),
        ("---\nlicense: other\n---\n", "other"),
        ("---\ntags: [x]\n---\nlicense: mit\n", None),
        ("# Model\nlicense: mit\n", None),
        ("", None),
    ],
)
def test_the_head_of_a_card(text, wanted):
    assert card_licence(text) == wanted


def test_a_folder_says_it_in_its_record_or_its_card_or_its_config(tmp_path):
    spec = f"hf:{tmp_path}"
    assert base_licence(spec) == UNKNOWN == "unknown, check"
    (tmp_path / "config.json").write_text(json.dumps({"license": "cc-by-4.0"}))
    assert base_licence(spec) == "cc-by-4.0"
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n")
    assert base_licence(spec) == "mit"
    record = tmp_path / "scorer.json"
    record.write_text(json.dumps({"base": {"licence": "apache-2.0"}}))
    assert base_licence(spec) == "apache-2.0"
    # What an earlier training did not know says nothing.
    for held in ({"base": {"licence": UNKNOWN}}, {"base": []}, 3):
        record.write_text(json.dumps(held))
        assert base_licence(spec) == "mit"
    record.write_text("{")
    assert base_licence(spec) == "mit"


def test_the_default_and_a_file_without_a_card(tmp_path):
    assert base_licence("smollm2-135m") == "apache-2.0"
    assert base_licence(f"gguf:{tmp_path / 'a.gguf'}") == UNKNOWN


def test_a_model_of_the_hub(tmp_path, monkeypatch):
    asked = []

    def fetch(place, name):
        asked.append((place, name))
        path = tmp_path / name
        path.write_text("---\nlicense: mit\n---\n")
        return path if name == "README.md" else None

    monkeypatch.setattr("evenhand.train.licence.hub_file", fetch)
    assert base_licence("hf:org/name@v1") == "mit"
    assert asked[-1] == (Place("hub", "org/name", "v1"), "README.md")
