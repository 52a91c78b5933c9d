"""Slates from a collection folder: BEIR's layout, runs, candidate lists, questions, responses."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.data.assemble import Gold, assemble
from evenhand.data.jsonl import read_slates
from evenhand.data.lines import read_json_lines, read_lines
from evenhand.data.report import ReadReport, Slates
from evenhand.data.retrieve import bm25
from evenhand.data.shapes import Order, as_id, check_order, gold_of
from evenhand.data.texts import iter_corpus, read_candidates, read_corpus, read_pairs, read_queries
from evenhand.data.trec import Qrels, read_qrels, read_run
from evenhand.errors import InputError, UsageError

_OPTIONS = {"run", "form", "depth", "split", "qrels", "own"}
FORMS = ("bm25", "candidates", "judged", "qa", "responses", "run", "slates")
_TEXTS = (".jsonl", ".jsonl.gz", ".tsv", ".tsv.gz")
_OBJECTS = (".jsonl", ".jsonl.gz")
_RUNS = (".trec", ".trec.gz", ".run", ".run.gz", ".txt", ".txt.gz")
_QRELS = (".tsv", ".tsv.gz", ".txt", ".trec", ".qrels")
_FILE_FORMS = {"qa": "qa", "responses": "responses", "slates": "evenhand"}


def read_folder(
    path: str | Path,
    *,
    run: str | None = None,
    form: str | None = None,
    depth: int | None = 100,
    split: str | None = None,
    qrels: str | None = None,
    own: bool = False,
    order: Order | None = None,
) -> Slates:
    """Read the slates of a collection folder.

    The folder may hold `corpus` and `queries` (.jsonl or .tsv, .gz too),
    judgments in `qrels.tsv` or `qrels/<split>.tsv`, first stages in `runs/`,
    fixed lists in `candidates.jsonl`, answers and verdicts in `qa.jsonl`,
    `responses.jsonl`, slates in `slates.jsonl`, pairs to drop in `exclude.tsv`,
    and the part of each query in `splits.tsv`.

    Forms, that is, what the candidates are:
        "run": those of a TREC run. "candidates": the fixed lists. "bm25": the
        best by BM25 over the corpus (needs bm25s), for the judged queries.
        "judged": the judged ones. "qa", "responses", "slates": those of the
        file of that name.
    Without `form`: a named run; else slates, candidates or responses where the
    file is there; questions where there is no corpus; the only run; "judged"
    where every text of the corpus is judged for one query alone; else "bm25".

    Args:
        path: the folder.
        run: name of a run in `runs/`, or the path of a run file.
        form: one of `FORMS`, or None.
        depth: most candidates a slate (forms run, candidates, bm25); None = all.
        split: which judgments of `qrels/` (None = "test"), or which part of
            `splits.tsv` (None = all).
        qrels: name of another judgment file in the folder.
        own: form bm25 also gets, at the end, the candidates of
            `candidates.jsonl` that BM25 missed; they do not count as depth.
        order: canonical order, "file" or "seeded"; None is "file", but
            "seeded" for responses (their sources list gold first) and judged
            (which has no first stage).

    Returns:
        The slates; `.report` holds what was noticed.

    Raises:
        UsageError: unknown form, order, run or split (the known are listed).
        InputError: a needed file is missing or malformed.
    """
    folder = _Folder(Path(path), split, qrels)
    check_order(order)
    if form is not None and form not in FORMS:
        raise UsageError(f"unknown form {form!r}; known are {list(FORMS)}")
    if run is not None and form not in (None, "run"):
        raise UsageError(f"a run was named together with form {form!r}; give one of them")
    if own and form not in (None, "bm25"):
        raise UsageError(f"own=True goes with form 'bm25', got {form!r}")
    form = form or ("run" if run is not None else "bm25" if own else folder.form())
    if form in _FILE_FORMS:
        return read_slates(folder.need(form, _OBJECTS), format=_FILE_FORMS[form], order=order)
    return _assembled(folder, form, run, depth, own, order)


def load_slates(
    source: str | Path, *, format: str | None = None, order: Order | None = None, **options: object
) -> Slates:
    """Read a slate file (`read_slates`) or a collection folder (`read_folder`).

    Args:
        source: the path of either.
        format: record shape, for a file.
        order: canonical order, "file", "seeded" or None.
        **options: those of `read_folder`, for a folder; None counts as not given.

    Raises:
        UsageError: an option that does not go with the kind of source.
        InputError: there is no such file or folder, or it is malformed.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if os.path.isdir(source):
        if format is not None:
            raise UsageError(f"format={format!r} is for a file, and {source} is a folder; use form=")
        unknown = sorted(given.keys() - _OPTIONS)
        if unknown:
            raise UsageError(f"unknown options {unknown} of a folder; known are {sorted(_OPTIONS)}")
        return read_folder(source, order=order, **given)  # type: ignore[arg-type]
    if given:
        raise UsageError(f"{sorted(given)} are for a collection folder, and {source} is none")
    if not os.path.exists(source):
        raise InputError("no such file or folder", path=str(source))
    return read_slates(source, format=format, order=order)


@dataclass(frozen=True)
class _Folder:
    path: Path
    split: str | None
    qrels_name: str | None

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            raise InputError("no such folder", path=str(self.path))

    def find(self, stem: str, suffixes: Sequence[str]) -> Path | None:
        places = (self.path / f"{stem}{suffix}" for suffix in suffixes)
        return next((place for place in places if place.is_file()), None)

    def need(self, stem: str, suffixes: Sequence[str]) -> Path:
        found = self.find(stem, suffixes)
        if found is None:
            here = sorted(entry.name for entry in self.path.iterdir())
            raise InputError(f"holds no {stem}{suffixes[0]}; it holds {here}", path=str(self.path))
        return found

    def runs(self) -> dict[str, Path]:
        held = self.path / "runs"
        found = {}
        for file in sorted(held.iterdir()) if held.is_dir() else ():
            for suffix in _RUNS:
                if file.name.endswith(suffix):
                    found[file.name.removesuffix(suffix)] = file
        return found

    def run_file(self, name: str | None) -> Path:
        runs = self.runs()
        if name is None:
            if len(runs) == 1:
                return next(iter(runs.values()))
            raise UsageError(
                f"{self.path} holds {len(runs)} runs, name one: {sorted(runs)}; or form='bm25'"
            )
        if name in runs:
            return runs[name]
        if os.path.isfile(name):
            return Path(name)
        raise UsageError(f"unknown run {name!r}; {self.path} has {sorted(runs)}")

    def qrels_file(self) -> Path | None:
        if self.qrels_name is not None:
            return self.need(self.qrels_name, ("",))
        held = self.path / "qrels"
        if not held.is_dir():
            return self.find("qrels", _QRELS)
        splits = {file.stem: file for file in sorted(held.iterdir()) if file.suffix in _QRELS}
        split = self.split or "test"
        if split not in splits:
            raise UsageError(f"unknown split {split!r}; {held} has {sorted(splits)}")
        return splits[split]

    def part(self) -> set[str] | None:
        """The queries of the asked part of `splits.tsv`; None = all."""
        file = self.find("splits", (".tsv",))
        if self.split is None or (self.path / "qrels").is_dir():
            return None
        if file is None:
            raise UsageError(
                f"split {self.split!r} was asked, {self.path} has neither qrels/ nor splits.tsv"
            )
        parts: dict[str, set[str]] = {}
        for number, line in read_lines(file):
            query, tab, part = line.partition("\t")
            if not tab:
                raise InputError("a line must be: query id, tab, split", path=str(file), line=number)
            parts.setdefault(part, set()).add(query)
        if self.split not in parts:
            raise UsageError(f"unknown split {self.split!r}; {file} has {sorted(parts)}")
        return parts[self.split]

    def gold(self) -> dict[str, Gold]:
        file = self.find("qa", _OBJECTS)
        if file is None:
            return {}
        gold: dict[str, Gold] = {}
        for number, record in read_json_lines(file):
            try:
                key = as_id(record.get("id"), "id")
                if key in gold:
                    raise InputError(f"id {key!r} stands twice; ids must be unique")
                gold[key] = gold_of(record)
            except InputError as error:
                raise InputError(str(error), path=str(file), line=number) from None
        return gold

    def form(self) -> str:
        """Recognise what the candidates are; see `read_folder`."""
        for form in ("slates", "candidates", "responses"):
            if self.find(form, _OBJECTS):
                return form
        corpus = self.find("corpus", _TEXTS)
        if self.find("qa", _OBJECTS) and corpus is None:
            return "qa"
        if self.runs():
            return "run"
        qrels = self.qrels_file()
        if corpus is not None and qrels is not None and _is_pools(corpus, read_qrels(qrels)):
            return "judged"
        return "bm25"


def _is_pools(corpus: Path, qrels: Qrels) -> bool:
    """Whether every text of the corpus is judged for exactly one query."""
    judged = Counter(key for grades in qrels.values() for key in grades)
    if any(count > 1 for count in judged.values()):
        return False
    return all(candidate.id in judged for candidate in iter_corpus(corpus))


def _assembled(
    folder: _Folder, form: str, run: str | None, depth: int | None, own: bool, order: Order | None
) -> Slates:
    qrels_file = folder.qrels_file()
    grades = None if qrels_file is None else read_qrels(qrels_file)
    part = folder.part()
    exclude_file = folder.find("exclude", (".tsv",))
    exclude = {} if exclude_file is None else read_pairs(exclude_file)
    corpus, queries = folder.need("corpus", _TEXTS), folder.need("queries", _TEXTS)
    report = ReadReport() if grades is None else grades.report
    place = f"{folder.path.name} ({form})"
    lists: Mapping[str, Sequence[str]]
    if form == "run":
        ranked = read_run(folder.run_file(run))
        report = report.merge(ranked.report)
        lists = {query: [key for key, _ in pairs] for query, pairs in ranked.items()}
    elif form == "candidates":
        lists = read_candidates(folder.need("candidates", _OBJECTS))
    elif form == "judged":
        if grades is None:
            raise InputError("form 'judged' needs qrels.tsv or qrels/", path=str(folder.path))
        lists = {query: list(held) for query, held in grades.items()}
        depth = None
    else:
        lists = _first_stage(folder, grades, part, exclude, depth, own)
        depth = None
    if part is not None:
        lists = {query: ids for query, ids in lists.items() if query in part}
        grades = grades and Qrels({query: held for query, held in grades.items() if query in part})
    order = order or ("seeded" if form == "judged" else "file")
    return assemble(
        lists, grades, corpus, queries,
        depth=depth, exclude=exclude, gold=folder.gold(), order=order, report=report, place=place,
    )  # fmt: skip


def _first_stage(
    folder: _Folder,
    grades: Qrels | None,
    part: set[str] | None,
    exclude: Mapping[str, set[str]],
    depth: int | None,
    own: bool,
) -> dict[str, list[str]]:
    """Candidate ids by BM25 for the judged queries, or for all where nothing is judged."""
    corpus = read_corpus(folder.need("corpus", _TEXTS))
    queries = {
        query: text
        for query, text in read_queries(folder.need("queries", _TEXTS)).items()
        if (grades is None or query in grades) and (part is None or query in part)
    }
    if depth is None:
        depth = max(1, len(corpus))
    lists = {
        query: [key for key, _ in pairs]
        for query, pairs in bm25(queries, corpus, depth, exclude).items()
    }
    if own:
        fixed = read_candidates(folder.need("candidates", _OBJECTS))
        for query, ids in lists.items():
            held = set(ids)
            ids.extend(key for key in fixed.get(query, ()) if key not in held)
    return lists
