import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import evenhand
from evenhand.errors import (
    InputError,
    NothingMeasuredError,
    ResumeError,
    ScorerError,
    UsageError,
)
from evenhand.records import RunFolder
from evenhand.remedy import apply
from evenhand.seeds import generator
from evenhand.study.labels import label_quality, read_labels
from evenhand.train.labels import Labelled
from evenhand.train.scales import LabelScale, chosen, fitted, mapped, over_orders, parse_scale
from evenhand.train.silver import LabelWarning, Orders, label, read_labelled, read_silver
from evenhand.train.teacher import GradesTeacher, ask_teacher, grades_teacher, teacher_facts
from evenhand.types import Candidate, Scored, Slate, Surface


def slate(name="q", n=4, grades=True):
    candidates = tuple(Candidate(f"{name}c{i}", f"text {i}") for i in range(n))
    return Slate(
        name, f"query {name}", candidates, {f"{name}c{i}": i % 4 for i in range(n)} if grades else None
    )


def slates(count=5, n=4, **more):
    return [slate(f"q{i}", n, **more) for i in range(count)]


class Answers:
    """A teacher whose scores are what a function of (shown) says."""

    name, revision, scale, order_free = "answers", "1", "unit", False
    channels = frozenset({"order", "companions"})
    max_window = default_window = None
    surface = Surface()

    def __init__(self, f, **facts):
        self._f, self.calls = f, []
        for key, value in facts.items():
            setattr(self, key, value)

    def score(self, shown):
        self.calls.append([(one.slate.id, one.row) for one in shown])
        return [self._f(one) for one in shown]


def by_slot(shown):
    """Score = slot / 10, so that a label tells where its candidate stood."""
    return Scored(shown.presentation.slots() / 10, prompts=2, tokens=7)


# What is drawn.


def test_orders_are_drawn_from_seed_plus_t_and_slate():
    plan = Orders(3, 2, "contiguous", 5, Surface()).draw(slate(n=5))
    wanted = [tuple(generator(5 + t, "q", "label").permutation(5).tolist()) for t in range(3)]
    assert [one.order for one in plan.presentations] == wanted
    assert plan.kinds == ("random",) * 3
    assert not plan.exhaustive
    a, b, c, d, e = wanted[0]
    assert plan.presentations[0].windows == ((a, b), (c, d), (e,))


def test_one_order_is_the_first_of_ten_and_small_slates_still_have_ten():
    first = Orders(1, None, "contiguous", 3, Surface()).draw(slate()).presentations
    assert Orders(10, None, "contiguous", 3, Surface()).draw(slate()).presentations[:1] == first
    assert len(Orders(10, None, "contiguous", 3, Surface()).draw(slate(n=2))) == 10


def test_orders_are_uniform():
    # 6 orders of 3 candidates over 1200 slates: 200 each, sd sqrt(1200/6*5/6) = 12.9.
    drawn = Orders(1, None, "contiguous", 0, Surface())
    seen = [drawn.draw(slate(f"q{i}", 3)).presentations[0].order for i in range(1200)]
    counts = [seen.count(order) for order in itertools.permutations(range(3))]
    assert min(counts) > 150
    assert max(counts) < 250


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"orders": 0}, "orders must be at least 1"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"width": 0}, "width of at least 1"),
        ({"rule": "spiral"}, "unknown window rule 'spiral'; known are"),
        ({"surface": Surface(rubric="odd")}, "odd"),
        ({"part_size": 0}, "part_size must be"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_asked(tmp_path, settings, message):
    teacher = Answers(by_slot)
    with pytest.raises(UsageError, match=message):
        label(teacher, slates(), tmp_path / "out", **settings)
    assert not teacher.calls


def test_a_width_that_the_teacher_does_not_take_is_refused(tmp_path):
    teacher = Answers(by_slot, max_window=3)
    with pytest.raises(UsageError, match="slate 'q0' would be shown 4 candidates .* at most 3"):
        label(teacher, slates(), tmp_path / "out")
    assert label(teacher, slates(), tmp_path / "out", width=3).missing == 0


def test_what_is_no_scorer_is_refused(tmp_path):
    with pytest.raises(UsageError, match="a teacher is a scorer, got 'toy': open one by name"):
        label("toy", slates(), tmp_path / "out")


# What is written.


def test_the_file_holds_a_line_per_slate_order_and_candidate(tmp_path):
    grades = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [1, 0, 0, 0]])
    teacher = Answers(lambda one: Scored(by_slot(one).scores, grades=grades, prompts=2, tokens=7))
    report = label(teacher, slates(2, 3), tmp_path / "out", orders=2, width=2, seed=5)
    table = pq.read_table(tmp_path / "out" / "labels.parquet")
    assert table.column_names == [
        "slate",
        "candidate",
        "order_seed",
        "slot",
        "window",
        "grades",
        "score",
    ]
    lines = table.to_pylist()
    assert [(one["slate"], one["order_seed"], one["candidate"]) for one in lines] == [
        (q, t, f"{q}c{i}") for q in ("q0", "q1") for t in (5, 6) for i in range(3)
    ]
    for line in lines:
        order = generator(line["order_seed"], line["slate"], "label").permutation(3).tolist()
        place = order.index(int(line["candidate"][-1]))
        assert (line["window"], line["slot"]) == divmod(place, 2)
        assert line["score"] == line["slot"] / 10
        assert line["grades"] == grades[int(line["candidate"][-1])].tolist()
    # 2 slates x 2 orders x 2 prompts and 7 tokens.
    assert (report.prompts, report.tokens) == (8, 28)
    assert (report.slates, report.candidates, report.missing) == (2, 6, 0)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["settings"]["teacher"]["revision"] == "1"
    assert manifest["settings"]["teacher"]["scale"] == "unit"
    assert manifest["cost"] == {"prompts": 8, "tokens": 28}


def test_a_study_reads_the_same_file_and_finds_the_same_silver_beta(tmp_path):
    report = label(Answers(by_slot), slates(), tmp_path, orders=3)
    found = label_quality(tmp_path / "labels.parquet")
    assert report.silver_beta == pytest.approx(found.pooled, abs=1e-12)
    assert report.corrected == pytest.approx(found.corrected, abs=1e-12)
    assert [*read_labels(tmp_path / "labels.parquet")] == [f"q{i}" for i in range(5)]


def test_labels_of_one_order_are_the_first_of_several(tmp_path):
    label(Answers(by_slot), slates(), tmp_path / "one", seed=2)
    label(Answers(by_slot), slates(), tmp_path / "three", orders=3, seed=2)
    one = read_labelled(tmp_path / "one")
    three = read_labelled(tmp_path / "three", orders=1)
    assert [a.labels.tolist() for a in one] == [b.labels.tolist() for b in three]
    with pytest.raises(InputError, match="slate 'q0' has 3 orders, 4 are asked for"):
        read_labelled(tmp_path / "three", orders=4)


def test_an_order_free_teacher_is_asked_once_a_slate(tmp_path):
    teacher = Answers(lambda one: Scored(np.array([0.1, 0.4, 0.2, 0.3]), prompts=4), order_free=True)
    report = label(teacher, slates(3), tmp_path, orders=10)
    assert [rows for call in teacher.calls for rows in call] == [("q0", 0), ("q1", 0), ("q2", 0)]
    assert (report.prompts, report.silver_beta, report.corrected) == (12, 0, 0)
    (first, *_) = read_labelled(tmp_path)
    assert first.labels.tolist() == [0.1, 0.4, 0.2, 0.3]
    assert first.doubt.tolist() == [0, 0, 0, 0]


def test_a_remedied_teacher_is_a_teacher(tmp_path):
    inner = evenhand.open_scorer("toy:slot_bias=0.5")
    plain = label(inner, slates(8, 6), tmp_path / "plain", orders=4)
    steady = label(apply(inner, ["average:4"]), slates(8, 6), tmp_path / "steady", orders=4)
    assert steady.teacher["name"] == "toy:slot_bias=0.5 + average:4"
    assert len(steady.teacher["remedies"]) == 1
    assert steady.prompts == 4 * plain.prompts
    assert steady.silver_beta < plain.silver_beta


# Stopping, going on, other settings.


def stopping_after(calls):
    teacher = Answers(by_slot)

    def f(one):
        if len(teacher.calls) > calls:
            raise KeyboardInterrupt
        return by_slot(one)

    teacher._f = f
    return teacher


def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        label(stopping_after(1), slates(), tmp_path / "a", orders=2, part_size=2)
    assert not (tmp_path / "a" / "labels.parquet").exists()
    with pytest.raises(ResumeError, match="is not finished; run the same command again"):
        read_labelled(tmp_path / "a")
    done, rest = [], Answers(by_slot)
    label(rest, slates(), tmp_path / "a", orders=2, part_size=2, progress=lambda *at: done.append(at))
    label(Answers(by_slot), slates(), tmp_path / "b", orders=2, part_size=2)
    assert done == [(2, 5), (4, 5), (5, 5)]
    assert {name for call in rest.calls for name, _ in call} == {"q2", "q3", "q4"}
    for name in ("labels.parquet", "slates.jsonl", "manifest.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_finished_run_is_not_asked_again(tmp_path):
    first = label(Answers(by_slot), slates(), tmp_path, orders=2)
    again = Answers(by_slot)
    assert label(again, slates(), tmp_path, orders=2) == first
    assert again.calls == []


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"orders": 3}, "orders: 2 in the folder, 3 now"),
        ({"width": 2}, "width: None in the folder, 2 now"),
        ({"seed": 1}, "seed: 0 in the folder, 1 now"),
        ({"rule": "interleaved"}, "rule: 'contiguous' in the folder"),
        ({"surface": Surface(rubric="answer_support")}, "surface.rubric: 'relevance' in the folder"),
        ({"part_size": 3}, "part_size: 4 in the folder, 3 now"),
    ],
)
def test_other_settings_are_refused(tmp_path, settings, named):
    label(Answers(by_slot), slates(), tmp_path, orders=2)
    with pytest.raises(ResumeError, match=named):
        label(Answers(by_slot), slates(), tmp_path, **{"orders": 2, **settings})


def test_another_teacher_and_other_slates_are_refused(tmp_path):
    label(Answers(by_slot), slates(), tmp_path)
    with pytest.raises(ResumeError, match="teacher.revision: '1' in the folder, '2' now"):
        label(Answers(by_slot, revision="2"), slates(), tmp_path)
    with pytest.raises(ResumeError, match="the first difference is at slate 4"):
        label(Answers(by_slot), slates(4), tmp_path)


def test_a_run_of_an_audit_is_no_run_of_labels(tmp_path):
    evenhand.audit(evenhand.open_scorer("toy"), slates(), out=tmp_path)
    with pytest.raises(ResumeError, match="holds a run, but none of labels"):
        read_labelled(tmp_path)


def test_a_part_that_was_taken_away_is_labelled_again(tmp_path):
    nan = Scored.failed(4, "overloaded")
    broken = Answers(lambda one: nan if one.slate.id == "q2" else by_slot(one))
    report = label(broken, slates(), tmp_path, part_size=2)
    assert (report.missing, report.missing_slates, report.missing_parts) == (
        4,
        ("q2",),
        ("0001.parquet",),
    )
    # What is known of the others is as if the one were not there.
    others = [one for one in slates() if one.id != "q2"]
    alone = label(Answers(by_slot), others, tmp_path.parent / f"{tmp_path.name}-others")
    assert (report.complete, report.single, report.per_order) == (
        len(others),
        alone.single,
        alone.per_order,
    )
    (tmp_path / "parts" / "0001.parquet").unlink()
    mended = Answers(by_slot)
    assert label(mended, slates(), tmp_path, part_size=2).missing == 0
    assert [name for call in mended.calls for name, _ in call] == ["q2", "q3"]
    assert all(not np.isnan(one.labels).any() for one in read_labelled(tmp_path))


def test_labels_that_stand_by_the_word_of_a_revision_are_told(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        label(stopping_after(1), slates(), tmp_path, part_size=2)
    with pytest.warns(LabelWarning, match="does not cover model: .* two teachers"):
        label(Answers(by_slot, unseen=("model",)), slates(), tmp_path, part_size=2)


def test_a_changed_file_is_named(tmp_path):
    label(Answers(by_slot), slates(), tmp_path)
    path = tmp_path / "labels.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole + b" ")
    with pytest.raises(ResumeError, match="was changed or damaged; run the same command again"):
        read_labelled(tmp_path)
    label(Answers(by_slot), slates(), tmp_path)
    assert path.read_bytes() == whole


def test_a_part_of_other_slates_is_named(tmp_path):
    label(Answers(by_slot), slates(), tmp_path, part_size=2)
    (tmp_path / "labels.parquet").unlink()
    parts = tmp_path / "parts"
    for kind in ("parquet", "sha256"):
        (parts / f"0001.{kind}").write_bytes((parts / f"0000.{kind}").read_bytes())
    with pytest.raises(ResumeError, match="0001.parquet: holds other slates"):
        label(Answers(by_slot), slates(), tmp_path, part_size=2)


# Quality, by hand.


def test_quality_per_order_and_of_the_mean(tmp_path):
    # Grades 0, 1, 2, 3 (q) and scores that are right under order 0, reversed under order 1.
    # nDCG@10, linear gain: ideal 3 + 2/log2(3) + 1/2 = 4.761860; reversed
    # 1/log2(3) + 2/2 + 3/log2(5) = .630930 + 1 + 1.292030 = 2.922960; ratio .613827.
    right = np.array([0.0, 0.1, 0.2, 0.3])

    def f(one):
        return Scored(right if one.row == 0 else right[::-1] * 0.5)

    report = label(Answers(f), [slate(), slate("ungraded", grades=False)], tmp_path, orders=2)
    assert report.per_order == pytest.approx((1.0, 0.613827), abs=1e-5)
    assert report.single.mean == pytest.approx(0.806914, abs=1e-5)
    # Means (0 + .15, .1 + .1, .2 + .05, .3 + 0) / 2 = .075, .1, .125, .15: the right order.
    assert report.averaged.mean == 1
    assert (report.single.n, report.single.undefined) == (1, 1)
    # Within: sd of (x, y) has variance ((x - y)/2)^2: (.075, .0, .075, .15)^2 = .005625, 0,
    # .005625, .0225, mean .0084375; means vary by (.0375^2 + .0125^2) * 2 / 4 = .00078125.
    assert report.silver_beta == pytest.approx(0.0084375 / (0.0084375 + 0.00078125))


def test_without_grades_and_with_one_order_there_is_no_quality_and_no_beta(tmp_path):
    report = label(Answers(by_slot), slates(grades=False), tmp_path)
    assert np.isnan([report.per_order[0], report.single.mean, report.silver_beta]).all()


def test_a_candidate_that_lacks_a_label_has_no_mean(tmp_path):
    def f(one):
        scores = np.array([0.3, 0.2, 0.1, 0.0])
        return Scored(np.where((one.row == 1) & (np.arange(4) == 0), np.nan, scores))

    report = label(Answers(f), slates(1), tmp_path, orders=2)
    assert (report.missing, report.missing_slates) == (1, ("q0",))
    with pytest.raises(InputError, match="slate 'q0': the label of candidate 'q0c0' is nan"):
        read_labelled(tmp_path)


def test_nothing_to_label_and_nothing_labelled(tmp_path):
    with pytest.raises(NothingMeasuredError, match="the slates hold no candidates"):
        label(Answers(by_slot), [Slate("q", "query", ())], tmp_path / "a")
    with pytest.raises(ScorerError, match="answers gave none of 20 labels, the first failure: busy"):
        label(Answers(lambda one: Scored.failed(4, "busy")), slates(), tmp_path / "b")


# Reading.


def test_mean_is_the_label_and_sd_the_doubt(tmp_path):
    def f(one):
        return Scored(
            np.array([0.2, 0.6, 0.5, 0.0]) + [0.0, 0.2, 0.0, 0.1][one.row] * np.array([1, 1, 0, 0])
        )

    label(Answers(f), slates(2), tmp_path, orders=2)
    (first, second) = read_labelled(tmp_path)
    assert isinstance(first, Labelled)
    assert (first.slate, second.slate) == tuple(slates(2))
    # .2 and .4: mean .3, sd .1; .6 and .8: mean .7, sd .1; the others do not move.
    assert first.labels == pytest.approx([0.3, 0.7, 0.5, 0.0])
    assert first.doubt == pytest.approx([0.1, 0.1, 0, 0])
    assert read_labelled(tmp_path, orders=1)[0].doubt is None


def test_slates_may_come_in_another_order_and_number_with_candidates_in_another_order(tmp_path):
    label(Answers(by_slot), slates(), tmp_path, orders=2)
    turned = Slate("q3", "query q3", tuple(reversed(slates()[3].candidates)))
    (only,) = read_labelled(tmp_path, [turned])
    assert only.labels.tolist() == read_labelled(tmp_path)[3].labels[::-1].tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (slate("q9"), "no labels of slate 'q9'"),
        (slate("q1", 3), "'q1' had another query, other candidates or other texts"),
        (Slate("q1", "other", slate("q1").candidates), "'q1' had another query"),
    ],
)
def test_other_slates_are_refused(tmp_path, given, message):
    label(Answers(by_slot), slates(), tmp_path)
    with pytest.raises(InputError, match=message):
        read_labelled(tmp_path, [given])


def test_slates_that_lack_labels_are_dropped_when_asked(tmp_path):
    nan = Scored.failed(4, "overloaded")
    label(Answers(lambda one: nan if one.slate.id == "q2" else by_slot(one)), slates(), tmp_path)
    with pytest.warns(LabelWarning, match="1 of 5 slates lack a label and are left out: 'q2'"):
        found = read_silver(tmp_path, drop_missing=True)
    assert found.dropped == ("q2",)
    assert len(found.labelled) == 4
    assert found.facts == {
        "teacher": found.facts["teacher"], "orders": [1], "scale": {"kind": "unit"},
    }  # fmt: skip
    assert found.facts["teacher"]["name"] == "answers"


def test_a_slate_without_candidates_stays(tmp_path):
    label(Answers(by_slot), [slate(), Slate("none", "query", ())], tmp_path)
    assert [len(one.labels) for one in read_labelled(tmp_path)] == [4, 0]


def write_file(path, lines):
    names = ("slate", "candidate", "order_seed", "score")
    pq.write_table(
        pa.table(
            {name: list(column) for name, column in zip(names, zip(*lines, strict=True), strict=True)}
        ),
        path,
    )
    return path


LINES = [("q", f"qc{i}", t, i / 10 + t / 5) for t in (3, 1) for i in (2, 0, 3, 1)]


def test_a_file_alone_is_read_with_slates(tmp_path):
    path = write_file(tmp_path / "l.parquet", LINES)
    (one,) = read_labelled(path, [slate()])
    # Order seeds 1 and 3: i/10 + .2 and i/10 + .6.
    assert one.labels == pytest.approx([0.4, 0.5, 0.6, 0.7])
    assert one.doubt == pytest.approx([0.2] * 4)
    assert read_labelled(path, [slate()], orders=1)[0].labels == pytest.approx([0.2, 0.3, 0.4, 0.5])
    with pytest.raises(UsageError, match="a file of labels holds no texts; give the slates"):
        read_labelled(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*LINES, LINES[0]], "two labels of a candidate under one order seed"),
        ([*LINES, ("q", "other", 1, 0.5)], "the labels are of other candidates than its 4"),
        (LINES[1:], "the label of candidate 'qc2' is nan"),
        ([*LINES[:-1], ("q", "qc1", 1, None)], "the label of candidate 'qc1' is nan"),
        ([*LINES[:-1], ("q", None, 1, 0.5)], "column candidate holds a null"),
        ([*LINES[:-1], ("q", "qc1", 1, 7.0)], "the label of candidate 'qc1' is 3.85"),
    ],
)
def test_faulty_files_are_named(tmp_path, lines, message):
    with pytest.raises(InputError, match=message):
        read_labelled(write_file(tmp_path / "l.parquet", lines), [slate()])


def test_what_is_no_file_of_labels_is_named(tmp_path):
    with pytest.raises(InputError, match="does not exist; name the folder"):
        read_labelled(tmp_path / "none")
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_labelled(tmp_path / "text.parquet", [slate()])
    pq.write_table(pa.table({"slate": ["q"]}), tmp_path / "short.parquet")
    with pytest.raises(InputError, match="no column candidate, order_seed, score"):
        read_labelled(tmp_path / "short.parquet", [slate()])
    with pytest.raises(ResumeError, match="no run here"):
        read_labelled(tmp_path)


# Scales.


def log_likelihood(tmp_path):
    teacher = Answers(
        lambda one: Scored(np.array([-4.0, -1.0, -2.0, -3.0]) - one.row), scale="log_likelihood"
    )
    label(teacher, slates(2), tmp_path, orders=2)
    return tmp_path


@pytest.mark.parametrize("scale", [None, "unit"])
def test_another_scale_needs_a_choice(tmp_path, scale):
    with pytest.raises(
        UsageError,
        match="on the scale 'log_likelihood'.*--scale logistic.*--scale rank.*='logistic'.*Min-max is",
    ):
        read_labelled(log_likelihood(tmp_path), scale=scale)


def test_ranks_by_hand(tmp_path):
    # -4, -1, -2, -3 beat 0, 3, 2, 1 of 3 others, under every order.
    one = read_labelled(log_likelihood(tmp_path), scale="rank")[0]
    assert one.labels == pytest.approx([0, 1, 2 / 3, 1 / 3])
    assert one.doubt.tolist() == [0, 0, 0, 0]


def test_ranks_of_ties_of_one_and_of_missing():
    # 1 beats nobody; the two 2s beat 1 and half of each other: 1.5/3; 5 beats 3.
    rank = LabelScale("rank")
    assert mapped(rank, np.array([[1.0, 2, 2, 5]])).tolist() == [[0, 0.5, 0.5, 1]]
    assert mapped(rank, np.array([[7.0]])).tolist() == [[0.5]]
    assert mapped(rank, np.empty((2, 0))).shape == (2, 0)
    found = mapped(rank, np.array([[1.0, np.nan, 3, 2]]))
    assert found[0, [0, 2, 3]].tolist() == [0, 1, 0.5]
    assert np.isnan(found[0, 1])


def test_a_logistic_by_hand(tmp_path):
    # Scores -4..-1 and -5..-2, each four times in all: quantile 0.25 of -5 -4 -4 -3 -3 -2 -2 -1
    # (two slates alike) and .75 of it.
    scale = LabelScale("logistic", (0.25, 0.75), (0.2, 0.8))
    found = read_silver(log_likelihood(tmp_path), scale=scale)
    every = np.repeat([-5.0, -4, -4, -3, -3, -2, -2, -1], 2)
    low, high = np.quantile(every, [0.25, 0.75])
    # logit(.8) - logit(.2) = 2 ln 4.
    b = 2 * np.log(4) / (high - low)
    a = -np.log(4) - b * low
    assert found.facts["scale"] == {
        "kind": "logistic", "quantiles": [0.25, 0.75], "values": [0.2, 0.8],
        "a": pytest.approx(a), "b": pytest.approx(b),
    }  # fmt: skip
    two = 1 / (1 + np.exp(-(a + b * np.array([-4.0, -5.0]))))
    assert found.labelled[0].labels[0] == pytest.approx(two.mean())
    assert found.labelled[0].doubt[0] == pytest.approx(two.std())


def test_a_logistic_gives_its_quantiles_their_values():
    scores = [np.linspace(-30, -10, 201).reshape(1, -1)]
    scale = fitted(parse_scale("logistic"), scores)
    # Quantile .05 of -30 .. -10 is -29, of .95 -11.
    assert mapped(scale, np.array([[-29.0, -11.0, -20.0]])) == pytest.approx(
        np.array([[0.05, 0.95, 0.5]])
    )
    again = fitted(parse_scale(f"logistic:a={scale.a},b={scale.b}"), [])
    assert mapped(again, scores[0]).tolist() == mapped(scale, scores[0]).tolist()


def test_a_logistic_label_does_not_depend_on_the_other_candidates():
    scale = parse_scale("logistic:a=1,b=2")
    assert (
        mapped(scale, np.array([[-0.5, 3.0]]))[0, 0] == mapped(scale, np.array([[-0.5]]))[0, 0] == 0.5
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minmax", "unknown scale 'minmax'; known are unit, rank, logistic"),
        ("rank:1", "unknown scale 'rank:1'"),
        ("logistic:0.1", "give two numbers"),
        ("logistic:0.9,0.1", "two rising numbers"),
        ("logistic:0,1", "must lie between 0 and 1"),
        ("logistic:a=1,b=-2", "b must be above 0"),
        ("logistic:b=1,a=2", "give two numbers, LOW,HIGH, or a=A,b=B"),
        ("logistic:x,y", "a scale takes numbers, got 'x'"),
    ],
)
def test_wrong_scales_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_scale(text)


def test_scales_that_cannot_be_used():
    with pytest.raises(UsageError, match="both a and b, or neither"):
        LabelScale("logistic", a=1.0)
    with pytest.raises(UsageError, match="unknown scale 'odd'"):
        LabelScale("odd")
    with pytest.raises(UsageError, match="not fitted yet"):
        mapped(LabelScale("logistic"), np.array([[0.5]]))
    with pytest.raises(InputError, match="are both 2; name quantiles further apart"):
        fitted(LabelScale("logistic"), [np.full((2, 3), 2.0)])
    for nothing in ([], [np.full((1, 2), np.nan)]):
        with pytest.raises(InputError, match="there are no scores"):
            fitted(LabelScale("logistic"), nothing)
    assert chosen(None, {}) == chosen("unit", {"scale": "unit"}) == LabelScale()
    assert chosen("rank", {"scale": "raw"}).kind == "rank"


def test_a_mean_over_orders_is_exact_where_nothing_moves():
    mean, sd = over_orders(np.tile([0.1, 0.7, 1.0], (10, 1)))
    assert mean.tolist() == [0.1, 0.7, 1.0]
    assert sd.tolist() == [0, 0, 0]


# Teachers.


def test_human_grades_as_teacher(tmp_path):
    report = label(GradesTeacher(), slates(2), tmp_path / "a")
    assert (report.averaged.mean, report.prompts, report.tokens) == (1, 0, 0)
    # Grades 0, 1, 2, 3 over 3.
    assert read_labelled(tmp_path / "a")[0].labels == pytest.approx([0, 1 / 3, 2 / 3, 1])
    label(grades_teacher({"highest": 2}), slates(2), tmp_path / "b")
    assert read_labelled(tmp_path / "b")[0].labels.tolist() == [0, 0.5, 1, 1]
    both = [*slates(1), slate("q9", grades=False)]
    report = label(GradesTeacher(), both, tmp_path / "c")
    assert report.missing_slates == ("q9",)


def test_grades_refuse_unknown_options():
    with pytest.raises(UsageError, match=r"unknown options \['top'\]; known are \['highest'\]"):
        grades_teacher({"top": 3})
    with pytest.raises(UsageError, match="highest must be at least 1"):
        grades_teacher({"highest": 0})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda shown: [], "gave 0 answers for 1 presentations"),
        (lambda shown: None, "gave a NoneType answers"),
        (lambda shown: [Scored(np.zeros(3))], "slate 'q', order 0: got .* need a Scored with 4 scores"),
        (lambda shown: [0.5], "got 0.5, need a Scored"),
        (lambda shown: [Scored(np.array([0, 0, np.inf, 0]))], "a score is infinite"),
        (lambda shown: 1 / 0, "answers failed on slates 'q' to 'q': ZeroDivisionError"),
    ],
)
def test_what_is_no_answer_is_refused(answer, message):
    teacher = Answers(by_slot)
    teacher.score = answer
    shown = list(Orders(1, None, "contiguous", 0, Surface()).draw(slate()).shown(slate()))
    with pytest.raises(ScorerError, match=message):
        ask_teacher(teacher, [shown])


def test_an_error_of_ours_passes_as_it_is():
    teacher = Answers(by_slot)

    def score(shown):
        raise UsageError("a width")

    teacher.score = score
    shown = list(Orders(1, None, "contiguous", 0, Surface()).draw(slate()).shown(slate()))
    with pytest.raises(UsageError, match="a width"):
        ask_teacher(teacher, [shown])


def test_facts_say_what_moves_scores():
    facts = teacher_facts(Answers(by_slot, dtype="float32", max_candidate_tokens=64))
    assert facts["dtype"] == "float32"
    assert facts["max_candidate_tokens"] == 64
    function = evenhand.scorer(lambda q, t: [0.0] * len(t), order_only=True)
    assert teacher_facts(function)["order_only"] is True


def test_the_run_is_locked_while_it_is_labelled(tmp_path):
    def f(one):
        with pytest.raises(ResumeError, match="another run is writing"):
            RunFolder.begin(tmp_path, {}, [])
        return by_slot(one)

    assert label(Answers(f), slates(1), tmp_path).missing == 0


@pytest.mark.slow
def test_query_likelihood_as_teacher(tmp_path):
    from evenhand.data.demo import demo_slates

    teacher = evenhand.open_scorer("ql:smollm2-135m")
    report = label(teacher, demo_slates(4), tmp_path, orders=2)
    assert report.teacher["scale"] == "log_likelihood"
    assert report.silver_beta == 0
    assert report.averaged.mean > 0.5
    for one in read_labelled(tmp_path, scale="logistic"):
        assert one.labels.min() > 0
        assert one.labels.max() < 1
