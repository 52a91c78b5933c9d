from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

import evenhand
from evenhand.errors import ResumeError, ScorerError, UsageError
from evenhand.present.design import design
from evenhand.present.texts import RUBRICS
from evenhand.records import RunFolder
from evenhand.records.manifest import plain
from evenhand.score.toy import Toy
from evenhand.study.found.analyse import threshold_revision
from evenhand.study.rows.run import ResumeWarning, run_study, study_settings
from evenhand.types import Candidate, Scored, Slate, Surface

ALL = frozenset({"order", "companions", "window", "marker", "skeleton", "rubric", "membership"})


def slates(count=5, n=4):
    return [
        Slate(f"s{i}", f"query {i}", tuple(Candidate(f"c{j}", f"t{j}") for j in range(n)), {"c0": 1})
        for i in range(count)
    ]


@dataclass
class Spy:
    """Scores 1 - place of the candidate, by slot unless order-free; remembers its calls."""

    name: str = "spy"
    revision: str = "1"
    scale: str = "unit"
    order_free: bool = False
    channels: frozenset[str] = frozenset({"order", "companions", "window"})
    max_window: int | None = None
    default_window: int | None = None
    surface: Surface = field(default_factory=Surface)
    lie: bool = False
    calls: list = field(default_factory=list)

    def score(self, shown):
        self.calls.append([(one.slate.id, one.row, one.kind) for one in shown])
        return [self.answer(one) for one in shown]

    def answer(self, one):
        n = len(one.slate)
        by_slot = not self.order_free or self.lie
        place = one.presentation.positions() if by_slot else np.arange(n)
        return Scored(1 - place / max(n, 1), prompts=1, tokens=10)


class Broken(Spy):
    """Gives something else for slate s3."""

    wrong: object = None

    def answer(self, one):
        return type(self).wrong if one.slate.id == "s3" else super().answer(one)


def test_repeat_rows_fall_in_a_second_call_in_reverse(tmp_path):
    spy = Spy()
    run_study(spy, slates(3, 4), design(rows=2), tmp_path / "run", part_size=2)
    # Parts {s0, s1} and {s2}; rows 0 canonical, 1 and 2 random, 3 repeat.
    first = [(s, r, k) for s in ("s0", "s1") for r, k in enumerate(("canonical", "random", "random"))]
    assert spy.calls[0] == first
    assert spy.calls[1] == [("s1", 3, "repeat"), ("s0", 3, "repeat")]
    assert [len(call) for call in spy.calls] == [6, 2, 3, 1]


def test_records_hold_what_the_scorer_gave(tmp_path):
    drawn = design(rows=3, seed=5)
    folder = run_study(Spy(), iter(slates()), drawn, tmp_path / "run", part_size=2)
    back = list(folder.recorded())
    assert [one.slate.id for one in back] == ["s0", "s1", "s2", "s3", "s4"]
    for one in back:
        plan = drawn.draw(one.slate)
        assert one.matrix.plan == plan
        expected = [1 - shown.positions() / 4 for shown in plan.presentations]
        np.testing.assert_array_equal(one.matrix.scores, expected)
        assert one.tokens.tolist() == [10] * 5


def test_an_order_free_scorer_is_asked_once_and_again_for_the_repeat(tmp_path):
    spy = Spy(order_free=True)
    folder = run_study(spy, slates(3), design(rows=4), tmp_path / "run")
    probe = ("s0", 4, "random")
    assert spy.calls == [
        [("s0", 0, "canonical"), ("s1", 0, "canonical"), ("s2", 0, "canonical")],
        [("s2", 5, "repeat"), ("s1", 5, "repeat"), ("s0", 5, "repeat"), probe],
    ]
    record = folder.find("s1")
    np.testing.assert_array_equal(record.matrix.scores, np.tile([1, 0.75, 0.5, 0.25], (6, 1)))
    assert record.prompts.tolist() == [1, 0, 0, 0, 0, 1]
    assert folder.find("s0").prompts.tolist() == [1, 0, 0, 0, 0, 1]


def test_a_scorer_that_is_not_order_free_after_all_shows(tmp_path):
    folder = run_study(Spy(order_free=True, lie=True), slates(2), design(rows=4), tmp_path / "run")
    record = folder.find("s0")
    assert record.prompts.tolist() == [1, 0, 0, 0, 1, 1]
    shown = record.matrix.plan.presentations[4]
    np.testing.assert_array_equal(record.matrix.scores[4], 1 - shown.positions() / 4)
    assert not np.array_equal(record.matrix.scores[4], record.matrix.scores[0])


def test_a_slate_without_candidates_is_kept(tmp_path):
    mixed = [*slates(2), Slate("empty", "q", ())]
    for scorer in (Spy(), Toy()):
        folder = run_study(scorer, mixed, design(rows=2, width=3), tmp_path / scorer.name)
        assert folder.n_slates == 3
        assert folder.find("empty").matrix.scores.shape[1] == 0


def test_progress_counts_slates_and_goes_on_from_what_is_done(tmp_path):
    seen = []
    run_study(
        Spy(),
        slates(),
        design(rows=2),
        tmp_path / "run",
        part_size=2,
        progress=lambda *a: seen.append(a),
    )
    assert seen == [(0, 5), (2, 5), (4, 5), (5, 5)]
    for suffix in (".parquet", ".sha256"):
        (tmp_path / "run" / "parts" / f"0001{suffix}").unlink()
    seen.clear()
    run_study(
        Spy(),
        slates(),
        design(rows=2),
        tmp_path / "run",
        part_size=2,
        progress=lambda *a: seen.append(a),
    )
    assert seen == [(3, 5), (5, 5)]


def test_a_finished_run_asks_nothing_again(tmp_path):
    run_study(Spy(), slates(), design(rows=2), tmp_path / "run")
    spy = Spy()
    run_study(spy, slates(), design(rows=2), tmp_path / "run")
    assert spy.calls == []


def test_other_settings_are_named(tmp_path):
    run_study(Spy(), slates(), design(rows=2, width=2), tmp_path / "run")
    other = design("order", rows=3, width=4, seed=1, surface=Surface(rubric="answer_support"))
    with pytest.raises(ResumeError) as caught:
        run_study(Spy(revision="2"), slates(4), other, tmp_path / "run", settings_extra={"note": 1})
    for line in (
        "design: 'reorder' in the folder, 'order' now",
        "rows: 2 in the folder, 3 now",
        "width: 2 in the folder, 4 now",
        "seed: 0 in the folder, 1 now",
        "surface.rubric: 'relevance' in the folder, 'answer_support' now",
        "scorer.revision: '1' in the folder, '2' now",
        "note: '(not set)' in the folder, 1 now",
        "slate 4 (from 0): the input ends here",
    ):
        assert line in str(caught.value)


def test_what_a_scorer_tells_of_itself_is_recorded():
    spy = Spy()
    spy.dtype, spy.options = "float32", SimpleNamespace(max_candidate_tokens=512, context=None)
    told = study_settings(spy, design(rows=3))["scorer"]
    assert (told["dtype"], told["max_candidate_tokens"], told["revision"]) == ("float32", 512, "1")
    assert "context" not in told


def test_other_texts_of_the_surface_are_another_study_and_an_added_rubric_is_none(
    tmp_path, monkeypatch
):
    def run(name, drawn):
        return run_study(Spy(channels=ALL), slates(2), drawn, tmp_path / name)

    revisions = set()
    for name, drawn in (("order", design(rows=2)), ("rubric", design("rubric", rows=2))):
        revisions.add(threshold_revision(run(name, drawn).settings))
        with monkeypatch.context() as patch:
            patch.setitem(RUBRICS, "added", replace(RUBRICS["relevance"], task="Other."))
            run(name, drawn)
            patch.setitem(RUBRICS, "relevance", replace(RUBRICS["relevance"], task="Other."))
            with pytest.raises(ResumeError, match="surface_texts: "):
                run(name, drawn)
            revisions.add(threshold_revision(plain(study_settings(Spy(), drawn))))
    assert len(revisions) == 2
    monkeypatch.setitem(RUBRICS, "relevance/9", replace(RUBRICS["relevance"], task="Other."))
    run("order", design(rows=2))
    with pytest.raises(ResumeError, match="variant_texts: "):
        run("rubric", design("rubric", rows=2))


def test_a_scorer_that_empties_its_list_does_no_harm(tmp_path):
    class Greedy(Spy):
        def score(self, shown):
            found = super().score(shown)
            shown.clear()
            return found

    folder = run_study(Greedy(), slates(2), design(rows=2), tmp_path / "run")
    assert len(list(folder.recorded())) == 2


def test_progress_that_cannot_be_called_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UsageError, match="progress must be a function"):
        run_study(Spy(), slates(2), design(rows=2), tmp_path / "run", progress=True)
    assert not (tmp_path / "run").exists()


def test_slates_are_counted_without_reading_them_again(tmp_path, monkeypatch):
    reads = []
    real = RunFolder.part_slates
    monkeypatch.setattr(RunFolder, "part_slates", lambda self, i: reads.append(i) or real(self, i))
    run_study(Spy(), slates(5), design(rows=2), tmp_path / "run", part_size=2)
    # to score each part, to write it, and to merge it
    assert sorted(reads) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_an_extra_setting_may_not_hide_another():
    with pytest.raises(UsageError, match="'rows'"):
        study_settings(Spy(), design(), {"rows": 1})


def test_a_channel_the_scorer_does_not_honour_is_refused(tmp_path):
    with pytest.raises(
        UsageError, match=r"varies companions, which spy does not honour; it honours order"
    ):
        run_study(Spy(channels=frozenset({"order"})), slates(), design(), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    run_study(Spy(channels=frozenset(), order_free=True), slates(), design(), tmp_path / "run")


def test_windows_wider_than_the_scorer_takes_are_refused(tmp_path):
    with pytest.raises(UsageError, match="windows of 4 candidates, but spy takes at most 3"):
        run_study(Spy(max_window=3), slates(), design(width=4), tmp_path / "run")
    with pytest.raises(UsageError, match="slate 's0' has 4 candidates and no width is set"):
        run_study(Spy(max_window=3), slates(), design(), tmp_path / "run")
    assert run_study(Spy(max_window=3), slates(), design(width=3), tmp_path / "run").finished


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (Scored(np.zeros(3)), "slate 's3', row 0: got 3 scores for 4 candidates"),
        (Scored(np.array([0, np.inf, 0, 0])), "slate 's3', row 0: the score of candidate 'c1' is inf"),
        ([0.1, 0.2, 0.3, 0.4], "slate 's3', row 0: got a list, need a Scored"),
    ],
)
def test_what_is_no_scores_is_an_error_that_names_the_slate(tmp_path, wrong, says):
    scorer = type("Wrong", (Broken,), {"wrong": wrong})()
    with pytest.raises(ScorerError, match=says):
        run_study(scorer, slates(), design(rows=2), tmp_path / "run", part_size=2)
    # The part before it is kept, and a mended scorer goes on.
    assert RunFolder.open(tmp_path / "run").pending() == [1, 2]
    assert run_study(Spy(), slates(), design(rows=2), tmp_path / "run", part_size=2).finished


def test_missing_scores_and_failures_are_kept(tmp_path):
    scorer = type("Fails", (Broken,), {"wrong": Scored.failed(4, "timed out", prompts=2)})()
    folder = run_study(scorer, slates(), design(rows=2), tmp_path / "run")
    record = folder.find("s3")
    assert np.isnan(record.matrix.scores).all()
    assert record.failures == ("timed out",) * 4
    assert folder.find("s2").failures == (None,) * 4


def test_the_lock_keeps_a_second_study_out(tmp_path):
    class Nested(Spy):
        def score(self, shown):
            run_study(Spy(), slates(), design(rows=2), tmp_path / "run")
            return super().score(shown)

    with pytest.raises(ResumeError, match="another run is writing"):
        run_study(Nested(), slates(), design(rows=2), tmp_path / "run")
    assert run_study(Spy(), slates(), design(rows=2), tmp_path / "run").finished


def test_going_on_with_a_revision_that_does_not_cover_everything_warns(tmp_path):
    def made(revision=None):
        weights = np.ones(1)
        return evenhand.scorer(
            lambda query, texts: [float(weights[0]) for _ in texts], name="mine", revision=revision
        )

    run_study(made(), slates(3), design(rows=2), tmp_path / "auto")
    with pytest.warns(ResumeWarning, match=r"not cover weights.* Pass revision=.* --set revision=NAME"):
        run_study(made(), slates(3), design(rows=2), tmp_path / "auto")
    for _ in range(2):
        run_study(made("1"), slates(3), design(rows=2), tmp_path / "given")
