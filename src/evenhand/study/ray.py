"""Scoring spread over processes and machines: blocks of slates flow through Ray Data.

Each worker is an actor that opens the scorer once. A part of a run is one block; what
comes back is written by the process that began the run, in its folder, part by part.
A worker that dies is started again and its parts are given out again.
"""

from __future__ import annotations

import importlib
import logging
import math
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from evenhand.errors import (
    EvenhandError,
    MissingExtraError,
    ScorerError,
    UsageError,
    require_count,
)
from evenhand.records.filling import Parts, Work
from evenhand.records.tables import Entry
from evenhand.score.facts import scorer_facts
from evenhand.study.elsewhere import Elsewhere, described
from evenhand.types import Scorer

# A part that is begun so often takes its worker down each time.
MOST_STARTS = 5
# Nothing is sent anywhere; a cluster of this process alone listens on the loopback.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}
_ANSWER = pa.schema([("part", pa.int64()), ("entries", pa.binary()), ("error", pa.binary())])


@dataclass(frozen=True, slots=True)
class RayOptions:
    """How many workers, and where.

    Attributes:
        workers: N; None = as many as the GPUs allow, without GPUs one a machine.
        address: of a running cluster, as `ray.init` takes it; None = one is started on
            this machine for this run and ended with it.
        gpus: that each worker holds, a fraction lets several share one; None = 1 where
            the cluster has GPUs, else 0.

    Raises:
        UsageError: a number is out of range.
    """

    workers: int | None = None
    address: str | None = None
    gpus: float | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            require_count("workers", self.workers)
        if self.gpus is not None and not (math.isfinite(self.gpus) and self.gpus >= 0):
            raise UsageError(f"gpus must be a finite number of at least 0, got {self.gpus!r}")


class RayWorkers:
    """An engine whose workers are Ray actors; `workers_on_ray` makes one.

    Attributes:
        scorer: what the workers' scorer says of itself; it is opened by them alone.
        workers: N.
    """

    def __init__(self, opener: Callable[[], Scorer], workers: int, gpus: float) -> None:
        ray = _ray()
        self._opener, self._gpus, self.workers = opener, gpus, workers
        # One call a process: it ends after that, and what it loaded is free for the workers.
        ask = ray.remote(num_cpus=1, num_gpus=gpus, max_calls=1)(_describe)
        with _failures(ray):
            self.scorer: Scorer = Elsewhere(_taken(ray.get(ask.remote(opener))))

    def __call__(
        self, scorer: Scorer, work: Work, parts: Parts
    ) -> Iterator[tuple[int, Sequence[Entry]]]:
        """Yield (number, entries) of every part as soon as a worker has scored it.

        Raises:
            ScorerError: a worker's scorer is another one than `scorer` or failed, a part
                took its worker down time after time, or the cluster failed.
            EvenhandError: as the scorer raised it.
        """
        ray = _ray()
        with _failures(ray):
            # Put one at a time, so that this process holds a single part in memory.
            blocks = [ray.put(_block(index, slates)) for index, slates in parts]
            starts = ray.remote(num_cpus=0)(_Starts).remote()
            given = (self._opener, work, scorer_facts(scorer), starts)
            answers = ray.data.from_arrow_refs(blocks).map_batches(
                _Worker, fn_constructor_args=given, batch_size=1, batch_format="pyarrow",
                compute=ray.data.ActorPoolStrategy(size=self.workers),
                num_cpus=1, num_gpus=self._gpus,
            )  # fmt: skip
            for answer in answers.iter_rows():
                yield answer["part"], _taken(answer)


class _Starts:
    """Counts how often each part was begun."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def begun(self, part: int) -> int:
        self._counts[part] = self._counts.get(part, 0) + 1
        return self._counts[part]


class _Worker:
    """Scores parts in a process of its own, with a scorer that it opens for the first one."""

    def __init__(
        self, opener: Callable[[], Scorer], work: Work, facts: Mapping[str, Any], starts: Any
    ) -> None:
        self._opener, self._work, self._facts, self._starts = opener, work, facts, starts
        self._scorer: Scorer | None = None

    def __call__(self, block: pa.Table) -> pa.Table:
        answers = [{"part": row["part"], **_kept(self._score, row)} for row in block.to_pylist()]
        return pa.Table.from_pylist(answers, schema=_ANSWER)

    def _score(self, row: Mapping[str, Any]) -> Sequence[Entry]:
        slates, starts = pickle.loads(row["slates"]), self._starts
        if _ray().get(starts.begun.remote(row["part"])) > MOST_STARTS:
            raise ScorerError(
                f"slates {slates[0].id!r} to {slates[-1].id!r} took their worker down {MOST_STARTS} "
                "times; is there too little memory? What was scored before is kept; run again to go on"
            )
        if self._scorer is None:
            self._scorer = self._opener()
            _require_same(self._scorer, self._facts)
        return self._work(self._scorer, row["part"], slates)


def _require_same(scorer: Scorer, facts: Mapping[str, Any]) -> None:
    own = scorer_facts(scorer)
    other = [name for name in sorted(own.keys() | facts.keys()) if own.get(name) != facts.get(name)]
    if other:
        told = ", ".join(f"{name} {own.get(name)!r}, not {facts.get(name)!r}" for name in other)
        raise ScorerError(
            f"a worker opened another scorer than the run was begun with: {told}. All machines need "
            "the same weights, versions and kind of device; name device and dtype"
        )


def _describe(opener: Callable[[], Scorer]) -> dict[str, Any]:
    return _kept(lambda: described(opener()))


def _kept(f: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Return what a function gave, or the error it raised on purpose, as a row of bytes."""
    try:
        return {"entries": pickle.dumps(f(*arguments)), "error": None}
    except EvenhandError as error:
        return {"entries": None, "error": pickle.dumps(error)}


def _taken(row: Mapping[str, Any]) -> Any:
    if row["error"] is not None:
        raise pickle.loads(row["error"])
    return pickle.loads(row["entries"])


def _block(index: int, slates: list[Any]) -> pa.Table:
    values = [pa.array([index], pa.int64()), pa.array([pickle.dumps(slates)], pa.large_binary())]
    return pa.table(dict(zip(("part", "slates"), values, strict=True)))


@contextmanager
def workers_on_ray(
    opener: Callable[[], Scorer], options: RayOptions | None = None
) -> Iterator[RayWorkers]:
    """Give an engine whose workers open a scorer each; a cluster started for it ends with it.

    Args:
        opener: opens the scorer; it is pickled and called in every worker.
        options: how many workers, and where.

    Raises:
        MissingExtraError: ray is not installed.
        UsageError: the cluster cannot hold so many workers.
        ScorerError: the cluster cannot be reached, or the scorer cannot be opened there.
    """
    asked = options or RayOptions()
    with _environment(asked):
        ray = _ray()
        ours = not ray.is_initialized()
        if ours:
            _start(ray, asked)
    try:
        yield RayWorkers(opener, *_fitting(ray, asked))
    finally:
        if ours:
            ray.shutdown()


def _ray() -> Any:
    try:
        importlib.import_module("ray.data")
        return importlib.import_module("ray")
    except ImportError:
        raise MissingExtraError("ray", "ray") from None


@contextmanager
def _environment(asked: RayOptions) -> Iterator[None]:
    """Set what Ray's processes inherit, and put this process's own environment back."""
    # The machine's cores are shared out, as one process would have used all of them.
    threads = str(max(1, (os.cpu_count() or 1) // (asked.workers or 1)))
    given = {"RAY_USAGE_STATS_ENABLED": "0"} if asked.address else _QUIET
    wanted = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", threads), **given}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _start(ray: Any, asked: RayOptions) -> None:
    own = {"include_dashboard": False, "num_cpus": max(os.cpu_count() or 1, asked.workers or 1)}
    where = own if asked.address is None else {"address": asked.address}
    try:
        ray.init(**where, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        place = "on this machine" if asked.address is None else f"at {asked.address!r}"
        raise ScorerError(f"Ray cannot be used {place}: {error}") from error
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)


def _fitting(ray: Any, asked: RayOptions) -> tuple[int, float]:
    """Return how many workers there are, and the GPUs of each."""
    has = ray.cluster_resources()
    gpus = asked.gpus if asked.gpus is not None else float(has.get("GPU", 0) >= 1)
    most = int(has.get("CPU", 0)) if not gpus else min(int(has["CPU"]), int(has.get("GPU", 0) / gpus))
    machines = sum(1 for node in ray.nodes() if node["Alive"])
    workers = asked.workers or (max(1, most) if gpus else machines)
    if workers > most:
        raise UsageError(
            f"{workers} workers with a CPU and {gpus:g} GPUs each do not fit a cluster of "
            f"{has.get('CPU', 0):g} CPUs and {has.get('GPU', 0):g} GPUs; it holds at most {most}"
        )
    return workers, gpus


@contextmanager
def _failures(ray: Any) -> Iterator[None]:
    """Turn a failure of Ray itself into one of the scorer's backend."""
    try:
        yield
    except ray.exceptions.RayError as error:
        raise ScorerError(
            f"the workers failed: {type(error).__name__}: {str(error).strip().splitlines()[-1]}. "
            "What was scored before is kept; run again to go on"
        ) from error
