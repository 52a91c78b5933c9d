"""A finished run and what can be asked of it; `audit` makes one."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.decide.reading import TOP, Reader
from evenhand.errors import ResumeError, UsageError
from evenhand.present.design import design as make_design
from evenhand.records import RunFolder, read_asked
from evenhand.records.filling import Engine
from evenhand.remedy import apply
from evenhand.report import html, markdown, text
from evenhand.report.settings import folder_labels
from evenhand.study.analysis import Analysis, Finding, ReaderAnalysis
from evenhand.study.found.analyse import analyse
from evenhand.study.found.consume import consume
from evenhand.study.found.measures import choose
from evenhand.study.found.summary import write_summary
from evenhand.study.found.thresholds import keep_asked
from evenhand.study.rows.declared import check_declarations
from evenhand.study.rows.run import run_study
from evenhand.types import Remedy, Scorer, Slate, Surface


class Result:
    """A finished run, read from its folder when something is asked.

    Attributes:
        path: the run folder. threshold, measures: as asked for, here or in the `audit`.
        named: whether the folder's name means something to people.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        threshold: float | None = None,
        measures: Sequence[str] | None = None,
        named: bool = True,
    ) -> None:
        """Open a run folder.

        Args:
            path: the folder that an audit wrote.
            threshold: keep candidates at or above it; None = as in the last audit of
                the run, where by default it is fitted for F1.
            measures: names of further measures; None = those of the last audit.
            named: the folder's name tells the result apart in a report.

        Raises:
            ResumeError: the folder holds no run.
        """
        self.path = Path(path)
        self.named = named
        self._folder = RunFolder.open(self.path)
        asked = read_asked(self.path)
        self.threshold = asked.threshold if threshold is None else threshold
        self.measures = asked.measures if measures is None else tuple(measures)

    def __repr__(self) -> str:
        return f"Result({str(self.path)!r})"

    @property
    def folder(self) -> RunFolder:
        """The records, to read slate by slate."""
        return self._folder

    @cached_property
    def analysis(self) -> Analysis:
        """Everything computed from the run; computed once.

        Raises:
            ResumeError: the run is not finished, or a file is damaged.
            ScorerError: the scorer gave no score at all.
            NothingMeasuredError: no slate gave a defined value.
        """
        return analyse(self._folder, threshold=self.threshold, measures=self.measures)

    def read(
        self,
        reader: Reader,
        *,
        top: int | None = TOP,
        retained: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> ReaderAnalysis:
        """Let a reader read every row of the run; its numbers join the analysis and the report.

        Args:
            reader: see `evenhand.decide.open_reader`.
            top: read the top so many; None = all that are retained.
            retained: read only candidates at or above their slate's threshold.
            progress: called with (slates done, slates in all).

        Raises:
            UsageError: nothing limits what is read.
            ScorerError: the reader failed, or every reading is missing.
        """
        cuts = None
        if retained:
            values = self.analysis.per_slate["threshold"].tolist()
            cuts = dict(zip(self.analysis.slate_ids, values, strict=True))
        found = consume(self._folder, reader, top=top, thresholds=cuts, progress=progress)
        analysis = replace(self.analysis, reader=found)
        self.__dict__["analysis"] = analysis
        if os.access(self._folder.path, os.W_OK):
            write_summary(self._folder.path, analysis)
        return found

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to know before trusting the numbers."""
        read = self.analysis.reader
        return self.analysis.findings + (() if read is None else read.findings)

    def table(self) -> str:
        """Return the headline table as plain text."""
        return text.to_text([self.analysis])

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as Markdown, and write it when a path is given."""
        document = markdown.to_markdown([self.analysis])
        if path is not None:
            write_text(path, document)
        return document

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one HTML file and return its path.

        Raises:
            MissingExtraError: plotly or jinja2 is not installed.
        """
        return write_html([self], path)

    def frame(self) -> pa.Table:
        """Return all scores: one line per slate, row and candidate.

        Columns are those of `scores.parquet`: slate, row, kind, candidate, slot,
        window, score and more; a missing score is null or NaN.

        Raises:
            ResumeError: the run is not finished.
        """
        if not self._folder.finished:
            raise ResumeError("the run is not finished; run it again to go on", path=str(self.path))
        return pq.read_table(self.path.absolute() / "scores.parquet")


def write_text(path: str | os.PathLike[str], document: str) -> Path:
    """Write a UTF-8 text file, its folder too, and return its path.

    Raises:
        UsageError: the file cannot be written there.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(document, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(
            f"{target}: the report cannot be written ({error.strerror}); name a file in a folder "
            "that can be written"
        ) from None
    return target


def labels_of(results: Sequence[Result]) -> tuple[str, ...]:
    """Return what tells results of one scorer apart: the names of their folders."""
    return folder_labels([result.path if result.named else None for result in results])


def write_html(results: Sequence[Result], path: str | os.PathLike[str]) -> Path:
    """Write one or several results side by side into one HTML file.

    Raises:
        MissingExtraError: plotly or jinja2 is not installed.
    """
    pairs = [(result.analysis, result.folder) for result in results]
    page = html.to_html(pairs, labels=labels_of(results))
    return write_text(path, page)


def audit(
    scorer: Scorer,
    slates: Iterable[Slate],
    *,
    remedies: Sequence[str | Remedy] = (),
    design: str = "reorder",
    rows: int = 10,
    width: int | None = None,
    rule: str = "contiguous",
    seed: int = 0,
    surface: Surface | None = None,
    repeat: bool = True,
    out: str | os.PathLike[str] | None = None,
    threshold: float | None = None,
    measures: Sequence[str] | None = None,
    part_size: int = 4,
    progress: Callable[[int, int], None] | None = None,
    engine: Engine | None = None,
) -> Result:
    """Score slates in many presentations and measure how far the scores agree.

    Args:
        scorer: what is audited; see `open_scorer` and `scorer`.
        slates: the input, read as a stream.
        remedies: put around the scorer, the first innermost: names such as "average:4" (see
            `evenhand.remedy`), whose draws are seeded by `seed` unless they say otherwise.
        design: what varies: "reorder" or one channel, see `present.design`.
        rows: M, random rows.
        width: B, most candidates of a window; None = the scorer's default.
        rule: how windows are cut.
        seed: of the random rows.
        surface: words around the candidates; None = the scorer's own.
        repeat: score the canonical presentation twice, for the noise floor.
        out: folder of the run, resumed when it holds the same one; None = a
            temporary folder that lives as long as the result or its `folder`.
        threshold: keep candidates at or above it; None = fitted for F1.
        measures: names of further measures; None = the usual ones.
        part_size: slates scored between two writes to disk: the most that a stopped run loses.
        progress: called with (slates done, slates in all).
        engine: who scores, see `study.ray`; None = this process.

    Raises:
        UsageError: a setting is unknown, the scorer cannot show the design, or what
            was given is no scorer or no slates; told before anything is scored. A
            threshold outside the scores is told after it, and is not kept.
        ResumeError: `out` holds another run.
        ScorerError: the scorer failed.
    """
    require_askable(scorer, slates, threshold, measures)
    scorer = apply(scorer, remedies, seed=seed)
    drawn = make_design(
        design,
        rows=rows,
        width=scorer.default_window if width is None else width,
        rule=rule,
        seed=seed,
        surface=scorer.surface if surface is None else surface,
        repeat=repeat,
        most=scorer.max_window,
    )
    how: dict[str, Any] = {"part_size": part_size, "progress": progress, "engine": engine}
    if out is not None:
        folder = run_study(scorer, slates, drawn, out, **how)
        keep_asked(folder, threshold, measures)
        return Result(out)
    temporary = tempfile.mkdtemp(prefix="evenhand-")
    try:
        folder = run_study(scorer, slates, drawn, temporary, **how)
        keep_asked(folder, threshold, measures)
        result = Result(temporary, named=False)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    # The records may outlive the result: whoever holds them still reads the folder.
    weakref.finalize(result.folder, shutil.rmtree, temporary, ignore_errors=True)
    return result


def require_askable(
    scorer: object, slates: object, threshold: object, measures: Sequence[str] | None
) -> None:
    """Refuse before scoring what could only fail after it."""
    if not isinstance(scorer, Scorer) or isinstance(scorer, type):
        raise UsageError(
            f"a scorer is needed, got {type(scorer).__name__}: open one by name with "
            "evenhand.open_scorer(name), or wrap a function f(query, texts) with evenhand.scorer(f)"
        )
    check_declarations(scorer)
    if isinstance(slates, (Slate, str, Mapping)) or not isinstance(slates, Iterable):
        raise UsageError(
            f"an iterable of Slate is needed, got {type(slates).__name__}; put one slate in a list, "
            "read a file with evenhand.read_slates(path)"
        )
    if threshold is not None and (
        isinstance(threshold, bool) or not isinstance(threshold, Real) or not math.isfinite(threshold)
    ):
        raise UsageError(f"threshold must be a finite number or None, got {threshold!r}")
    if isinstance(measures, str) or not isinstance(measures, (Sequence, type(None))):
        raise UsageError(f"measures must be a list of names, got {measures!r}")
    choose(measures, 1)
