"""Preference pairs of finished runs, in the formats that TRL's trainers read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.decide.pairs import (
    LEAST_ROWS,
    REASONS,
    Pair,
    PairRule,
    Reason,
    conflicts,
    pair_of,
    response,
)
from evenhand.errors import InputError, NothingMeasuredError, ScorerError, UsageError
from evenhand.measure.checks import choice, of_kind
from evenhand.measure.rows import defined_mean
from evenhand.records import RunFolder
from evenhand.records.files import replacing, unwritable
from evenhand.study.counted import counted
from evenhand.study.plain import plain

Form = Literal["conversational", "standard"]
QUERY = "{query}"
# A standard prompt and its response are joined as they are: something must stand between.
TEMPLATES: Mapping[Form, str] = {"conversational": QUERY, "standard": QUERY + "\n"}
SUFFIXES = (".jsonl", ".parquet")

WHY: Mapping[Reason, str] = {
    "single": "fewer than two candidates",
    "missing": "missing scores",
    "tie": "best and worst score equal",
    "same_text": "best and worst are the same text",
    "empty": "best or worst is an empty text",
    "gap": "gap under the bound",
    "flip": "flip probability over the bound",
    "repeated": "the same pair was there already",
    "contradicted": "another pair prefers the opposite",
}

_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
_DETAILS = [
    ("run", pa.string()),
    ("slate", pa.string()),
    ("chosen_id", pa.string()),
    ("rejected_id", pa.string()),
    ("gap", pa.float64()),
    ("flip", pa.float64()),
    ("rows", pa.int64()),
]


@dataclass(frozen=True, slots=True)
class PairForm:
    """How a pair is written.

    Attributes:
        form: "conversational" (lists of messages, for a chat template) or "standard" (strings).
        template: the prompt, with {query} for the query; None = that of the form.
        weights: with a column `weight`. details: with the columns run, slate,
            chosen_id, rejected_id, gap, flip, rows.

    Raises:
        UsageError: an unknown form, or a template without {query}.
    """

    form: Form = "conversational"
    template: str | None = None
    weights: bool = False
    details: bool = False

    def __post_init__(self) -> None:
        choice("form of pairs", self.form, get_args(Form))
        if self.template is not None and QUERY not in self.template:
            raise UsageError(f"the template needs {QUERY} where the query goes, got {self.template!r}")

    def prompt(self, query: str) -> str:
        """Return the prompt of a query; nothing but {query} is replaced."""
        template = TEMPLATES[self.form] if self.template is None else self.template
        return template.replace(QUERY, query)

    def schema(self) -> pa.Schema:
        """Return the columns of a file of pairs."""
        kind = _MESSAGES if self.form == "conversational" else pa.string()
        columns = [(name, kind) for name in ("prompt", "chosen", "rejected")]
        columns += [("weight", pa.float64())] if self.weights else []
        return pa.schema(columns + (_DETAILS if self.details else []))


@dataclass(frozen=True, slots=True)
class FoundPairs:
    """The pairs of some runs, and what became of every slate.

    Attributes:
        pairs: those kept, with the folder of their run, in the order of runs and slates.
        runs: folders. slates: in all of them.
        dropped: slates without a pair in `pairs`, by reason; 0 where none.
        fewer_rows: pairs kept that rest on fewer rows than their slate was shown in.
        flip_kept, flip_all: mean flip probability of the pairs kept, and of all pairs
            before any was dropped; NaN without any.
        rule: what was asked.
    """

    pairs: tuple[tuple[str, Pair], ...] = field(repr=False)
    runs: tuple[str, ...]
    slates: int
    dropped: Mapping[Reason, int]
    fewer_rows: int
    flip_kept: float
    flip_all: float
    rule: PairRule

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON values, without the pairs."""
        names = ("runs", "slates", "dropped", "fewer_rows", "flip_kept", "flip_all", "rule")
        return {"kept": len(self.pairs)} | {name: plain(getattr(self, name)) for name in names}


def find_pairs(runs: Sequence[str | os.PathLike[str]], rule: PairRule | None = None) -> FoundPairs:
    """Return the preference pairs of finished runs, one a slate at most.

    Args:
        runs: folders that audits wrote.
        rule: which pairs are kept; None = the default.

    Raises:
        UsageError: no run, one named twice, or one with fewer than two random rows.
        ResumeError: a folder holds no finished run.
        ScorerError: no slate of two candidates has scores.
        NothingMeasuredError: no pair is left; the message counts why.
    """
    rule = PairRule() if rule is None else rule
    of_kind("rule", [rule], PairRule)
    folders = _folders(runs)
    made: list[tuple[str, Pair]] = []
    flips: list[float] = []
    slates, fewer, dropped = 0, set(), dict.fromkeys(REASONS, 0)
    for folder in folders:
        for record in folder.recorded():
            slates += 1
            outcome = pair_of(record.slate, record.matrix, rule)
            flips += [] if outcome.pair is None else [outcome.pair.flip]
            if outcome.dropped is not None:
                dropped[outcome.dropped] += 1
            elif outcome.pair is not None:
                if outcome.pair.rows < len(record.matrix.random):
                    fewer.add(len(made))
                made.append((str(folder.path), outcome.pair))
    verdicts = conflicts([pair for _, pair in made])
    for reason in verdicts:
        if reason is not None:
            dropped[reason] += 1
    kept = [place for place, reason in enumerate(verdicts) if reason is None]
    pairs = tuple(made[place] for place in kept)
    if not pairs:
        raise _nothing(slates, dropped)
    means = defined_mean([pair.flip for _, pair in pairs]), defined_mean(flips)
    names = tuple(str(folder.path) for folder in folders)
    return FoundPairs(pairs, names, slates, dropped, len(fewer.intersection(kept)), *means, rule)


def _folders(runs: Sequence[str | os.PathLike[str]]) -> list[RunFolder]:
    """Open runs; refuse those that cannot give pairs before one is read."""
    if isinstance(runs, (str, os.PathLike)) or not runs:
        raise UsageError(f"a list of run folders is needed, got {runs!r}")
    seen: dict[Path, object] = {}
    for run in runs:
        place = Path(run).resolve()
        if place in seen:
            raise UsageError(f"run {str(run)!r} is named twice; each run gives its pairs once")
        seen[place] = run
    folders = [RunFolder.open(run) for run in runs]
    for folder in folders:
        rows = folder.settings.get("rows", LEAST_ROWS)
        if rows < LEAST_ROWS:
            raise UsageError(
                f"{folder.path}: the run has {counted(rows, 'random row')}, and whether a pair flips "
                f"shows in {LEAST_ROWS} or more; audit with --rows 10"
            )
    return folders


def why_dropped(dropped: Mapping[Reason, int]) -> list[str]:
    """Return a line for each reason that occurred: how many slates, and why."""
    return [f"{dropped[reason]:,} {WHY[reason]}" for reason in REASONS if dropped.get(reason)]


def _nothing(slates: int, dropped: Mapping[Reason, int]) -> Exception:
    said = ", ".join(why_dropped(dropped)) or "there are none"
    message = f"no pair is left of {counted(slates, 'slate')}: {said}"
    if dropped["missing"] and dropped["missing"] + dropped["single"] == slates:
        return ScorerError(message)
    return NothingMeasuredError(message)


def to_line(run: str, pair: Pair, form: PairForm) -> dict[str, Any]:
    """Return a pair as one line of a file.

    Raises:
        InputError: a text is no valid Unicode, which no trainer reads.
    """
    texts = (form.prompt(pair.query), response(pair.chosen), response(pair.rejected))
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"slate {pair.slate_id!r} holds a lone surrogate in its query or a response; pairs are "
            "written as UTF-8. Mend the text and audit it again"
        ) from None
    names, roles = ("prompt", "chosen", "rejected"), ("user", "assistant", "assistant")
    line: dict[str, Any] = dict(zip(names, texts, strict=True))
    if form.form == "conversational":
        for name, role in zip(names, roles, strict=True):
            line[name] = [{"role": role, "content": line[name]}]
    if form.weights:
        line["weight"] = pair.weight
    if form.details:
        ids = {"chosen_id": pair.chosen.id, "rejected_id": pair.rejected.id}
        numbers = {"gap": pair.gap, "flip": pair.flip, "rows": pair.rows}
        line |= {"run": run, "slate": pair.slate_id} | ids | numbers
    return line


def require_free(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file of pairs that can be begun.

    Raises:
        UsageError: its name does not end in a known format.
        InputError: it is there already.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{target}: the name must end in {' or '.join(SUFFIXES)}, which is the format")
    if os.path.lexists(target):
        raise InputError(
            "is there already, and is not written over; name another file or delete it",
            path=str(target),
        )
    return target


def write_pairs(found: FoundPairs, path: str | os.PathLike[str], form: PairForm | None = None) -> Path:
    """Write pairs to a file, whole or not at all, and return its path.

    Equal runs and settings give equal bytes.

    Args:
        found: what `find_pairs` gave.
        path: ends in .jsonl (ASCII, a line a pair) or .parquet; must not exist.
        form: how pairs are written; None = the default.

    Raises:
        UsageError: the name has another ending.
        InputError: the file is there already, or a text is no valid Unicode.
        ResumeError: the system refuses to write.
    """
    target, form = require_free(path), PairForm() if form is None else form
    lines = [to_line(run, pair, form) for run, pair in found.pairs]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(target, error) from None
    write: Callable[[Path, Iterable[dict[str, Any]], PairForm], None]
    write = _write_jsonl if target.suffix.lower() == ".jsonl" else _write_parquet
    with replacing(target) as temporary:
        write(temporary, lines, form)
    return target


def _write_jsonl(path: Path, lines: Iterable[dict[str, Any]], form: PairForm) -> None:
    with path.open("w", encoding="ascii", newline="\n") as stream:
        for line in lines:
            stream.write(json.dumps(line, ensure_ascii=True, allow_nan=False) + "\n")


def _write_parquet(path: Path, lines: Iterable[dict[str, Any]], form: PairForm) -> None:
    pq.write_table(pa.Table.from_pylist(list(lines), schema=form.schema()), path)
