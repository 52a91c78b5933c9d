"""Records of a collection from the files of a hub repository."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from evenhand.data.collections.convert import converter, normal_form
from evenhand.data.collections.declare import Hub, Take
from evenhand.data.collections.files import write_objects, writing
from evenhand.data.collections.first_stage import make_run
from evenhand.data.collections.making import MANIFEST, Making
from evenhand.data.collections.upstream import HubFile, list_hub, rows
from evenhand.data.lines import read_json_lines
from evenhand.errors import InputError
from evenhand.seeds import content_hash, tie_ranks

Record = dict[str, Any]
_TOLD = 100_000


def make_from_hub(made: Making) -> None:
    """Make the files of a collection whose origin is a `Hub`."""
    origin = made.declared.origin
    assert isinstance(origin, Hub)
    against = None if origin.against is None else prompts_of(made, origin.against)
    listed = list_hub(made.name, origin, made.mirror)
    made.source.update(
        repo=origin.repo,
        commit=listed.commit,
        files={file.path: file.bytes for held in listed.files.values() for file in held},
    )
    # Parts of other files, or of another commit, must never be joined with these.
    key = content_hash([listed.commit, made.source["files"]])[:12]
    parts = made.folder.parent / f"parts-{key}"
    most = None if origin.take is None or origin.take.how == "seeded" else origin.take.count
    for role, files in listed.files.items():
        found = [
            path for path in _parts(made, parts, origin.convert, role, files, most) if path is not None
        ]
        records = _kept(made, _records(found), origin.take, against)
        if role in ("qa", "responses"):
            write_objects(made.folder / f"{role}.jsonl.gz", records)
        elif role == "corpus":
            write_objects(made.folder / "corpus.jsonl.gz", _once(records, made.left_out))
        else:
            _write_queries(made, list(_once(records, made.left_out)))
    if "corpus" in listed.files:
        make_run(made)


def _parts(
    made: Making, parts: Path, convert: str, role: str, files: list[HubFile], most: int | None
) -> Iterator[Path | None]:
    """Make one file of records an upstream file, unless it is there; stop where enough are kept."""
    have = 0
    for number, file in enumerate(files):
        if most is not None and have >= most:
            return
        path = parts / f"{role}-{number:04d}.jsonl.gz"
        told = path.with_suffix(".json")
        if not told.exists():
            made.say(f"{made.name}: {file.path}")
            _make_part(made, path, convert, role, file, None if most is None else most - have)
        state = json.loads(told.read_text("utf-8"))
        made.left_out.update(state["left_out"])
        have += state["records"]
        yield path


def _make_part(
    made: Making, path: Path, convert: str, role: str, file: HubFile, most: int | None
) -> None:
    left_out: Counter[str] = Counter()
    as_record = converter(convert, role)
    stem = Path(file.path).name.partition(".")[0]

    def records() -> Iterator[Record]:
        for number, row in enumerate(rows(file)):
            if number and number % _TOLD == 0:
                made.say(f"{made.name}: {number:,} rows read")
            try:
                record = as_record(row, f"{stem}-{number}")
            except (InputError, KeyError, TypeError, ValueError) as error:
                raise InputError(
                    f"row {number} has not the form of its source ({type(error).__name__}: {error})",
                    path=file.path,
                ) from error
            if isinstance(record, str):
                left_out[record] += 1
            else:
                yield record

    count = write_objects(path, itertools.islice(records(), most))
    with writing(path.with_suffix(".json")) as handle:
        handle.write(json.dumps({"records": count, "left_out": dict(left_out)}))


def _records(paths: Iterable[Path]) -> Iterator[Record]:
    for path in paths:
        yield from (dict(record) for _, record in read_json_lines(path))


def _kept(
    made: Making, records: Iterator[Record], take: Take | None, against: set[str] | None
) -> Iterator[Record]:
    """Yield the records that are taken, in the order of the source."""
    if against is not None:
        records = _apart(records, against, made.left_out)
    if take is None:
        return records
    if take.how == "first":
        return itertools.islice(records, take.count)
    held = list(records)
    return iter(seeded(made.name, {record["id"]: record for record in held}, take.count))


def seeded(name: str, held: dict[str, Any], count: int) -> list[Any]:
    """Return the values of so many keys, chosen by a hash, in the order they have.

    The keys of a smaller count are among those of a larger one.
    """
    keys = list(held)
    ranks = tie_ranks(name, keys, salt="sample")
    return [held[key] for key, rank in zip(keys, ranks, strict=True) if rank < count]


def _apart(records: Iterator[Record], against: set[str], left_out: Counter[str]) -> Iterator[Record]:
    """Leave out prompts of another collection, and all but the first of equal ones."""
    seen: set[str] = set()
    for record in records:
        form = normal_form(record["prompt"])
        if form in against:
            left_out["a prompt of the training data"] += 1
        elif form in seen:
            left_out["a prompt that came before"] += 1
        else:
            seen.add(form)
            yield record


def _once(records: Iterator[Record], left_out: Counter[str]) -> Iterator[Record]:
    """Leave out what comes again under an id; other texts under one id are counted apart."""
    seen: dict[str, str] = {}
    for record in records:
        digest = content_hash(record["text"])[:16]
        if record["_id"] not in seen:
            seen[record["_id"]] = digest
            yield record
        elif seen[record["_id"]] == digest:
            left_out["an id with its text again"] += 1
        else:
            left_out["an id again with another text, the first was kept"] += 1


def prompts_of(made: Making, other: str) -> set[str]:
    """Return the normal forms of a fetched collection's prompts, all of its source's that are kept.

    Raises:
        InputError: it is not there.
    """
    folder = made.root / other
    path = folder / "responses.jsonl.gz"
    if not (folder / MANIFEST).exists() or not path.exists():
        raise InputError(
            f"{made.name} is compared with the prompts of {other}: evenhand data fetch {other} first",
            path=str(folder),
        )
    return {normal_form(str(record["prompt"])) for _, record in read_json_lines(path)}


def _write_queries(made: Making, records: list[Record]) -> None:
    """Write questions, judgments and exclusions of records that carry all three."""
    write_objects(
        made.folder / "queries.jsonl", ({"_id": one["_id"], "text": one["text"]} for one in records)
    )
    with writing(made.folder / "qrels.tsv") as handle:
        handle.write("query-id\tcorpus-id\tscore\n")
        for one in records:
            for key in dict.fromkeys(one["relevant"]):
                handle.write(f"{one['_id']}\t{key}\t1\n")
    with writing(made.folder / "exclude.tsv") as handle:
        handle.write("query-id\tcorpus-id\n")
        for one in records:
            for key in dict.fromkeys(one["excluded"]):
                handle.write(f"{one['_id']}\t{key}\n")
