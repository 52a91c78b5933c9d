"""What is compared: runs of one or several systems, over the same slates, in the same setting."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.errors import UsageError
from evenhand.measure.checks import came, listed, of_kind
from evenhand.records import RunFolder
from evenhand.seeds import content_hash
from evenhand.study.counted import counted
from evenhand.study.rows.remedied import too_few_ensembles
from evenhand.types import slate_to_dict

Source = str | os.PathLike[str] | RunFolder

# What runs may differ in: the systems themselves, and the words they are shown with.
FREE = ("scorer", "surface", "surface_texts", "variant_texts", "repeat")
# Agreement is over M rows, and some measures grow with it.
NEVER = ("rows",)


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run, opened to be compared.

    Attributes:
        path: of its folder. folder: its records.
        parts: by slate id, in order, a hash of each part of the slate.
    """

    path: str
    folder: RunFolder
    parts: Mapping[str, Mapping[str, str]]

    @property
    def scorer(self) -> str:
        """Name of its scorer."""
        return str(self.folder.settings.get("scorer", {}).get("name", "scorer"))


@dataclass(frozen=True, slots=True)
class Contender:
    """A system: for each collection its runs, one per training seed.

    Attributes:
        name: what the comparison calls it.
        runs: by collection, then by seed; the collections are those of the baseline.
    """

    name: str
    runs: tuple[tuple[Run, ...], ...]


def open_run(source: Source) -> Run:
    """Open a run folder and hash its slates.

    Raises:
        UsageError: it is neither a path nor a RunFolder.
        ResumeError: the folder holds no run.
    """
    if not isinstance(source, (str, os.PathLike, RunFolder)):
        raise UsageError(f"a run is a folder's path or a RunFolder, got {came(source)}")
    folder = source if isinstance(source, RunFolder) else RunFolder.open(source)
    parts = {
        slate.id: {key: content_hash(value) for key, value in slate_to_dict(slate).items()}
        for slate in folder.slates()
    }
    return Run(str(folder.path), folder, parts)


def contenders(
    groups: Mapping[str, Sequence[Source]], vary: Collection[str] = ()
) -> tuple[Contender, ...]:
    """Open the runs of all systems and pair their collections; refuse what cannot be compared.

    Runs of one system over the same slates are its training seeds on that
    collection; runs over other slates are other collections.

    Args:
        groups: by name of the system, its runs; the first is the baseline.
        vary: settings that are the thing compared, and so may differ.

    Raises:
        UsageError: fewer than two systems, a run given twice, or runs that differ
            in slates or settings; each difference is named.
        ResumeError: a folder holds no run.
    """
    if not isinstance(groups, Mapping):
        raise UsageError(
            f"systems are given as a mapping of a name to its run folders, got {came(groups)}"
        )
    if len(groups) < 2:
        raise UsageError(f"a comparison needs at least two systems, got {len(groups)}")
    vary = listed("vary", vary, "settings")
    of_kind("vary", vary, str)
    found = [Contender(name, _by_collection(name, sources)) for name, sources in groups.items()]
    baseline = found[0]
    paired = [baseline, *(_like(baseline, other) for other in found[1:])]
    faults = [fault for each in paired for fault in _setting_faults(baseline, each, vary)]
    runs = [run for each in paired for group in each.runs for run in group]
    faults += [fault for run in runs if (fault := too_few_ensembles(run.folder.settings))]
    if faults:
        raise UsageError(_refusal(list(dict.fromkeys(faults))))
    return tuple(paired)


def _by_collection(name: str, sources: Sequence[Source]) -> tuple[tuple[Run, ...], ...]:
    if not isinstance(name, str) or not name:
        raise UsageError(f"a system is called by a text, got {came(name)}")
    runs = [open_run(source) for source in listed(f"the runs of {name!r}", sources, "run folders")]
    if not runs:
        raise UsageError(f"system {name!r} has no runs")
    places = [os.path.realpath(run.path) for run in runs]
    twice = [run.path for run, place in zip(runs, places, strict=True) if places.count(place) > 1]
    if twice:
        raise UsageError(f"run {twice[0]} is given twice for {name!r}; each run counts once")
    clusters: list[list[Run]] = []
    for run in runs:
        home = next((cluster for cluster in clusters if cluster[0].parts == run.parts), None)
        if home is None:
            clusters.append([run])
        else:
            home.append(run)
    return tuple(tuple(cluster) for cluster in clusters)


def _like(baseline: Contender, other: Contender) -> Contender:
    """Return the other system with its collections in the order of the baseline's."""
    left = list(other.runs)
    matched = []
    for runs in baseline.runs:
        same = next((each for each in left if each[0].parts == runs[0].parts), None)
        if same is not None:
            left.remove(same)
            matched.append(same)
    if len(matched) == len(baseline.runs) and not left:
        return Contender(other.name, tuple(matched))
    raise UsageError(_refusal(_slate_faults(baseline, other)))


def _slate_faults(baseline: Contender, other: Contender) -> list[str]:
    if len(baseline.runs) != len(other.runs):
        return [
            f"{baseline.name!r} has runs over {len(baseline.runs)} collections of slates, "
            f"{other.name!r} over {len(other.runs)}"
        ]
    known = [runs[0].parts for runs in baseline.runs]
    theirs = [runs[0].parts for runs in other.runs]
    faults: list[str] = []
    for ours, runs in zip(baseline.runs, other.runs, strict=True):
        # A pair in which each slate set has its counterpart elsewhere is only out of order.
        if runs[0].parts not in known or ours[0].parts not in theirs:
            faults += slate_differences(ours[0], runs[0])
    return faults


def slate_differences(one: Run, other: Run) -> list[str]:
    """Return a line for each way in which the slates of two runs differ; [] when they are the same.

    The order of the slates does not matter, that of their candidates does.
    """
    lines = []
    for here, there in ((one, other), (other, one)):
        if extra := [key for key in here.parts if key not in there.parts]:
            lines.append(
                f"{counted(len(extra), 'slate')} only in {here.path}, the first is {extra[0]!r}"
            )
    shared = [key for key in one.parts if key in other.parts]
    changed = [key for key in shared if one.parts[key] != other.parts[key]]
    if changed:
        was, now = one.parts[changed[0]], other.parts[changed[0]]
        differing = [part for part in sorted(was.keys() | now.keys()) if was.get(part) != now.get(part)]
        lines.append(
            f"{counted(len(changed), 'slate')} of the same id not alike in {one.path} and "
            f"{other.path}; {changed[0]!r} differs in {', '.join(differing)}"
        )
    return lines


def _setting_faults(baseline: Contender, other: Contender, vary: Collection[str]) -> list[str]:
    counts = {len(runs) for runs in other.runs}
    faults = []
    if len(counts) > 1:
        each = ", ".join(str(len(runs)) for runs in other.runs)
        faults.append(
            f"{other.name!r} has {each} runs (training seeds) on its collections; give as many"
        )
    for ours, runs in zip(baseline.runs, other.runs, strict=True):
        for run in runs:
            faults += _settings_of(ours[0], run, vary)
    return faults


def _settings_of(one: Run, other: Run, vary: Collection[str]) -> list[str]:
    known = {key for run in (one, other) for key in run.folder.settings} - set(FREE)
    unknown = sorted(set(vary) - known | set(vary) & set(NEVER))
    if unknown:
        raise UsageError(
            f"cannot vary {', '.join(unknown)}; settings that may be the thing compared are "
            f"{sorted(known - set(NEVER))}"
        )
    # The channels follow from the design.
    allowed = {*FREE, *vary, *(["channels"] if "design" in vary else [])}
    lines = []
    for key in sorted(known - allowed):
        was, now = one.folder.settings.get(key), other.folder.settings.get(key)
        if was != now:
            hint = "" if key in NEVER else f" (vary {key}, if that is what is compared)"
            lines.append(f"{key}: {was!r} in {one.path}, {now!r} in {other.path}{hint}")
    return lines


def _refusal(faults: Sequence[str]) -> str:
    return "these runs cannot be compared:" + "".join(f"\n  {fault}" for fault in faults)


def differing(found: Sequence[Contender]) -> tuple[str, ...]:
    """Return the settings beside the scorer in which the runs differ, each with its values."""
    runs = [run for contender in found for group in contender.runs for run in group]
    settings = [_flat(run.folder.settings) for run in runs]
    lines = []
    for key in sorted({key for each in settings for key in each}):
        values = list(dict.fromkeys(str(each.get(key, "not set")) for each in settings))
        if len(values) > 1:
            lines.append(f"{key}: {', '.join(values)}")
    # Other words say why the hash of their texts differs; alone, the hash is all there is.
    worded = any(line.startswith("surface.") for line in lines)
    hashes = ("surface_texts:", "variant_texts:")
    return tuple(line for line in lines if not (worded and line.startswith(hashes)))


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and key != "scorer":
            found.update({f"{key}.{inner}": item for inner, item in value.items()})
        elif key != "scorer":
            found[key] = value
    return found
