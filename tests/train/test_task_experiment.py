"""The experiment on questions and responses: its slates, its kept scores, and one run of it all."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from train_help import make_slate

from evenhand.types import Candidate, Slate

ROOT = Path(__file__).resolve().parents[2]
OWN = ("matrices", "plan", "prepare", "reading", "run", "session", "look", "table", "tasks")


@pytest.fixture
def script(monkeypatch):
    """Import a module of experiments/tasks by name; those of ../grader come with it."""
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "tasks"))
    yield lambda name: __import__(name)
    for name in (*OWN, "arm", "arms", "common"):
        sys.modules.pop(name, None)


def slate_of(query: str, texts: list[str], gold: int = 0, name: str = "s") -> Slate:
    candidates = tuple(Candidate(f"{name}{i}", text) for i, text in enumerate(texts))
    return Slate(name, query, candidates, {one.id: int(i == gold) for i, one in enumerate(candidates)})


def test_a_text_stands_once_and_keeps_its_highest_grade(script):
    found = script("prepare").distinct(slate_of("q", ["One, two", "three", "one two!"], gold=2))
    assert found.ids == ("s1", "s2")


def test_drawn_slates_have_both_kinds_and_no_place_for_gold(script):
    prepare = script("prepare")
    made = [slate_of("q", [f"text {i}" for i in range(8)], gold=0, name=f"s{k}") for k in range(200)]
    found = [prepare.drawn("c", slate, 4, 1) for slate in made]
    assert {len(slate) for slate in found} == {4}
    places = np.bincount([int(np.argmax(slate.gains())) for slate in found], minlength=4)
    # 200 draws of 4 places: 50 each, sd 6.1.
    assert (np.abs(places - 50) < 25).all()
    assert prepare.drawn("c", slate_of("q", ["a"], gold=0), 4, 1) is None
    assert prepare.drawn("c", slate_of("q", ["a", "b"], gold=5), 4, 1) is None


def test_halves_share_no_prompt(script):
    made = [slate_of(f"Question {i // 2}" + "?" * (i % 2), ["a"], name=f"s{i}") for i in range(40)]
    first, second = script("prepare").halves(made)
    assert len(first) == len(second) == 20
    queries = [{script("prepare").plain(s.query) for s in half} for half in (first, second)]
    assert not queries[0] & queries[1]


def test_what_is_like_a_test_slate_is_left_out(script, capsys):
    # Nine words have five runs of five; seven of them, the first, have three: more than half.
    words = "how many moons does the planet jupiter have today".split()
    test = slate_of(" ".join(words), ["a text of the test"])
    trained = [
        slate_of("How many moons does the planet Jupiter have today?", ["b"], name="same"),
        slate_of(" ".join(words[:7]) + " in all", ["b"], name="like"),
        slate_of("another question", ["A text, of the test."], name="shared"),
        slate_of("how many moons does mars have", ["b"], name="other"),
    ]
    kept = script("prepare").apart(trained, [test], "made")
    assert [slate.id for slate in kept] == ["other"]
    assert "left out 1 with a test prompt, 1 with half" in capsys.readouterr().out


def test_scores_are_kept_in_sixteen_bits(script, tmp_path):
    matrices = script("matrices")
    whole = matrices.to_whole(np.array([0.0, 0.25, 1.0, np.nan]))
    # 65534 / 4 = 16383.5, to the even one.
    assert whole.tolist() == [0, 16384, 65534, 65535]
    slates = [make_slate("a", n=3), make_slate("b", n=4)]
    surface = {"rubric": "relevance"}
    shown = {"rows": 5, "width": 2, "seed": 0, "surface": surface}
    plans = [matrices.plan_of(slate, shown) for slate in slates]
    # All 3! orders are more than 5, so five are drawn.
    drawn = np.random.default_rng(0)
    scores = [drawn.random((len(p), len(s))) for p, s in zip(plans, slates, strict=True)]
    np.savez_compressed(tmp_path / "kept.npz", **matrices.flat("made", slates, scores, shown))
    found = matrices.read(tmp_path / "kept.npz", "made", slates[::-1])
    for matrix, wanted, plan in zip(found[::-1], scores, plans, strict=True):
        assert np.abs(matrix.scores - wanted).max() <= 0.5 / 65534 + 1e-12
        assert matrix.plan == plan
    with pytest.raises(ValueError, match="has 2 candidates, 3 were scored"):
        matrices.read(tmp_path / "kept.npz", "made", [make_slate("a", n=2)])


def test_pairs_in_order(script):
    in_order = script("look").in_order
    # Better than both others is the first: row 1 has one of two pairs right, row 2 one and a tie.
    assert in_order(np.array([[0.5, 0.9, 0.1], [0.5, 0.5, 0.1]]), np.array([1, 0, 0])) == 0.625
    assert np.isnan(in_order(np.array([[0.5, 0.9]]), np.array([1, 1])))


def test_streams_read_as_the_local_scorer_does(script, tiny_loaded, monkeypatch):
    session, tasks, reading = script("session"), script("tasks"), script("reading")
    monkeypatch.setattr(reading, "LENGTH", 1500)
    surface = tasks.TASKS["responses"].surface
    reader = reading.Reader(tiny_loaded("llama"), surface, cut=6, width=3)
    shown = session.shown_of([make_slate("a", n=5), make_slate("b", n=3)], surface, 3, 4)
    plain = reader.score(shown)
    reader.fast = True
    for one, other in zip(plain, reader.score(shown), strict=True):
        assert np.abs(one.scores - other.scores).max() < 1e-5
    # Orders of three that were drawn twice are built once.
    assert len(reader._memory) == len({(one.slate.id, one.presentation) for one in shown})
    # 700 and 600 leave room of 200; 300 and 200 for two more of 300 at 1500: 500 + 300 + 200 + 300.
    assert reading.topped([0, 1], [700, 600]) == [0, 1]
    assert reading.topped([0, 1], [300, 200]) == [0, 1, 0, 1, 0]


def prepared(folder: Path, task) -> None:
    """Slates of a task as prepare.py writes them."""
    texts, names = {}, {"stage1": 6, "arms": 4} | dict.fromkeys(task.tests, 2)
    folder.mkdir(parents=True)
    for name, count in names.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
            for number in range(count):
                slate = make_slate(f"{name}{number}", n=6)
                ids = [f"{slate.id} {one.id}" for one in slate.candidates]
                texts |= dict(zip(ids, (one.text for one in slate.candidates), strict=True))
                row = {"id": slate.id, "query": f"{slate.query} {number}", "source": "made",
                       "candidates": ids, "grades": {ids[1]: 1}}  # fmt: skip
                file.write(json.dumps(row) + "\n")
    with gzip.open(folder / "texts.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items())


@pytest.mark.slow
def test_a_run_its_second_call_and_its_tables(script, tiny_loaded, tmp_path, monkeypatch, capsys):
    run, tasks, matrices, look = script("run"), script("tasks"), script("matrices"), script("look")
    loaded = tiny_loaded("llama")
    loaded.model.save_pretrained(tmp_path / "base")
    loaded.tokenizer.save_pretrained(tmp_path / "base")
    for name, task in tasks.TASKS.items():
        prepared(tmp_path / "slates" / name, task)
    words = ["run.py", tmp_path / "slates", tmp_path / "out", "--base", f"hf:{tmp_path / 'base'}",
             "--plain", "--workers", 0, "--windows", 4, "--stage1-steps", 2, "--steps", 2, "--rows", 3,
             "--cut", 6, "--arms", "single", "averaged-2", "across-4", "isolated"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", [*map(str, words), "--dry-run"])
    run.main()
    assert "in all, one after the other" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*map(str, words)])
    run.main()
    results = tmp_path / "out" / "results"
    names = sorted(path.name for path in (results / "qa").glob("*.json"))
    assert names == [
        f"{arm}-0.json" for arm in ("across-4", "averaged-2", "isolated", "single", "stage1")
    ]
    means = json.loads((results / "responses" / "isolated-0.json").read_text())["means"]["rm_bench"]
    # Candidates that are blind to each other have no order.
    assert means["psi"] == means["pair flip"] == 0

    task = tasks.TASKS["responses"]
    slates = tasks.slates_of(tmp_path / "slates" / "responses", "rm_bench")[0]
    path = results / "responses" / "single-0.npz"
    again = look.values_of(task, slates, matrices.read(path, "rm_bench", slates))
    for name, kept in matrices.values(path, "rm_bench").items():
        if name != "tokens":
            assert np.allclose(again[name], kept, atol=1e-6, equal_nan=True), name

    before = {path: path.stat().st_mtime_ns for path in results.rglob("*")}
    run.main()
    assert {path: path.stat().st_mtime_ns for path in before} == before
    shown = script("table").tables(results)
    assert "## rm_bench, 2 slates; noise floor" in shown
    assert "| musique_train100 | across-4 less single | tau-PSI |" in shown
    monkeypatch.setattr(sys, "argv", [*map(str, words), "--steps", "3"])
    with pytest.raises(SystemExit, match="of other settings"):
        run.main()


def test_arms_are_those_of_the_passages_with_the_task_s_form(script):
    tasks = script("tasks")
    for task in tasks.TASKS.values():
        for name in tasks.ARMS:
            views = task.arm(name).views
            assert views.widths == (task.width,)
            assert views.surface.rubric == task.rubric
        assert task.arm("averaged").orders == 10
        assert task.arm("isolated").surface.visibility == "isolated"
    assert replace(tasks.TASKS["qa"].surface, rubric="relevance") == tasks.arm("single").surface
