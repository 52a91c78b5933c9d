"""A finished run and what can be asked of it; `audit` makes one."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.errors import ResumeError
from evenhand.present.design import design as make_design
from evenhand.records import RunFolder
from evenhand.report import html, markdown, text
from evenhand.study.analyse import analyse
from evenhand.study.analysis import Analysis, Finding
from evenhand.study.run import run_study
from evenhand.types import Scorer, Slate, Surface


class Result:
    """A finished run, read from its folder when something is asked.

    Attributes:
        path: the run folder. threshold, measures: as in `audit`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        threshold: float | None = None,
        measures: Sequence[str] | None = None,
    ) -> None:
        """Open a run folder.

        Args:
            path: the folder that an audit wrote.
            threshold: keep candidates at or above it; None = fitted for F1.
            measures: names of further measures; None = the usual ones.

        Raises:
            ResumeError: the folder holds no run.
        """
        self.path = Path(path)
        self.threshold = threshold
        self.measures = None if measures is None else tuple(measures)
        self._folder = RunFolder.open(self.path)

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
            NothingMeasuredError: no slate gave a defined value.
        """
        return analyse(self._folder, threshold=self.threshold, measures=self.measures)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to know before trusting the numbers."""
        return self.analysis.findings

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
        return pq.read_table(self.path / "scores.parquet")


def write_text(path: str | os.PathLike[str], document: str) -> Path:
    """Write a UTF-8 text file, its folder too, and return its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(document, encoding="utf-8", newline="\n")
    return target


def write_html(results: Sequence[Result], path: str | os.PathLike[str]) -> Path:
    """Write one or several results side by side into one HTML file.

    Raises:
        MissingExtraError: plotly or jinja2 is not installed.
    """
    page = html.to_html([(result.analysis, result.folder) for result in results])
    return write_text(path, page)


def audit(
    scorer: Scorer,
    slates: Iterable[Slate],
    *,
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
    part_size: int = 16,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Score slates in many presentations and measure how far the scores agree.

    Args:
        scorer: what is audited; see `open_scorer` and `scorer`.
        slates: the input, read as a stream.
        design: what varies: "reorder", "order" or "companions".
        rows: M, random rows.
        width: B, most candidates of a window; None = the scorer's default.
        rule: how windows are cut.
        seed: of the random rows.
        surface: words around the candidates; None = the scorer's own.
        repeat: score the canonical presentation twice, for the noise floor.
        out: folder of the run, resumed when it holds the same one; None = a
            temporary folder that lives as long as the result.
        threshold: keep candidates at or above it; None = fitted for F1.
        measures: names of further measures; None = the usual ones.
        part_size: slates scored between two writes to disk.
        progress: called with (slates done, slates in all).

    Raises:
        UsageError: a setting is unknown, or the scorer cannot show the design.
        ResumeError: `out` holds another run.
        ScorerError: the scorer failed.
    """
    drawn = make_design(
        design,
        rows=rows,
        width=scorer.default_window if width is None else width,
        rule=rule,
        seed=seed,
        surface=scorer.surface if surface is None else surface,
        repeat=repeat,
    )
    if out is not None:
        run_study(scorer, slates, drawn, out, part_size=part_size, progress=progress)
        return Result(out, threshold=threshold, measures=measures)
    temporary = tempfile.mkdtemp(prefix="evenhand-")
    try:
        run_study(scorer, slates, drawn, temporary, part_size=part_size, progress=progress)
        result = Result(temporary, threshold=threshold, measures=measures)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    weakref.finalize(result, shutil.rmtree, temporary, ignore_errors=True)
    return result
