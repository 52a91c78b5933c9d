"""One study per channel: what moves a scorer, and by how much, on the same slates."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import NothingMeasuredError, ScorerError, UsageError
from evenhand.measure.checks import came, listed, of_kind
from evenhand.present.design import SlateDesign, design
from evenhand.records import RunFolder, write_asked
from evenhand.records.filling import Engine
from evenhand.study.analysis import Analysis, Finding, gravest_first
from evenhand.study.causes.fingerprint import fingerprint
from evenhand.study.causes.signs import Signs, signs_of
from evenhand.study.found.analyse import analyse
from evenhand.study.rows.failures import Failures
from evenhand.study.rows.given import require_scorer
from evenhand.study.rows.run import PLACEMENT, Progress, describe, run_study
from evenhand.types import Estimate, Scorer, Slate, Surface

CHANNELS = ("order", "companions", "marker", "skeleton", "rubric", "window", "membership")

# The columns of the table, each a measure of every channel.
COLUMNS = (
    "tauPSI",
    "CanonicalPSI",
    "Overlap",
    "SetFlip",
    "Top1Flip",
    "PairFlip",
    "ScoreChange",
)
# What else is measured of every channel, for the record and the rows below the table.
FURTHER = (
    "TopSetFlip@10",
    "RetainedDelta",
    "PoolPSI",
    "PoolPSI(kind='replaced')",
    "PoolPSI(kind='dropped')",
)


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """One channel of a study.

    Attributes:
        channel: its name. path: folder of its run.
        analysis: of the run; None when nothing of it is defined.
        signs: what `study.causes.fingerprint` reads.
        variants: mean number of varied rows of a slate.
        failure: why every score of its run is missing, else empty.
    """

    channel: str
    path: Path
    analysis: Analysis | None
    signs: Signs
    variants: float
    failure: str = ""

    def value(self, measure: str) -> Estimate | None:
        """Return the estimate of a measure, None where the run does not have it."""
        if self.analysis is None:
            return None
        found = self.analysis.stability.get(measure)
        return self.analysis.decisions.get(measure) if found is None else found

    def floor(self, measure: str) -> Estimate | None:
        """Return the same measure between the canonical row and its repeat."""
        return None if self.analysis is None else self.analysis.floor.get(measure)


@dataclass(frozen=True, slots=True)
class ChannelStudy:
    """All channels of one scorer on the same slates.

    Attributes:
        scorer: name, revision, scale, order_free, channels.
        settings: M, B, rule, seed, surface, number of slates.
        rows: one per channel, in the order asked.
        findings: channels that failed, and the kind of scorer that the others point to, the
            gravest first.
    """

    scorer: Mapping[str, Any]
    settings: Mapping[str, Any]
    rows: tuple[ChannelRow, ...]
    findings: tuple[Finding, ...]


def parse_channels(text: str) -> tuple[str, ...]:
    """Return the channels that a list with commas names.

    Raises:
        UsageError: a name is unknown or comes twice, or there is none.
    """
    if not isinstance(text, str):
        raise UsageError(f"channels are named in a text, with commas between, got {came(text)}")
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = sorted(set(names) - set(CHANNELS))
    if unknown or not names:
        named = ", ".join(map(repr, unknown)) or "nothing"
        raise UsageError(f"unknown channels: {named}; known are {', '.join(CHANNELS)}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"channels named twice: {', '.join(twice)}")
    return tuple(names)


def _names(channels: object) -> str:
    """Return the list with commas of channels that came as a list."""
    if isinstance(channels, str):
        raise UsageError(
            f"channels must be a list of names, got the text {channels!r}; parse_channels reads a text"
        )
    found = listed("channels", channels, f"some of {', '.join(CHANNELS)}")
    of_kind("channels", found, str)
    return ",".join(found)


def require_honoured(scorer: Scorer, channels: Sequence[str]) -> None:
    """Refuse channels whose variation would not reach the scorer.

    Raises:
        UsageError: names each of them, and the ones it honours.
    """
    honoured = scorer.channels | (PLACEMENT if scorer.order_free else frozenset())
    refused = [channel for channel in channels if channel not in honoured]
    if refused:
        known = [channel for channel in CHANNELS if channel in honoured]
        raise UsageError(
            f"{scorer.name} does not honour the channel{'s' * (len(refused) > 1)} "
            f"{', '.join(refused)}; it honours {', '.join(known) or 'none'}. Leave the others out."
        )


def study_channels(
    scorer: Scorer,
    slates: Iterable[Slate],
    channels: Sequence[str],
    out: str | os.PathLike[str],
    *,
    rows: int = 10,
    width: int | None = None,
    rule: str = "contiguous",
    seed: int = 0,
    surface: Surface | None = None,
    threshold: float | None = None,
    measures: Sequence[str] | None = None,
    part_size: int = 4,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> ChannelStudy:
    """Score slates once per channel and measure all channels alike.

    Each channel is a run of its own in `out/CHANNEL`, resumed when it stands. All
    share the canonical presentation, except that membership leaves out the
    reserve, the last candidate of each slate.

    Args:
        scorer: what is studied.
        slates: the input, read once.
        channels: names of `CHANNELS`.
        out: folder of the runs.
        rows: M, most varied rows.
        width: B; None = the scorer's default.
        rule: how windows are cut. seed: of the draws.
        surface: words around the candidates; None = the scorer's own.
        threshold: keep candidates at or above it; None = fitted for F1.
        measures: further measures of each run.
        part_size: slates scored between two writes to disk.
        progress: called with (slates done, slates in all), over all channels.
        engine: who scores the parts; None = this process, one after the other.

    Raises:
        UsageError: a channel is unknown, or the scorer cannot honour it; nothing
            has been scored then.
        NothingMeasuredError: no channel gives any defined value.
        ScorerError: the scorer gave no score at all; its first failure is quoted.
    """
    require_scorer(scorer)
    asked = parse_channels(_names(channels))
    require_honoured(scorer, asked)
    designs = {
        channel: design(
            channel,
            rows=rows,
            width=scorer.default_window if width is None else width,
            rule=rule,
            seed=seed,
            surface=scorer.surface if surface is None else surface,
            most=scorer.max_window,
        )
        for channel in asked
    }
    folders: dict[str, RunFolder] = {}
    for place, (channel, drawn) in enumerate(designs.items()):
        # The first run keeps the slates, so a stream is enough.
        given = slates if place == 0 else folders[asked[0]].slates()
        report = None if progress is None else _shifted(progress, place, len(asked))
        how: dict[str, Any] = {"part_size": part_size, "progress": report, "engine": engine}
        folders[channel] = run_study(scorer, given, drawn, Path(out) / channel, **how)
    names = (*COLUMNS, *FURTHER, *(measures or ()))
    found = [_row(channel, folder, names, threshold) for channel, folder in folders.items()]
    for folder in folders.values():
        write_asked(folder.path, threshold, measures)
    _require_measured(scorer, found, folders)
    settings = _settings(designs[asked[0]], folders[asked[0]])
    kinds = fingerprint({row.channel: row.signs for row in found})
    findings = gravest_first((*_failed(found), *kinds))
    return ChannelStudy(describe(scorer), settings, tuple(found), findings)


def _failed(rows: Sequence[ChannelRow]) -> list[Finding]:
    return [
        Finding("channel_failed", "error", f"Nothing is known of {row.channel}: {row.failure}.")
        for row in rows
        if row.failure
    ]


def _require_measured(
    scorer: Scorer, found: Sequence[ChannelRow], folders: Mapping[str, RunFolder]
) -> None:
    """Refuse a study of which nothing is defined; a scorer that only failed is told so."""
    if any(row.analysis is not None for row in found):
        return
    failures = Failures(scorer.name)
    for folder in folders.values():
        for record in folder.recorded():
            failures.add_record(record)
    failures.require_a_score()
    raise NothingMeasuredError(
        f"nothing was measured in any of the channels {', '.join(folders)}: slates need two scored "
        "candidates and something that varies. Check the input and the width."
    )


def _settings(drawn: SlateDesign, folder: RunFolder) -> dict[str, Any]:
    shared = {name: getattr(drawn, name) for name in ("rows", "width", "rule", "seed", "surface")}
    return {**shared, "n_slates": folder.n_slates}


def _shifted(progress: Progress, place: int, count: int) -> Progress:
    return lambda done, total: progress(place * total + done, count * total)


def _row(channel: str, folder: RunFolder, names: Sequence[str], threshold: float | None) -> ChannelRow:
    signs = signs_of(folder.recorded())
    variants = signs.rows / folder.n_slates if folder.n_slates else 0.0
    try:
        analysis = analyse(folder, measures=names, threshold=threshold)
    except NothingMeasuredError:
        return ChannelRow(channel, folder.path, None, signs, variants)
    except ScorerError as error:
        return ChannelRow(channel, folder.path, None, signs, variants, str(error))
    return ChannelRow(channel, folder.path, analysis, signs, variants)
