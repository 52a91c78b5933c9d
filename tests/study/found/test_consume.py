import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from evenhand.decide.reading import Reading
from evenhand.errors import ResumeError, ScorerError, UsageError
from evenhand.records import RunFolder
from evenhand.study.found.consume import consume, saved_reading
from evenhand.study.found.readings import NAME
from evenhand.types import Candidate, Slate

NAN = float("nan")
ORDER = [(1, 0, 2, 3), (3, 2, 1, 0)]


class Stub:
    """Gives what a function makes of the texts; None is missing."""

    name = "stub"

    def __init__(self, function, task="answer", revision="1"):
        self.function, self.task, self.revision = function, task, revision
        self.inputs = []

    def read(self, evidence):
        self.inputs.extend(evidence)
        said = [self.function(one.texts) for one in evidence]
        return [Reading(one) if one is not None else Reading(None, 0, "lost") for one in said]


def first(texts):
    return texts[0] if texts else "nothing"


def a_slate(key="s", answers=("b",), verdict=None, grades=None):
    candidates = tuple(Candidate(one, one) for one in "abcd")
    return Slate(key, "who?", candidates, {"b": 1} if grades is None else grades, answers, verdict)


@pytest.fixture
def run(kit, tmp_path):
    def build(scores, slates=None, name="run", orders=ORDER, **more):
        slates = slates or [a_slate()]
        plan = kit.plan(orders, **more)
        entries = [
            (slate, plan, np.asarray(matrix, dtype=float))
            for slate, matrix in zip(slates, scores, strict=True)
        ]
        return kit.run(tmp_path / name, entries)

    return build


# canonical, two random rows, repeat; best candidates b, a, b, b
ROWS = [
    [0.5, 0.9, 0.1, 0.2],
    [0.9, 0.5, 0.1, 0.2],
    [0.2, 0.9, 0.1, 0.5],
    [0.5, 0.9, 0.1, 0.2],
]


def test_flips_of_a_reader_that_takes_the_first_text(run):
    found = consume(run([ROWS]), Stub(first), top=2)
    # in score order the random rows say a and b: one pair, it differs
    assert found.estimates["flip"]["score"].mean == 1
    assert found.estimates["flip_modal"]["score"].mean == 0.5
    # in canonical order the sets {a, b} and {b, d} give a and b
    assert found.estimates["flip"]["canonical"].mean == 1
    assert found.estimates["floor"]["score"].mean == 0
    # "a" is an article: the normalised answer is empty, and wrong
    assert found.estimates["served"]["score"].mean == 1
    assert found.estimates["shuffled"]["score"].mean == 0.5
    assert found.estimates["correct_flip"]["score"].mean == 1
    # row 1: set {a, b} reads a either way; row 2: {b, d} reads b either way
    assert found.own_order.mean == 0
    # served in canonical order the set {a, b} gives a
    assert found.estimates["served"]["canonical"].mean == 0


def test_the_control_tells_the_readers_own_order_dependence(run):
    # The same two candidates in every row, in another order of scores.
    rows = [[0.9, 0.8, 0, 0], [0.8, 0.9, 0, 0], [0.9, 0.8, 0, 0], [0.9, 0.8, 0, 0]]
    found = consume(run([rows]), Stub(first), top=2)
    assert found.estimates["flip"]["score"].mean == 1
    assert found.estimates["flip"]["canonical"].mean == 0
    # only row 1 reads b first in score order and a first in canonical order
    assert found.own_order.mean == 0.5

    sets = consume(run([rows], name="other"), Stub(lambda texts: " ".join(sorted(texts))), top=2)
    assert sets.estimates["flip"]["score"].mean == sets.own_order.mean == 0


def test_the_noise_floor(run):
    rows = [*ROWS[:3], [0.9, 0.5, 0.1, 0.2]]
    found = consume(run([rows]), Stub(first), top=1)
    assert found.estimates["floor"]["score"].mean == 1
    bare = consume(run([ROWS[:3]], name="bare", repeat=False), Stub(first), top=1)
    assert bare.estimates["floor"]["score"].n == 0


def test_answers_are_compared_after_normalisation(run):
    found = consume(run([ROWS]), Stub(lambda texts: "The B." if texts[:1] == ("b",) else "b"), top=1)
    assert found.estimates["flip"]["score"].mean == 0
    assert found.estimates["shuffled"]["score"].mean == 1
    assert found.estimates["f1_shuffled"]["score"].mean == 1


def test_identical_inputs_are_read_once_and_some_again(run):
    stub = Stub(first)
    found = consume(run([ROWS]), stub, top=2)
    keys = [one.key for one in stub.inputs]
    # (b a), (a b), (b d), gold (b), none: five inputs, and four with texts once more
    assert (len(set(keys)), len(keys)) == (5, 5 + 4)
    assert found.counts["readings"] == 4 * 2 + 2
    assert (found.counts["reread"], found.counts["reread_changed"]) == (4, 0)


def test_an_unsteady_reader_is_seen(run):
    calls = iter(range(1000))
    found = consume(run([ROWS]), Stub(lambda texts: f"answer {next(calls)}"), top=2)
    assert (found.counts["reread"], found.counts["reread_changed"]) == (4, 4)
    assert "unsteady_reader" in {one.code for one in found.findings}


def test_what_is_retained_is_read(run):
    stub = Stub(lambda texts: " ".join(texts) or "nothing")
    folder = run([ROWS])
    found = consume(folder, stub, top=None, thresholds={"s": 0.5})
    lines = pq.read_table(folder.path / NAME).to_pylist()
    score = [one["output"] for one in lines if one["order"] == "score" and one["kind"] != "reread"]
    assert score == ["b a", "a b", "b d", "b a"]
    assert found.reader["thresholds"] is not None
    empty = consume(folder, stub, top=5, thresholds=2.0)
    assert empty.counts["empty"] == 4
    assert empty.estimates["flip"]["score"].mean == 0
    with pytest.raises(UsageError, match="no threshold for slate"):
        consume(folder, stub, thresholds={"t": 0.5})
    with pytest.raises(UsageError, match="top so many"):
        consume(folder, stub, top=None)


def test_rows_without_scores_and_missing_readings_are_counted_not_wrong(run):
    rows = [ROWS[0], [NAN] * 4, ROWS[2], ROWS[3]]
    found = consume(
        run([rows]), Stub(lambda texts: None if texts[:1] == ("d",) else first(texts)), top=1
    )
    assert (found.counts["blank"], found.counts["missing"]) == (2, 0)
    assert math.isnan(found.estimates["flip"]["score"].mean)
    assert found.estimates["flip"]["score"].undefined == 1

    lost = run([[ROWS[0], [0, 0, 0, 1], ROWS[2], ROWS[3]]], name="lost")
    found = consume(lost, Stub(lambda texts: None if texts[:1] == ("d",) else first(texts)), top=1)
    assert found.counts["missing"] == 2
    assert found.estimates["shuffled"]["score"].mean == 1
    [finding] = [one for one in found.findings if one.code == "missing_readings"]
    assert "2 of 10 readings are missing (lost)" in finding.message


def test_a_reader_that_never_reads_is_an_error(run):
    with pytest.raises(ScorerError, match="every one of its readings is missing"):
        consume(run([ROWS]), Stub(lambda texts: None))

    class Short(Stub):
        def read(self, evidence):
            return []

    with pytest.raises((ScorerError, UsageError), match="0 readings|one Reading"):
        consume(run([ROWS], name="short"), Short(first))


def verdict_run(run, golds, name="verdicts"):
    slates = [a_slate(f"s{i}", (), gold) for i, gold in enumerate(golds)]
    return run([ROWS] * len(golds), slates, name)


def test_a_constant_reader_flips_never_and_is_unfit(run):
    folder = verdict_run(run, ["SUPPORTS", "SUPPORTS", "REFUTES", "DISPUTED"])
    found = consume(folder, Stub(lambda texts: "SUPPORTS", "verdict"))
    assert found.estimates["flip"]["score"].mean == 0
    assert found.fitness.fit is False
    assert found.fitness.majority == pytest.approx(2 / 3)
    # DISPUTED is no allowed label: that slate says nothing of right and wrong
    assert found.estimates["served"]["score"].n == 3
    assert found.estimates["served"]["score"].undefined == 1
    assert found.outputs == {"SUPPORTS": 8}
    assert [one.code for one in found.findings] == ["unfit_reader"]
    assert "f1_served" not in found.estimates


def test_a_reader_that_reads_is_fit(run):
    golds = ["SUPPORTS", "REFUTES"]
    slates = [
        a_slate("s0", (), "SUPPORTS", {"b": 1}),
        a_slate("s1", (), "REFUTES", {"a": 1}),
    ]
    told = {("b",): "SUPPORTS", ("a",): "REFUTES"}
    stub = Stub(lambda texts: told.get(texts, "NOT_ENOUGH_INFO"), "verdict")
    found = consume(run([ROWS] * 2, slates), stub, top=1)
    assert found.fitness.fit is True
    assert (found.fitness.accuracy.mean, found.fitness.accuracy_bare.mean) == (1, 0)
    assert found.fitness.gold == dict.fromkeys(sorted(golds), 1)
    assert found.findings == ()
    # random rows read a, then b: SUPPORTS is right in one of them, REFUTES in the other
    assert found.estimates["correct_flip"]["score"].mean == 1
    assert found.estimates["correct_flip_pairwise"]["score"].mean == 1
    assert found.estimates["correct_flip_modal"]["score"].mean == 0.5


def test_no_gold_no_fitness(run):
    slate = Slate("s", "who?", tuple(Candidate(one, one) for one in "abcd"))
    found = consume(run([ROWS], [slate]), Stub(first))
    assert found.fitness.fit is None
    assert [one.code for one in found.findings] == ["unknown_reader"]
    assert found.estimates["served"]["score"].n == 0


def test_small_slates_that_show_every_order_count_rows_with_themselves(run):
    found = consume(run([ROWS], exhaustive=True), Stub(first), top=1)
    # two outcomes, each once: 1 - 2 (1/2)^2
    assert found.estimates["flip"]["score"].mean == 0.5


def test_a_second_time_reads_the_file(run):
    folder = run([ROWS] * 3, [a_slate(key) for key in "stu"])
    one = consume(folder, Stub(first), top=2, chunk=2)
    asked = Stub(first)
    asked.name = "another name"
    again = consume(RunFolder.open(folder.path), asked, top=2)
    assert asked.inputs == []
    assert again.estimates == one.estimates
    assert again.slate_ids == ("s", "t", "u")
    saved = saved_reading(folder)
    assert (saved.estimates, saved.reader["name"]) == (one.estimates, "stub")


@pytest.mark.parametrize("change", ["revision", "task", "top", "run", "damage"])
def test_another_reader_selection_or_run_is_read_anew(run, change):
    folder = run([ROWS])
    consume(folder, Stub(first), top=2)
    path = folder.path / NAME
    if change == "run":
        folder = run([[*ROWS[:3], ROWS[1]]], name="other")
        (folder.path / NAME).write_bytes(path.read_bytes())
        assert saved_reading(folder) is None
    if change == "damage":
        path.write_bytes(path.read_bytes()[:-20])
        assert saved_reading(folder) is None
    verdict = Stub(lambda texts: "SUPPORTS", "verdict")
    again = {
        "revision": Stub(first, revision="2"),
        "task": verdict,
    }.get(change, Stub(first))
    consume(folder, again, top=1 if change == "top" else 2)
    assert again.inputs
    assert saved_reading(folder).reader["revision"] == again.revision


def test_a_reader_that_fails_leaves_nothing_behind(run):
    def broken(texts):
        raise RuntimeError("out of memory")

    folder = run([ROWS])
    with pytest.raises(ScorerError, match="stub failed: RuntimeError: out of memory"):
        consume(folder, Stub(broken))
    assert not [one for one in Path(folder.path).iterdir() if one.name.startswith("reader")]


def test_slates_come_in_chunks_and_chunks_do_not_matter(run):
    slates = [a_slate(f"s{i}") for i in range(5)]
    rng = np.random.default_rng(0)
    folder = run(rng.random((5, 4, 4)), slates)
    seen = []
    small = consume(
        folder, Stub(first), chunk=2, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(0, 5), (2, 5), (4, 5), (5, 5)]
    assert pq.ParquetFile(folder.path / NAME).num_row_groups == 3
    (folder.path / NAME).unlink()
    whole = consume(folder, Stub(first), chunk=100)
    assert whole.estimates == small.estimates
    with pytest.raises(UsageError, match="chunk"):
        consume(folder, Stub(first), chunk=0)
    with pytest.raises(UsageError, match="top of a reader must be at least 1"):
        consume(folder, Stub(first), top=0)


def test_an_unfinished_run_is_refused(kit, tmp_path):
    with RunFolder.begin(tmp_path / "run", {"scorer": {}}, [a_slate()], 2) as folder:
        with pytest.raises(ResumeError, match="not finished"):
            consume(folder, Stub(first))
        assert saved_reading(folder) is None


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_real_reader_on_real_questions(tmp_path):
    pytest.importorskip("torch")
    from evenhand.data import load_slates
    from evenhand.decide import open_reader
    from evenhand.report.result import audit
    from evenhand.score import open_scorer

    data = Path(__file__).resolve().parents[4] / "shared/data/hotpotqa_dev500"
    if not data.is_dir():
        pytest.skip("the shared collection is not here")
    slates = [slate for slate, _ in zip(load_slates(str(data)), range(2), strict=False)]
    scorer = open_scorer("toy:slot_bias=0.5,noise=0.1")
    audit(scorer, slates, rows=1, out=tmp_path / "run")
    try:
        options = {"device": "cpu", "max_tokens": 8, "max_candidate_tokens": 64}
        reader = open_reader("smollm2-135m", "answer", **options)
    except ScorerError as error:
        pytest.skip(f"the embedded default cannot be fetched here: {error}")
    found = consume(RunFolder.open(tmp_path / "run"), reader, top=1)
    assert (found.counts["slates"], found.counts["missing"]) == (2, 0)
    assert found.counts["reread_changed"] == 0
    assert found.fitness.accuracy.n == 2
    lines = pq.read_table(tmp_path / "run" / NAME).to_pylist()
    assert all(one["output"].strip() for one in lines if one["order"] == "gold")


def test_missing_readings_are_asked_for_again_by_a_mended_reader(run):
    folder = run([ROWS])
    with pytest.raises(ScorerError, match="every one of its readings is missing"):
        consume(folder, Stub(lambda texts: None), top=2)
    assert not (folder.path / NAME).exists()
    mended = Stub(first)
    assert consume(folder, mended, top=2).counts["missing"] == 0
    assert mended.inputs
    partly = Stub(lambda texts: None if texts and texts[0] == "a" else first(texts), revision="2")
    assert consume(folder, partly, top=2).counts["missing"] > 0
    again = Stub(first, revision="2")
    assert consume(folder, again, top=2).counts["missing"] == 0
    assert again.inputs
    settled = Stub(first, revision="2")
    consume(folder, settled, top=2)
    assert settled.inputs == []


WRONG_KINDS = [
    ({"top": 2.5}, "top of a reader must be at least 1, a whole number, got 2.5"),
    ({"top": "3"}, "top of a reader"),
    ({"top": float("inf")}, "top of a reader"),
    ({"top": True}, "top of a reader"),
    ({"thresholds": NAN}, "thresholds must be a finite number, got nan"),
    ({"thresholds": "high"}, "thresholds must be a finite number, got 'high'"),
    ({"thresholds": float("inf")}, "thresholds must be a finite number"),
    ({"thresholds": {"s": NAN}}, "the threshold of slate 's' must be a finite number, got nan"),
    ({"thresholds": {"s": None}}, "the threshold of slate 's'"),
    ({"thresholds": [0.5]}, "thresholds must be a finite number"),
    ({"min_grade": 0}, "min_grade must be at least 1"),
    ({"min_grade": "x"}, "min_grade must be at least 1"),
    ({"chunk": 1.5}, "chunk must be at least 1"),
    ({"draws": None}, "draws must be at least 1"),
    ({"level": "x"}, "level must lie between"),
    ({"seed": "x"}, "seed must be a whole number"),
]


@pytest.mark.parametrize(("given", "said"), WRONG_KINDS)
def test_wrong_kinds_are_refused_before_anything_is_read(run, given, said):
    stub = Stub(first)
    with pytest.raises(UsageError, match=said):
        consume(run([ROWS]), stub, **given)
    assert stub.inputs == []


def test_what_is_no_run_or_no_reader_is_refused(run):
    with pytest.raises(UsageError, match="a run folder is needed, got 'run'"):
        consume("run", Stub(first))
    with pytest.raises(UsageError, match="a reader is needed, got None"):
        consume(run([ROWS]), None)
