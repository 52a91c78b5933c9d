"""What the page shows of readers: whether each reads, and how its outputs flip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand.report.bars import Series, bars
from evenhand.report.clean import one_line
from evenhand.report.digits import number
from evenhand.report.figures import BLUE, GREEN, GREY, ORANGE, PINK, Figure
from evenhand.report.reader import READER_FACTS
from evenhand.study.analysis import Analysis, ReaderAnalysis
from evenhand.types import Estimate

Named = Sequence[tuple[str, ReaderAnalysis]]
_FITNESS = {True: "fit", False: "unfit", None: "unknown"}


@dataclass(frozen=True, slots=True)
class ReaderView:
    """One reader in words: which result it read, who it is, whether it reads and why."""

    name: str
    reader: str
    does: str
    word: str
    reason: str


@dataclass(frozen=True, slots=True)
class Readers:
    """The readers of a page; `figures` holds (name, heading, caption)."""

    views: tuple[ReaderView, ...]
    figures: tuple[tuple[str, str, str], ...]


def reader_facts(reader: ReaderAnalysis | None) -> list[tuple[str, str]]:
    """Return what a card says of a reader: its flip, the control, and that it is unfit."""
    if reader is None:
        return []
    flip = reader.estimates["flip"]
    task = reader.reader["task"]
    facts = [
        (f"{task} flip", number(flip["score"].mean)),
        ("same set, canonical order", number(flip["canonical"].mean)),
    ]
    return facts if reader.fitness.fit else [*facts, ("its reader", _FITNESS[reader.fitness.fit])]


def reader_views(
    names: Sequence[str], analyses: Sequence[Analysis]
) -> tuple[Readers | None, dict[str, Figure]]:
    """Return what the page says of the readers of its results, and their figures by name.

    Args:
        names: one per result, all different.
        analyses: those without a reader are left out.

    Returns:
        None and no figure where no result has a reader.
    """
    pairs = zip(names, analyses, strict=True)
    read = [(name, one.reader) for name, one in pairs if one.reader is not None]
    if not read:
        return None, {}
    drawn = {"reader-flips": flip_figure(read), "reader-fitness": fitness_figure(read)}
    said = [("reader-flips", *_FLIPS), ("reader-fitness", *_FITS)]
    for place, (name, reader) in enumerate(read):
        if reader.fitness.gold:
            drawn[f"reader-labels-{place}"] = label_figure(reader)
            heading = f"Labels, {one_line(name)}" if len(read) > 1 else "Labels"
            said.append((f"reader-labels-{place}", heading, _LABELS))
    return Readers(tuple(_view(*pair) for pair in read), tuple(said)), drawn


_FLIPS = (
    "Output flip",
    "Share of pairs of presentations whose verdict or answer differs. Score order is what would be "
    "served. Control: the same set always in canonical order, so what is left is the choice of "
    "the set. Their difference is the reader's own dependence on order.",
)
_FITS = (
    "Does it read?",
    "How often it is right with gold evidence and with none (answers: shared words, F1). A fit reader "
    "is better with evidence, and above the most common label, which is what a constant one gets.",
)
_LABELS = (
    "Shares of the gold labels, and of what the reader says with gold evidence and of shuffled "
    "slates. One bar near 1 is a reader that says the same whatever it reads."
)


def _view(name: str, reader: ReaderAnalysis) -> ReaderView:
    who, does = READER_FACTS["reader"](reader)
    word, reason = _FITNESS[reader.fitness.fit], reader.fitness.reason
    return ReaderView(one_line(name), one_line(who), one_line(does), word, one_line(reason))


def _rows(read: Named) -> list[str]:
    return [
        name if reader.fitness.fit else f"{name}: {_FITNESS[reader.fitness.fit]}"
        for name, reader in read
    ]


def flip_figure(read: Named) -> Figure:
    """Return how often the output flips in both input orders, beside its noise floor."""

    def of(name: str, order: str) -> tuple[Estimate | None, ...]:
        return tuple(reader.estimates[name].get(order) for _, reader in read)  # type: ignore[call-overload]

    series = (
        Series("score order", ORANGE, of("flip", "score")),
        Series("same set, canonical order", BLUE, of("flip", "canonical")),
        Series("noise floor", GREY, of("floor", "score")),
    )
    return bars(_rows(read), series, "share of pairs that flip")


def fitness_figure(read: Named) -> Figure:
    """Return how good each reader is with gold evidence and with none, beside the majority class."""
    fits = [reader.fitness for _, reader in read]
    series = [
        Series("gold evidence", GREEN, tuple(one.f1 or one.accuracy for one in fits)),
        Series("no evidence", GREY, tuple(one.f1_bare or one.accuracy_bare for one in fits)),
    ]
    if any(one.gold for one in fits):
        common = tuple(_share(one.majority) if one.gold else None for one in fits)
        series.append(Series("most common label", PINK, common, marker=True))
    return bars(_rows(read), series, "right (verdicts) or F1 (answers)")


def label_figure(reader: ReaderAnalysis) -> Figure:
    """Return the shares of gold labels and of those given with gold evidence and when shuffled."""
    fit = reader.fitness
    labels = list(dict.fromkeys([*fit.gold, *fit.outputs, *reader.outputs]))

    def shares(counts: Mapping[str, int]) -> tuple[Estimate | None, ...]:
        total = sum(counts.values())
        return tuple(_share(counts.get(one, 0) / total) if total else None for one in labels)

    series = (
        Series("gold", PINK, shares(fit.gold)),
        Series("said with gold evidence", GREEN, shares(fit.outputs)),
        Series("said, shuffled", ORANGE, shares(reader.outputs)),
    )
    return bars(labels, series, "share")


def _share(value: float) -> Estimate:
    return Estimate(value, value, value, 1, 0)
