"""What a reader is shown and what it gives, and the choice of what it reads.

A reader is frozen while scores vary. It is shown the top candidates of a row, or
those a threshold retains, twice: in score order, as it would be served, and the
same set in canonical order. What changes in the second case is due to the set
alone; what changes only in the first is the reader's own order dependence.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from evenhand.decide.answers import normalise
from evenhand.decide.prompts import Task
from evenhand.decide.threshold import retained
from evenhand.errors import UsageError
from evenhand.measure.checks import came, choice, cut_value, floats, whole
from evenhand.measure.rows import ranks
from evenhand.present.surface import one_line
from evenhand.seeds import content_hash, tie_ranks
from evenhand.types import Decision, FloatArray, Slate

InputOrder = Literal["score", "canonical"]
TOP = 5


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a reader is shown: a query and texts in reading order, one line each."""

    query: str
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.texts, str) or not isinstance(self.texts, Sequence):
            raise UsageError(f"texts of evidence must be a tuple of texts, got {came(self.texts)}")
        object.__setattr__(self, "texts", tuple(self.texts))
        for text in (self.query, *self.texts):
            if not isinstance(text, str):
                raise UsageError(f"evidence is made of texts, got {came(text)}")

    @property
    def key(self) -> str:
        """Hash of exactly what is shown."""
        return content_hash([self.query, *self.texts])


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader made of one Evidence.

    Attributes:
        output: the answer as given, or the label; None = missing.
        cut: units of candidate text that were cut: tokens, or words where the
            reader knows no tokens.
        failure: why the output is missing, or None.
    """

    output: str | None
    cut: int = 0
    failure: str | None = None

    def __post_init__(self) -> None:
        for name in ("output", "failure"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise UsageError(f"{name} of a reading must be a text or None, got {came(value)}")
        whole("cut of a reading", self.cut, 0)
        if (self.output is None) != (self.failure is not None):
            raise UsageError("a reading has an output, or says why there is none")


@runtime_checkable
class Reader(Protocol):
    """Anything that reads evidence: a local model, an endpoint, a stub."""

    @property
    def name(self) -> str:
        """How people call it."""
        ...

    @property
    def revision(self) -> str:
        """Identifies weights, prompt and settings that change outputs."""
        ...

    @property
    def task(self) -> Task:
        """What it gives: "answer" or "verdict"."""
        ...

    def read(self, evidence: Sequence[Evidence]) -> list[Reading]:
        """Read many, one Reading each, in the given order."""
        ...


def evidence_of(slate: Slate, columns: Sequence[int]) -> Evidence:
    """Return the candidates at some canonical indices as evidence, in that order."""
    texts = (one_line(slate.candidates[index].full_text)[0] for index in columns)
    return Evidence(one_line(slate.query)[0], tuple(texts))


def selected(
    slate: Slate, scores: ArrayLike, *, top: int | None = TOP, threshold: float | None = None
) -> tuple[int, ...]:
    """Return the canonical indices that a reader reads, best first.

    Candidates without a score are not read. Equal scores stand in the order of
    `seeds.tie_ranks`, never of slots.

    Args:
        slate: the slate.
        scores: (n,) of one row.
        top: at most so many; None = all.
        threshold: only scores at or above it; None = whatever they score.

    Raises:
        UsageError: top under 1, a threshold that is no number, or other than as many
            scores as candidates.
    """
    row = floats("scores", scores)
    if row.shape != (len(slate),):
        raise UsageError(f"slate {slate.id!r}: {row.shape} scores for {len(slate)} candidates")
    if top is not None:
        whole("top of a reader", top)
    if threshold is not None:
        cut_value("threshold", threshold)
    if not len(slate):
        return ()
    place = ranks(row[None], tie_ranks(slate.id, slate.ids))[0]
    kept = ~np.isnan(row) if threshold is None else retained(row, threshold)
    order = [int(i) for i in np.argsort(place) if kept[i]]
    return tuple(order if top is None else order[:top])


def in_order(columns: Sequence[int], order: InputOrder) -> tuple[int, ...]:
    """Return selected candidates in the order a reader is shown them.

    Raises:
        UsageError: unknown order.
    """
    choice("input order", order, ("score", "canonical"))
    return tuple(columns) if order == "score" else tuple(sorted(columns))


def outcome(task: Task, output: str | None) -> str | None:
    """Return what of an output counts when two are compared; None where it is missing.

    Answers are compared after SQuAD's normalisation; labels as they are.
    """
    return normalise(output) if output is not None and task == "answer" else output


class Cached:
    """A reader that reads identical evidence once, under the reader's own identity.

    Missing outputs are remembered within a call only, so that they are tried again.

    Args:
        reader: the reader to ask.
        most: readings remembered, the least recently used forgotten first.
    """

    def __init__(self, reader: Reader, *, most: int = 20_000) -> None:
        whole("most", most)
        self.reader = reader
        self._most = most
        self._known: OrderedDict[str, Reading] = OrderedDict()

    @property
    def name(self) -> str:
        """Name of the reader."""
        return self.reader.name

    @property
    def revision(self) -> str:
        """Revision of the reader."""
        return self.reader.revision

    @property
    def task(self) -> Task:
        """Task of the reader."""
        return self.reader.task

    def read(self, evidence: Sequence[Evidence]) -> list[Reading]:
        """Read each, asking the reader only for what is not known yet.

        Raises:
            UsageError: the reader gave another number of readings than asked for.
        """
        keys = [one.key for one in evidence]
        new = {key: one for key, one in zip(keys, evidence, strict=True) if key not in self._known}
        answers = self.reader.read(list(new.values())) if new else []
        if len(answers) != len(new):
            raise UsageError(
                f"{self.name} gave {len(answers)} readings for {len(new)}; one each, in their order"
            )
        found = dict(zip(new, answers, strict=True))
        results = []
        for key in keys:
            if key in self._known:
                self._known.move_to_end(key)
            results.append(found[key] if key in found else self._known[key])
        self._known.update((key, one) for key, one in found.items() if one.output is not None)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return results


@dataclass(frozen=True, slots=True)
class ReaderConsumer:
    """A reader of one row at a time (`types.Consumer`); `study.found.consume` reads whole runs faster.

    Attributes:
        reader: the reader.
        top, threshold: what it reads, as in `selected`.
        order: in which order it is shown that.
        name: of the decisions it puts out.
    """

    reader: Reader
    top: int | None = TOP
    threshold: float | None = None
    order: InputOrder = "score"
    name: str = "reader"

    def __post_init__(self) -> None:
        choice("input order", self.order, ("score", "canonical"))
        if self.top is not None:
            whole("top of a reader", self.top)
        if self.threshold is not None:
            cut_value("threshold", self.threshold)

    def decide(self, slate: Slate, scores: FloatArray, row: int) -> Decision:
        """Return the reader's outcome for (n,) canonical scores.

        Args:
            slate: the slate.
            scores: (n,); a row without any score gives no decision.
            row: which row of the run they are.

        Returns:
            A decision whose value is the normalised answer or the label; None where it is missing.
        """
        columns = selected(slate, scores, top=self.top, threshold=self.threshold)
        if len(slate) and np.isnan(scores).all():
            return Decision(slate.id, row, self.name, None)
        (reading,) = self.reader.read([evidence_of(slate, in_order(columns, self.order))])
        return Decision(slate.id, row, self.name, outcome(self.reader.task, reading.output))
