"""Parse all recorded listwise answers and count what they lack.

    EVENHAND_DATA=folder-of-collections python run.py
    python run.py folder-of-collections/rank_llm_recorded

Writes results.json and README.md beside this file. Seconds on one core.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

from evenhand.score.listing.ranking import Ranking, parse_ranking

HERE = Path(__file__).parent
COUNTS = ("answers", "complete", "clean", "empty")
IDS = (
    "with_invalid",
    "invalid_ids",
    "with_repeated",
    "repeated_ids",
    "incomplete",
    "missing_candidates",
)
LOOSE = ("loose_start", "another_first")


def windows(folder: Path) -> list[dict]:
    with gzip.open(folder / "windows.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def every_number(answer: str, n: int) -> int | None:
    """The first candidate for a parser that takes every number for an id; slot from 0."""
    return next((int(m) - 1 for m in re.findall(r"[0-9]{1,4}", answer) if 1 <= int(m) <= n), None)


def counts(answer: str, ranking: Ranking) -> Counter:
    first = ranking.order[0] if ranking.order else None
    loose = every_number(answer, ranking.n)
    return Counter(
        answers=1,
        complete=ranking.complete,
        clean=ranking.clean,
        empty=ranking.empty,
        with_invalid=ranking.invalid > 0,
        invalid_ids=ranking.invalid,
        with_repeated=ranking.repeated > 0,
        repeated_ids=ranking.repeated,
        incomplete=not ranking.complete,
        missing_candidates=len(ranking.missing),
        loose_start=re.match(r"\s*[0-9]+\]?\s*>", answer) is not None,
        another_first=first is not None and loose != first,
    )


def parse_all(rows: list[dict]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter] = {}
    for row in rows:
        ranking = parse_ranking(row["response"], row["n"])
        for name in (row["model"], "all"):
            found.setdefault(name, Counter(dict.fromkeys((*COUNTS, *IDS, *LOOSE), 0))).update(
                counts(row["response"], ranking)
            )
    return {
        name: {key: int(value) for key, value in found[name].items()}
        for name in sorted(found, key=lambda name: (name == "all", name))
    }


def table(found: dict[str, dict[str, int]]) -> str:
    titles = ("model", *COUNTS, *IDS, *LOOSE)
    lines = [
        f"| {' | '.join(title.replace('_', ' ') for title in titles)} |",
        "|---" * len(titles) + "|",
    ]
    for name, row in found.items():
        lines.append(f"| {' | '.join([name, *(f'{row[key]:,}' for key in titles[1:])])} |")
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    found = parse_all(windows(folder))
    (HERE / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    head = (HERE / "README.head.md").read_text(encoding="utf-8")
    (HERE / "README.md").write_text(head + "\n" + table(found), encoding="utf-8")


if __name__ == "__main__":
    named = sys.argv[1:] or [os.environ.get("EVENHAND_DATA", "")]
    if len(named) != 1 or not named[0]:
        sys.exit(__doc__)
    place = Path(named[0])
    main(place if (place / "windows.jsonl.gz").exists() else place / "rank_llm_recorded")
