"""The public collections of the protocol, one declaration each.

A declaration says how the files of a folder become slates, with which rubric and
width they are scored, and where the files come from. The folder layout is that of
`read_folder`; the root that holds the folders is named in EVENHAND_DATA.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from evenhand.data.folder import read_folder
from evenhand.data.report import ReadReport, Slates
from evenhand.errors import InputError, UsageError
from evenhand.types import Slate

ROOT = "EVENHAND_DATA"


@dataclass(frozen=True, slots=True)
class Collection:
    """What is known of one collection.

    Attributes:
        title: what people call it. task: what is scored, and so which consumer reads it.
        source: where the files come from. licence: their terms.
        slates: slates of a complete copy, None where that depends on options.
        options: of `read_folder`. rubric, width: how it is scored (B).
        without: gold verdicts whose slates are left out.
    """

    title: str
    task: Literal["passages", "qa", "verdict", "responses"]
    source: str
    licence: str
    slates: int | None
    options: Mapping[str, Any] = field(default_factory=dict)
    rubric: str = "relevance"
    width: int = 20
    without: frozenset[str] = frozenset()


COLLECTIONS: dict[str, Collection] = {
    "trec_dl19": Collection(
        title="TREC Deep Learning 2019, passages",
        task="passages",
        source="ir_datasets msmarco-passage/trec-dl-2019/judged",
        licence="non-commercial research",
        slates=43,
        options={"run": "BM25"},
    ),
    "trec_dl20": Collection(
        title="TREC Deep Learning 2020, passages",
        task="passages",
        source="ir_datasets msmarco-passage/trec-dl-2020/judged",
        licence="non-commercial research",
        slates=54,
        options={"run": "BM25"},
    ),
    "noveleval": Collection(
        title="NovelEval-2306",
        task="passages",
        source="the NovelEval data of the RankGPT authors",
        licence="Apache-2.0",
        slates=21,
    ),
    "cran": Collection(
        title="Cranfield",
        task="passages",
        source="ir_datasets cranfield",
        licence="public test collection",
        slates=225,
        options={"form": "bm25"},
    ),
    "hotpotqa_dev500": Collection(
        title="HotpotQA, 500 development questions (distractor)",
        task="qa",
        source="Hugging Face hotpotqa/hotpot_qa, distractor, validation",
        licence="CC BY-SA 4.0",
        slates=500,
        rubric="answer_support",
        width=10,
    ),
    "musique_train100": Collection(
        title="MuSiQue, 100 questions",
        task="qa",
        source="MuSiQue answerable, training part",
        licence="CC BY 4.0",
        slates=100,
        rubric="answer_support",
        width=10,
    ),
    "climate_fever": Collection(
        title="Climate-FEVER, claims with a verdict",
        task="verdict",
        source="Hugging Face tdiggelm/climate_fever",
        licence="research",
        slates=1381,
        options={"form": "bm25", "own": True},
        without=frozenset({"DISPUTED"}),
    ),
    "rm_bench": Collection(
        title="RM-Bench, six responses a prompt",
        task="responses",
        source="Hugging Face THU-KEG/RM-Bench",
        licence="research",
        slates=798,
        rubric="response_quality",
        width=4,
    ),
    "llmbar": Collection(
        title="LLMBar, pairs of responses",
        task="responses",
        source="the LLMBar data of its authors",
        licence="MIT",
        slates=885,
        rubric="response_quality",
        width=2,
    ),
}


def collection(name: str) -> Collection:
    """Return the declaration of a collection.

    Raises:
        UsageError: the name is unknown; the known ones are listed.
    """
    if name not in COLLECTIONS:
        raise UsageError(f"unknown collection {name!r}; known are {sorted(COLLECTIONS)}")
    return COLLECTIONS[name]


def collection_folder(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds a collection's files.

    Args:
        name: a key of `COLLECTIONS`.
        root: folder of collection folders; None = the one EVENHAND_DATA names.

    Raises:
        InputError: no root is named, or it has no such folder; says where the
            files come from and how to place them.
    """
    declared = collection(name)
    base = root or os.environ.get(ROOT)
    if base is None:
        raise InputError(
            f"collection {name!r} needs its files ({declared.source}; {declared.licence}): name the "
            f"folder that holds {name}/ as root or in the variable {ROOT}"
        )
    folder = Path(base) / name
    if not folder.is_dir():
        raise InputError(
            f"no folder of collection {name!r}; get the files from {declared.source} "
            f"({declared.licence}) and place them there",
            path=str(folder),
        )
    return folder


def open_collection(
    name: str, root: str | os.PathLike[str] | None = None, *, limit: int | None = None, **options: Any
) -> Slates:
    """Return the slates of a collection, read as a stream.

    Args:
        name: a key of `COLLECTIONS`. root: see `collection_folder`.
        limit: most slates; None = all.
        options: of `read_folder`, instead of the declared ones; None = as declared.

    Raises:
        UsageError: the name or an option is unknown, or the limit under 1.
        InputError: the files are missing or malformed.
    """
    declared = collection(name)
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1, got {limit}")
    given = {key: value for key, value in options.items() if value is not None}
    slates = read_folder(collection_folder(name, root), **{**declared.options, **given})

    def kept(report: ReadReport) -> Iterator[Slate]:
        wanted = (slate for slate in slates if slate.verdict not in declared.without)
        yield from itertools.islice(wanted, limit)

    return Slates(kept, slates.report)
