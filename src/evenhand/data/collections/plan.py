"""What there is, what is here, what is missing and where it would come from; nothing is fetched."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.data.collections.declare import Collection, Hub, Irds, Placed
from evenhand.data.collections.making import MANIFEST, STAGING
from evenhand.data.collections.registry import COLLECTIONS, ROOT, advice, collection, data_root
from evenhand.errors import MissingExtraError

_EXTRAS = {"datasets": "data", "bm25s": "data", "ir_datasets": "data-ir"}
# Collections that stand in many parts: one line a family is enough to read.
FAMILIES = ("bright", "miracl")


@dataclass(frozen=True, slots=True)
class Planned:
    """What a fetch of one collection would take.

    Attributes:
        name, title, source, licence, need: as declared.
        megabytes: to download, about; None = not known, or nothing to download.
        state: "fetched", "placed", "begun" or "missing".
        lacks: what has to be there first, in words; empty when it can be fetched.
        get: what to do to have it, in words; "" when it is here.
    """

    name: str
    title: str
    source: str
    licence: str
    need: str
    megabytes: float | None
    state: str
    lacks: tuple[str, ...]
    get: str


def plan(names: Iterable[str] | None = None, root: str | Path | None = None) -> list[Planned]:
    """Return what is here of each collection and what a fetch of it would take.

    Args:
        names: keys of `COLLECTIONS`; None = all.
        root: folder of collection folders; None = the one EVENHAND_DATA names.

    Raises:
        UsageError: a name is unknown.
    """
    base = data_root(root)
    return [_planned(name, collection(name), base) for name in (names or COLLECTIONS)]


def _planned(name: str, declared: Collection, base: Path | None) -> Planned:
    origin = declared.origin
    state = _state(name, base)
    here = state in ("fetched", "placed")
    return Planned(
        name=name,
        title=declared.title,
        source=declared.source,
        licence=declared.licence,
        need=declared.need,
        megabytes=None if isinstance(origin, Placed) else origin.megabytes,
        state=state,
        lacks=() if here else tuple(_lacks(declared, base)),
        get="" if here else advice(name),
    )


def _state(name: str, base: Path | None) -> str:
    if base is None:
        return "missing"
    folder = base / name
    if (folder / MANIFEST).exists():
        return "fetched"
    if folder.is_dir() and {entry.name for entry in folder.iterdir()} - {"runs"}:
        return "placed"
    begun = any((base / STAGING).glob(f"{name}-" + "[0-9a-f]" * 12))
    return "begun" if begun else "missing"


def modules_of(declared: Collection) -> list[str]:
    """Return the optional modules that a fetch of a collection imports."""
    if isinstance(declared.origin, Placed):
        return []
    first = ["datasets"] if isinstance(declared.origin, Hub) else ["ir_datasets"]
    return first + (["bm25s"] if declared.first == "bm25" else [])


def require_modules(declared: Collection) -> None:
    """Refuse a fetch that would fail for lack of a module, before anything is downloaded.

    Raises:
        MissingExtraError: names the module and its extra.
    """
    for module in modules_of(declared):
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(module, _EXTRAS[module])


def _lacks(declared: Collection, base: Path | None) -> list[str]:
    lacks = []
    if base is None:
        lacks.append(f"a folder (--root or {ROOT})")
    lacks += [
        f"the module {module} (extra {_EXTRAS[module]})"
        for module in modules_of(declared)
        if importlib.util.find_spec(module) is None
    ]
    origin = declared.origin
    if isinstance(origin, Placed):
        lacks.append("a signed agreement and its files" if origin.agreement else "its files")
    if isinstance(origin, Hub) and origin.against is not None:
        other = origin.against
        if base is None or not (base / other / MANIFEST).exists():
            lacks.append(f"{other}, whose prompts are left out")
    return lacks


def listing() -> list[dict[str, Any]]:
    """Return one row a collection: name, task, use, width, slates, first stage, licence, need."""
    return [
        {
            "name": name,
            "title": one.title,
            "task": one.task,
            "use": one.use,
            "width": one.width,
            "cap": one.cap,
            "slates": one.slates,
            "candidates": one.counts.candidates,
            "first": one.first,
            "licence": one.licence,
            "cite": one.cite,
            "need": one.need,
            "source": one.source,
            "pinned": not (isinstance(one.origin, Hub) and one.origin.revision is None),
        }
        for name, one in COLLECTIONS.items()
    ]


def family(name: str) -> str | None:
    """Return the family a collection is a part of, or None."""
    return next((one for one in FAMILIES if name.startswith(f"{one}_")), None)


def markdown() -> str:
    """Return the registry as a Markdown table, a line a collection or family."""
    lines = [
        "| name | what | B | cut | slates | first stage | from | licence |",
        "|---|---|---|---|---|---|---|---|",
    ]
    told: set[str] = set()
    for name, one in COLLECTIONS.items():
        group = family(name)
        if group is None:
            lines.append(_line(f"`{name}`", one, one.title, _number(one.slates), _from(one)))
        elif group not in told:
            told.add(group)
            members = [key for key in COLLECTIONS if family(key) == group]
            parts = ", ".join(key.removeprefix(f"{group}_") for key in members)
            total = sum(COLLECTIONS[key].slates or 0 for key in members)
            title = f"{one.title.partition(',')[0]}, one each: {parts}"
            lines.append(_line(f"`{group}_*`", one, title, f"{total:,} in all", _from(one, group)))
    return "\n".join(lines) + "\n"


def _line(name: str, one: Collection, title: str, slates: str, source: str) -> str:
    cut = "" if one.cap is None else str(one.cap)
    if one.use == "training":
        title += " (training)"
    cells = (name, title, str(one.width), cut, slates, one.first, source, one.licence)
    return "| " + " | ".join(cells) + " |"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _from(one: Collection, group: str | None = None) -> str:
    origin = one.origin
    if isinstance(origin, Irds):
        dataset = "miracl/*/dev" if group == "miracl" else origin.name
        lists = "; lists of RankLLM" if origin.lists is not None else ""
        return f"ir_datasets `{dataset}`{lists}"
    if isinstance(origin, Hub):
        pin = f"@{origin.revision[:8]}" if origin.revision else ", not pinned"
        return f"hub `{origin.repo}`{pin}"
    return "by hand, after an agreement" if origin.agreement else "by hand"
