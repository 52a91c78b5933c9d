"""What is declared of a public collection: where it comes from, on which terms, how it is scored.

A declaration holds facts, no code. `FETCHED` says what `fetch` does with each kind
of origin, `FIRST` what the canonical order of the candidates is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evenhand.errors import UsageError

Task = Literal["passages", "qa", "verdict", "responses"]
Use = Literal["evaluation", "training"]
First = Literal["bm25", "run", "given", "seeded"]

FIRST: dict[str, str] = {
    "bm25": "BM25 over all texts, top 100, as evenhand ranks them",
    "run": "the run that comes with the files, top 100",
    "given": "the order of the source, which holds no gold",
    "seeded": "none: the source puts gold first or has no order, so candidates stand in seeded slots",
}


@dataclass(frozen=True, slots=True)
class Counts:
    """Published or counted sizes of a complete copy; None where none is known.

    Attributes:
        queries: slates. candidates: of all slates together. texts: of the whole corpus.
        where: whose figures they are.
    """

    queries: int | None
    candidates: int | None = None
    texts: int | None = None
    where: str = "the protocol"


@dataclass(frozen=True, slots=True)
class Defaults:
    """How a collection is scored unless told otherwise: rubric, B, characters a candidate is cut to."""

    rubric: str = "relevance"
    width: int = 20
    cap: int | None = None


@dataclass(frozen=True, slots=True)
class Take:
    """Which of the converted records are kept.

    Attributes:
        count: how many. how: "first" in the order of the source, or "seeded" by a
            hash of their ids, so that fewer are a part of more.
    """

    count: int
    how: Literal["first", "seeded"] = "first"


@dataclass(frozen=True, slots=True)
class Hub:
    """Files of a dataset repository of the Hugging Face hub.

    Attributes:
        repo: owner and name. files: by role, a pattern of the repository's paths.
        convert: key of `CONVERTERS`, what becomes of a row.
        megabytes: to download, about; None = not known.
        revision: the commit, 40 digits; None where none could be found, and then
            `unpinned` says why.
        take: which records are kept; None = all.
        against: name of another collection whose prompts are left out.
    """

    repo: str
    files: Mapping[str, str]
    convert: str
    megabytes: float | None
    revision: str | None = None
    unpinned: str = ""
    take: Take | None = None
    against: str | None = None

    def __post_init__(self) -> None:
        if (self.revision is None) == (not self.unpinned):
            raise UsageError(f"{self.repo}: give a revision, or the reason why there is none")

    def __str__(self) -> str:
        pin = f"revision {self.revision[:12]}" if self.revision else f"not pinned: {self.unpinned}"
        return f"Hugging Face {self.repo} ({pin})"


@dataclass(frozen=True, slots=True)
class Lists:
    """One file of ready lists with their texts, in the form `rank_llm`.

    Attributes:
        url: where it lies. md5, bytes: of the file, which pin it. run: name of the run.
    """

    url: str
    md5: str
    bytes: int
    run: str = "BM25"


@dataclass(frozen=True, slots=True)
class Irds:
    """A dataset of ir_datasets, whose downloads that library pins by MD5.

    Attributes:
        name: its id. megabytes: to download, about.
        texts: "all" of the corpus, or those of "candidates" and judgments alone.
        store: look texts up in the library's store instead of a pass over all.
        ranked: its scored documents are the first stage.
        lists: the first stage and its texts instead of the corpus.
        own: a query is a text of the corpus, so that text is no candidate of it.
        take: which judged queries are kept; None = all.
    """

    name: str
    megabytes: float
    texts: Literal["all", "candidates"] = "all"
    store: bool = False
    ranked: bool = False
    lists: Lists | None = None
    own: bool = False
    take: Take | None = None

    def __str__(self) -> str:
        return f"ir_datasets {self.name} (pinned by MD5)"


@dataclass(frozen=True, slots=True)
class Placed:
    """Files that a person places in the folder.

    Attributes:
        where: whose data it is. how: how to get it and what to place, in one sentence.
        agreement: whether an agreement has to be signed first.
    """

    where: str
    how: str
    agreement: bool = False

    def __str__(self) -> str:
        return self.where


Origin = Hub | Irds | Placed


@dataclass(frozen=True, slots=True)
class Collection:
    """What is known of one collection.

    Attributes:
        title: what people call it. task: what is scored, and so which consumer reads it.
        origin: where the files come from. licence: their terms. cite: the paper.
        counts: sizes of a complete copy. defaults: how it is scored.
        first: a key of `FIRST`. options: of `read_folder`.
        without: gold verdicts whose slates are left out.
        use: evaluation, or training. note: what is easily done wrong.
    """

    title: str
    task: Task
    origin: Origin
    licence: str
    cite: str
    counts: Counts
    defaults: Defaults = field(default_factory=Defaults)
    first: First = "bm25"
    options: Mapping[str, Any] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    use: Use = "evaluation"
    note: str = ""

    @property
    def source(self) -> str:
        """Where the files come from, in words."""
        return str(self.origin)

    @property
    def slates(self) -> int | None:
        """Slates of a complete copy, or None."""
        return self.counts.queries

    @property
    def rubric(self) -> str:
        """Name of the rubric."""
        return self.defaults.rubric

    @property
    def width(self) -> int:
        """Window width B."""
        return self.defaults.width

    @property
    def cap(self) -> int | None:
        """Characters a candidate's text is cut to, or None."""
        return self.defaults.cap

    @property
    def need(self) -> str:
        """What has to be there before it can be had: an extra, an agreement, files by hand."""
        if isinstance(self.origin, Placed):
            return "agreement" if self.origin.agreement else "files by hand"
        return "extra data" if isinstance(self.origin, Hub) else "extras data, data-ir"
