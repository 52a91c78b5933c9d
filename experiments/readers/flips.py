"""What a reader makes of graders' scores: answers or verdicts of the top k of every row.

    python flips.py smollm2-135m+readers/abstains answer slates/hotpot.jsonl.gz \
        results/hotpot-abstains.json --scores single=runs/single.npz across=runs/across.npz

A score file is an .npz whose keys are slate ids and whose arrays are (rows, n): a row a
presentation, columns in the order of the slate's candidates, NaN = missing. The first row is
the canonical one, the others are random (--random: all are). With --collection the files are
those of ../tasks (`matrices.py`), which hold several collections and know their rows. Slates
without scores are left out, and counted.

Every row is read twice, as `evenhand audit --reader` does: in score order, as it would be
served, and the same set in canonical order, the control. Where the answer flips in the
control too, the set moved it; where it flips in score order alone, the reader's own order
dependence did. The numbers are those of evenhand's own analysis. Readings are kept beside
the result and shared by all score files, so a stopped call goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
from kept import opened, reader_options

from evenhand.data import load_slates
from evenhand.decide.reading import TOP, Reader, Reading, outcome
from evenhand.study.analysis import ReaderAnalysis
from evenhand.study.found.reader_analysis import analyse_readings
from evenhand.study.found.readings import REREAD, Ask, asks_of, line_of, schema_for, table_of
from evenhand.study.plain import plain
from evenhand.types import ScoreMatrix, Slate

Scores = Mapping[str, np.ndarray | ScoreMatrix]
TASKS = Path(__file__).parents[1] / "tasks"
BLANK = Reading(None, 0, "no scores in this row")


def load_scores(path: Path, slates: Sequence[Slate], collection: str | None) -> Scores:
    """Scores by slate id, of a plain file or of a collection of a file of ../tasks."""
    with np.load(path, allow_pickle=False) as held:
        if collection is None:
            return {key: held[key] for key in held.files}
        if f"{collection} ids" not in held.files:
            known = sorted(key.removesuffix(" ids") for key in held.files if key.endswith(" ids"))
            raise SystemExit(f"{path}: no collection {collection!r}; it holds {known}")
        ids = set(held[f"{collection} ids"].tolist())
    # Behind this folder, whose own modules come first.
    sys.path.append(str(TASKS))
    from matrices import read

    known = [slate for slate in slates if slate.id in ids]
    found = read(path, collection, known)
    return {slate.id: matrix for slate, matrix in zip(known, found, strict=True)}


def asks(
    slates: Sequence[Slate], scores: Scores, task: str, *, top: int | None = TOP, canonical: bool = True
) -> list[Ask]:
    """All that is read for one score file, slate after slate."""
    found = []
    for slate in slates:
        # What `asks_of` reads of a recorded slate, without a run folder around it.
        record = SimpleNamespace(slate=slate, matrix=matrix_of(slate, scores[slate.id], canonical))
        found += asks_of(record, task, top=top, threshold=None, min_grade=1)
    return found


def matrix_of(
    slate: Slate, scores: np.ndarray | ScoreMatrix, canonical: bool
) -> ScoreMatrix | SimpleNamespace:
    """Scores with the kinds of their rows."""
    if isinstance(scores, ScoreMatrix):
        return scores
    rows = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    if rows.shape[1] != len(slate):
        raise SystemExit(f"slate {slate.id!r}: scores {rows.shape} for {len(slate)} candidates")
    kinds = ("canonical" if canonical else "random", *["random"] * (len(rows) - 1))
    return SimpleNamespace(scores=rows, plan=SimpleNamespace(kinds=kinds, exhaustive=False))


def analyse(
    reader: Reader,
    slates: Sequence[Slate],
    scores: Scores,
    *,
    top: int | None = TOP,
    canonical: bool = True,
    again: int = 64,
) -> ReaderAnalysis:
    """Read the top k of every row and return evenhand's analysis of it.

    Args:
        reader: frozen; one of `kept.opened` reads each input once over all calls.
        slates: those to read for; all must have scores.
        scores: (rows, n) by slate id, or score matrices, which know what their rows are.
        top: candidates read. canonical: whether the first row is the canonical one.
        again: inputs read a second time in other batches, past what is kept.
    """
    wanted = asks(slates, scores, reader.task, top=top, canonical=canonical)
    shown = [one.evidence for one in wanted if one.evidence is not None]
    given = iter(reader.read(shown))
    readings = [BLANK if one.evidence is None else next(given) for one in wanted]
    lines = [line_of(ask, one, reader.task) for ask, one in zip(wanted, readings, strict=True)]
    lines += reread(reader, wanted, again)
    place = {slate.id: i for i, slate in enumerate(slates)}
    lines.sort(key=lambda line: place[line["slate"]])
    who = {"name": reader.name, "revision": reader.revision, "task": reader.task}
    identity = {"reader": who, "top": top, "thresholds": None, "min_grade": 1}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reader.parquet"
        pq.write_table(table_of(lines, schema_for(identity)), path, row_group_size=len(lines))
        return analyse_readings(path, identity)


def reread(reader: Reader, wanted: Sequence[Ask], count: int) -> list[dict]:
    """Lines of some inputs read once more, from the end of the list: other batches."""
    by_key = {one.evidence.key: one for one in wanted if one.evidence and one.evidence.texts}
    some = list(by_key.values())[::-1][:count]
    bare = getattr(reader, "reader", reader)
    readings = bare.read([one.evidence for one in some]) if some else []
    lines = []
    for ask, reading in zip(some, readings, strict=True):
        line = line_of(ask, reading, reader.task)
        lines.append(line | {"kind": REREAD, "outcome": outcome(reader.task, reading.output)})
    return lines


def shown_line(name: str, found: ReaderAnalysis) -> str:
    """The few numbers to look at while it runs."""
    keys = ("flip", "served", "shuffled", "f1_shuffled", "correct_flip")
    parts = [
        f"{key} {found.estimates[key]['score'].mean:.3f}" for key in keys if key in found.estimates
    ]
    control = found.estimates["flip"]["canonical"].mean
    own = found.own_order.mean
    return f"{name}: {', '.join(parts)}; control flip {control:.3f}, own order {own:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", help="as evenhand audit --reader takes it")
    parser.add_argument("task", choices=("answer", "verdict"))
    parser.add_argument("slates", type=Path, help="the slates that were scored")
    parser.add_argument("out", type=Path)
    parser.add_argument("--scores", nargs="+", required=True, metavar="NAME=FILE.npz")
    parser.add_argument("--top", type=int, default=TOP)
    parser.add_argument("--collection", help="of the score files, where they are those of ../tasks")
    parser.add_argument("--random", action="store_true", help="the first row is a random one too")
    reader_options(parser)
    args = parser.parse_args()
    files = dict(one.partition("=")[::2] for one in args.scores)
    slates = list(load_slates(args.slates))[: args.limit]
    scored = {name: load_scores(Path(file), slates, args.collection) for name, file in files.items()}
    reader = opened(args)
    found: dict = {}
    for name, scores in scored.items():
        known = [slate for slate in slates if slate.id in scores]
        if not known:
            raise SystemExit(f"{files[name]}: no scores of any of the {len(slates)} slates")
        analysis = analyse(reader, known, scores, top=args.top, canonical=not args.random)
        found[name] = plain(analysis) | {"left_out": len(slates) - len(known)}
        print(shown_line(name, analysis), flush=True)
        partial = args.out.with_suffix(".partial")
        partial.write_text(json.dumps(found) + "\n")
        partial.replace(args.out)


if __name__ == "__main__":
    main()
