"""The whole records that the page on data shows are read as it says."""

import json
import re
from pathlib import Path

from evenhand.data import read_slates

PAGE = Path(__file__).resolve().parents[2] / "docs" / "data.md"


def shown(key, tmp_path):
    """Return the slate of the record of the page that has a key."""
    blocks = re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    (record,) = [found for found in map(json.loads, blocks) if key in found]
    path = tmp_path / f"{key}.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    (slate,) = read_slates(path, order="file")
    return slate


def test_the_question_with_paragraphs(tmp_path):
    slate = shown("paragraphs", tmp_path)
    assert slate.ids == ("p1", "p2")
    assert slate.grades == {"p1": 1, "p2": 0}
    assert slate.answers == ("the Salzach", "Salzach")
    assert slate.candidates[0].title == "Salzburg"


def test_the_prompt_with_responses(tmp_path):
    slate = shown("responses", tmp_path)
    assert slate.ids == ("r1-0", "r1-1", "r1-2")
    assert slate.grades == {"r1-0": 3, "r1-1": 0, "r1-2": 3}
