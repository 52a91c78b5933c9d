"""The parser on real answers; the whole collection is counted in experiments/recorded_listwise."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from evenhand.score.listing.ranking import parse_ranking

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "experiments" / "recorded_listwise" / "results.json"


def recorded():
    """The recorded windows, or a skip that says where they were looked for."""
    root = Path(os.environ.get("EVENHAND_DATA", ROOT.parent / "shared" / "data"))
    path = root / "rank_llm_recorded" / "windows.jsonl.gz"
    if not path.exists():
        pytest.skip("no rank_llm_recorded in the folder that EVENHAND_DATA names")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def label(ranking):
    """The four labels of the collection, which another parser gave."""
    if ranking.empty:
        return "none"
    if not ranking.complete:
        return "missing"
    return "clean" if ranking.clean else "repeats"


@pytest.mark.slow
def test_a_sample_agrees_with_the_labels_of_another_parser():
    rows = recorded()[::7]
    found = [label(parse_ranking(row["response"], row["n"])) for row in rows]
    assert found == [row["parse"] for row in rows]
    assert set(Counter(found)) == {"clean", "missing", "none", "repeats"}


def test_the_recorded_counts_add_up():
    counts = json.loads(RECORDED.read_text(encoding="utf-8"))
    whole = counts.pop("all")
    assert whole["answers"] == 13_773
    assert {key: sum(one[key] for one in counts.values()) for key in whole} == whole
    for one in (*counts.values(), whole):
        assert one["complete"] + one["incomplete"] == one["answers"]
        assert one["clean"] <= one["complete"]
        assert one["empty"] <= one["incomplete"]


def test_the_page_shows_the_recorded_counts():
    page = (RECORDED.parent / "README.md").read_text(encoding="utf-8")
    for name, row in json.loads(RECORDED.read_text(encoding="utf-8")).items():
        assert f"| {' | '.join([name, *(f'{value:,}' for value in row.values())])} |" in page
