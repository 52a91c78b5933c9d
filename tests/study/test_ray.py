"""Runs on Ray: equal to one process, whole after a worker dies, refused where they cannot be.

The fast tests run on a fake of the few functions of Ray that are used; the slow ones
put the same questions to Ray itself, with two workers on this machine.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

import evenhand.study.ray as on_ray
from evenhand.errors import MissingExtraError, ScorerError, UsageError
from evenhand.present.design import design
from evenhand.score import open_scorer
from evenhand.study.ray import RayOptions, workers_on_ray
from evenhand.study.rows.run import run_study
from evenhand.train.silver import label
from evenhand.types import Candidate, Slate

HERE = Path(__file__).parent
FILES = ("scores.parquet", "rows.parquet", "slates.jsonl", "manifest.json")
DESIGN = design(rows=3, width=3)
SLATES = [
    Slate(f"s{i}", f"query {i}", tuple(Candidate(f"c{j}", f"text {j}") for j in range(4)), {"c0": 3})
    for i in range(9)
]


# Ray's own modules use what they warn of.
OLD = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class RayError(Exception):
    """As Ray's own failures."""


class FakeRay:
    """Ray in one process: what is sent is pickled, answers come last first, actors can die.

    Attributes:
        deaths: how many answers are lost with their actor before one comes through.
        gpus, cpus: of the cluster. log: what was asked of it.
    """

    def __init__(self, cpus=2.0, gpus=0.0, deaths=0):
        self.deaths, self.log, self.up = deaths, [], False
        self.has = {"CPU": cpus, **({"GPU": gpus} if gpus else {})}
        self.exceptions = SimpleNamespace(RayError=RayError)
        self.context = SimpleNamespace(enable_progress_bars=True)
        self.data = SimpleNamespace(
            from_arrow_refs=self.from_arrow_refs,
            ActorPoolStrategy=lambda size: size,
            DataContext=SimpleNamespace(get_current=lambda: self.context),
        )

    def init(self, **options):
        if options.get("address") == "nowhere":
            raise ConnectionError("no cluster there")
        self.up = True
        self.log.append(("init", options, os.environ.get("RAY_USAGE_STATS_ENABLED")))

    def is_initialized(self):
        return self.up

    def shutdown(self):
        self.up = False
        self.log.append(("shutdown",))

    def cluster_resources(self):
        return self.has

    def nodes(self):
        return [{"Alive": True}, {"Alive": False}]

    def remote(self, **options):
        self.log.append(("remote", options))

        def wrap(what):
            if not isinstance(what, type):
                return SimpleNamespace(remote=lambda *given: what(*pickle.loads(pickle.dumps(given))))
            return SimpleNamespace(remote=lambda: Actor(what()))

        return wrap

    def put(self, value):
        return value

    def get(self, value):
        return value

    def from_arrow_refs(self, blocks):
        return SimpleNamespace(map_batches=partial(self.map_batches, blocks))

    def map_batches(self, blocks, worker, **options):
        self.log.append(("map", {name: options[name] for name in ("compute", "num_gpus")}))
        *plain, starts = options["fn_constructor_args"]
        made = partial(worker, *pickle.loads(pickle.dumps(plain)), starts)

        def rows():
            actor = made()
            for block in reversed(blocks):
                answer = actor(block)
                for _ in range(self.deaths):
                    actor = made()
                    answer = actor(block)
                yield from answer.to_pylist()

        return SimpleNamespace(iter_rows=rows)


class Actor:
    """A handle: each method has a `remote`."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return SimpleNamespace(remote=getattr(self.inner, name))


@pytest.fixture
def fake(monkeypatch):
    """A function that puts a fake in Ray's place."""

    def put(**options):
        ray = FakeRay(**options)
        monkeypatch.setattr(on_ray, "_ray", lambda: ray)
        return ray

    return put


@pytest.fixture
def scorers(monkeypatch):
    """The scorers of `worker_scorers`, which workers find too."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.syspath_prepend(str(HERE))
    return __import__("worker_scorers")


@pytest.fixture(params=["fake", pytest.param("real", marks=[pytest.mark.slow, OLD])])
def ray(request):
    """Ray's fake, and Ray itself."""
    if request.param == "fake":
        return request.getfixturevalue("fake")()
    pytest.importorskip("ray.data")
    return None


toy = partial(open_scorer, "toy", slot_bias=0.3, noise=0.2)


def contents(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def whole(scorer, folder):
    run_study(scorer, SLATES, DESIGN, folder, part_size=2)
    return contents(folder)


def spread(opener, folder, options=None, **more):
    with workers_on_ray(opener, options or RayOptions(2)) as engine:
        run_study(engine.scorer, SLATES, DESIGN, folder, part_size=2, engine=engine, **more)
    return contents(folder)


def test_a_run_of_workers_has_the_bytes_of_one_process(ray, tmp_path):
    seen = []
    found = spread(toy, tmp_path / "two", progress=lambda *done: seen.append(done))
    assert found == whole(toy(), tmp_path / "one")
    # Nine slates in parts of two; the part of one may come at any time.
    assert seen[0] == (0, 9)
    assert seen[-1] == (9, 9)
    assert len(seen) == 6


def test_labels_of_workers_have_the_bytes_of_one_process(ray, tmp_path):
    with workers_on_ray(toy, RayOptions(2)) as engine:
        two = label(engine.scorer, SLATES, tmp_path / "two", orders=3, engine=engine)
    one = label(toy(), SLATES, tmp_path / "one", orders=3)
    assert replace(two, path=one.path) == one
    for name in ("labels.parquet", "manifest.json"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_an_error_of_the_scorer_is_the_error_of_the_run_and_parts_are_kept(ray, scorers, tmp_path):
    with pytest.raises(ScorerError, match="no more of slate s4"):
        spread(scorers.refusing, tmp_path / "run")
    assert not (tmp_path / "run" / "scores.parquet").exists()
    # Slate s4 is in the third part of two; the others are scored by whoever goes on.
    kept = sorted(path.stem for path in (tmp_path / "run" / "parts").glob("*.parquet"))
    assert "0002" not in kept
    healed = whole(open_scorer("toy", slot_bias=0.2), tmp_path / "run")
    assert healed == whole(open_scorer("toy", slot_bias=0.2), tmp_path / "one")


def test_a_scorer_that_cannot_be_opened_says_why_as_in_one_process(ray, tmp_path):
    opener = partial(open_scorer, "toy", slot_bais=0.3)
    with pytest.raises(UsageError) as alone:
        opener()
    with pytest.raises(UsageError) as spread_out, workers_on_ray(opener, RayOptions(1)):
        pass
    assert str(spread_out.value) == str(alone.value)


def test_workers_must_have_the_scorer_of_the_run(ray, scorers, tmp_path):
    # Each process of Ray's opens another one; the fake has one process, so the run names another.
    opener = scorers.other if ray is None else toy
    with workers_on_ray(opener, RayOptions(1)) as engine:
        scorer = engine.scorer if ray is None else open_scorer("toy", slot_bias=0.1)
        with pytest.raises(ScorerError, match="another scorer than the run was begun with: .*revision"):
            run_study(scorer, SLATES, DESIGN, tmp_path / "run", engine=engine)


def test_a_description_scores_nothing_itself(fake):
    fake()
    with workers_on_ray(toy, RayOptions(1)) as engine:
        pass
    assert engine.scorer.revision == toy().revision
    with pytest.raises(ScorerError, match="opened by workers alone"):
        engine.scorer.score([])


def test_what_is_lost_with_a_worker_is_scored_again(fake, tmp_path):
    fake(deaths=2)
    assert spread(toy, tmp_path / "two") == whole(toy(), tmp_path / "one")


def test_a_part_that_takes_its_worker_down_each_time_ends_the_run(fake, tmp_path):
    # Begun once and again five times: the sixth is refused.
    fake(deaths=5)
    with pytest.raises(ScorerError, match="slates 's8' to 's8' took their worker down 5 times"):
        spread(toy, tmp_path / "two")


def test_a_resumed_run_gives_out_what_is_left(fake, scorers, tmp_path):
    fake()
    pids = tmp_path / "pids"
    pids.mkdir()
    opener = partial(scorers.watched, str(pids), 0.0)
    spread(opener, tmp_path / "run")
    for path in pids.iterdir():
        path.unlink()
    (tmp_path / "run" / "parts" / "0001.parquet").unlink()
    (tmp_path / "run" / "scores.parquet").unlink()
    found = spread(opener, tmp_path / "run")
    assert {path.name.partition(".")[2] for path in pids.iterdir()} == {"s2", "s3"}
    assert found == whole(opener(), tmp_path / "one")


def test_a_finished_run_starts_no_worker(fake, tmp_path):
    ray = fake()
    spread(toy, tmp_path / "run")
    assert [what for what, *_ in ray.log].count("map") == 1
    spread(toy, tmp_path / "run")
    assert [what for what, *_ in ray.log].count("map") == 1


def test_a_cluster_of_its_own_is_quiet_and_ends_with_the_run(fake, monkeypatch):
    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED", raising=False)
    ray = fake()
    with workers_on_ray(toy, RayOptions(1)):
        assert ray.up
    assert not ray.up
    (started,) = [one for one in ray.log if one[0] == "init"]
    assert started[1]["include_dashboard"] is False
    assert started[1]["log_to_driver"] is False
    assert started[2] == "0"
    assert "RAY_USAGE_STATS_ENABLED" not in os.environ
    assert ray.context.enable_progress_bars is False


def test_a_cluster_that_runs_is_joined_or_left_as_it_was(fake):
    ray = fake()
    with workers_on_ray(toy, RayOptions(1, address="auto")):
        pass
    assert ray.log[0][1]["address"] == "auto"
    assert "num_cpus" not in ray.log[0][1]
    ray = fake()
    ray.up = True
    with workers_on_ray(toy):
        pass
    assert ray.up
    fake()
    nowhere = workers_on_ray(toy, RayOptions(address="nowhere"))
    with pytest.raises(ScorerError, match="cannot be used at 'nowhere': no cluster there"), nowhere:
        pass


@pytest.mark.parametrize(
    ("cluster", "options", "workers", "gpus"),
    [
        # One machine is alive, without GPUs: one worker.
        ({"cpus": 8.0}, RayOptions(), 1, 0.0),
        ({"cpus": 8.0}, RayOptions(3), 3, 0.0),
        # A worker for each GPU; two share one; without any although there are some.
        ({"cpus": 8.0, "gpus": 4.0}, RayOptions(), 4, 1.0),
        ({"cpus": 8.0, "gpus": 2.0}, RayOptions(gpus=0.5), 4, 0.5),
        ({"cpus": 8.0, "gpus": 4.0}, RayOptions(2, gpus=0), 2, 0.0),
        # CPUs are the bound: 4 / 0.25 = 16 workers would need 16.
        ({"cpus": 8.0, "gpus": 4.0}, RayOptions(gpus=0.25), 8, 0.25),
    ],
)
def test_how_many_workers(fake, cluster, options, workers, gpus):
    ray = fake(**cluster)
    with workers_on_ray(toy, options) as engine:
        assert engine.workers == workers
        list(engine(engine.scorer, print, []))
    assert ray.log[-2] == ("map", {"compute": workers, "num_gpus": gpus})


def test_more_workers_than_fit_are_refused(fake):
    fake(cpus=8.0, gpus=2.0)
    refused = pytest.raises(UsageError, match="3 workers .* 1 GPUs each .* holds at most 2")
    with refused, workers_on_ray(toy, RayOptions(3)):
        pass


@pytest.mark.parametrize("options", [{"workers": 0}, {"gpus": -1.0}, {"gpus": float("nan")}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        RayOptions(**options)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(MissingExtraError, match=r"evenhand\[ray\]"), workers_on_ray(toy):
        pass


def test_a_failure_of_ray_is_one_of_the_backend(fake, tmp_path, monkeypatch):
    ray = fake()

    def fail(*_, **__):
        raise RayError("many lines\nand then: the node is gone")

    with workers_on_ray(toy, RayOptions(1)) as engine:
        ray.data.from_arrow_refs = fail
        with pytest.raises(ScorerError, match="RayError: and then: the node is gone"):
            run_study(engine.scorer, SLATES, DESIGN, tmp_path / "run", engine=engine)


# Ray itself.


def process_of(path):
    return int(path.name.partition(".")[0])


@OLD
@pytest.mark.slow
@pytest.mark.timeout(280)
def test_a_worker_killed_in_the_middle_costs_nothing(scorers, tmp_path):
    pytest.importorskip("ray.data")
    pids = tmp_path / "pids"
    pids.mkdir()
    opener = partial(scorers.watched, str(pids), 0.3)
    killed = []

    def progress(done, total):
        if done >= 2 and not killed:
            # The worker that began a slate last is at it.
            last = max(pids.iterdir(), key=lambda path: path.stat().st_mtime_ns)
            killed.append(process_of(last))
            os.kill(killed[0], signal.SIGKILL)

    found = spread(opener, tmp_path / "two", progress=progress)
    seen = {process_of(path) for path in pids.iterdir()}
    assert killed
    # Two began, one of them died, another took its place.
    assert len(seen) == 3
    assert found == whole(opener(), tmp_path / "one")


@OLD
@pytest.mark.slow
@pytest.mark.timeout(280)
def test_a_slate_that_kills_every_worker_ends_the_run(scorers, tmp_path):
    pytest.importorskip("ray.data")
    with pytest.raises(ScorerError, match="took their worker down 5 times"):
        spread(scorers.deadly, tmp_path / "run")
    kept = sorted(path.stem for path in (tmp_path / "run" / "parts").glob("*.parquet"))
    assert "0002" not in kept


@OLD
@pytest.mark.slow
@pytest.mark.timeout(280)
def test_a_run_that_was_killed_itself_goes_on(scorers, tmp_path):
    pytest.importorskip("ray.data")
    pids, out = tmp_path / "pids", tmp_path / "two"
    pids.mkdir()
    command = [sys.executable, str(HERE / "killed_ray.py"), str(out), str(pids), "3"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    kept = {path: path.stat().st_mtime_ns for path in (out / "parts").glob("*.parquet")}
    assert len(kept) == 3
    _wait_for_the_end_of({process_of(path) for path in pids.iterdir()})
    opener = partial(scorers.watched, str(pids), 0.0)
    with workers_on_ray(opener, RayOptions(2)) as engine:
        run_study(engine.scorer, SLATES, DESIGN, out, part_size=1, engine=engine)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    run_study(opener(), SLATES, DESIGN, tmp_path / "one", part_size=1)
    assert contents(out) == contents(tmp_path / "one")


def _wait_for_the_end_of(processes, seconds=30):
    """Workers end with the process that began them."""
    until = time.monotonic() + seconds
    while processes and time.monotonic() < until:
        for process in list(processes):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, 0)
                continue
            processes.discard(process)
        time.sleep(0.2)
    assert not processes


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_ray_listens_and_speaks_on_the_loopback_alone(tmp_path):
    pytest.importorskip("ray.data")
    pytest.importorskip("psutil")
    code = (
        "import psutil\n"
        "from functools import partial\n"
        "from evenhand.score import open_scorer\n"
        "from evenhand.study.ray import RayOptions, workers_on_ray\n"
        "with workers_on_ray(partial(open_scorer, 'toy'), RayOptions(1)):\n"
        "    for one in psutil.Process().children(recursive=True):\n"
        "        for each in one.net_connections(kind='inet'):\n"
        "            for end in filter(None, (each.laddr, each.raddr)):\n"
        "                print(one.name(), end.ip)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert ended.returncode == 0, ended.stderr
    ends = {tuple(line.rsplit(" ", 1)) for line in ended.stdout.splitlines()}
    assert ends
    strays = {end for end in ends if end[1] not in ("127.0.0.1", "::1", "::ffff:127.0.0.1")}
    assert strays == set()
