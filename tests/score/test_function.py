"""A wrapped function: what it is given, what it may return, and misbehaving ones."""

import asyncio
import itertools
from functools import partial

import numpy as np
import pytest

from evenhand.errors import ScorerError, UsageError
from evenhand.score.function import FunctionScorer, scorer
from evenhand.types import Candidate, Presentation, Shown, Slate


def slate_of(*texts, slate_id="s"):
    return Slate(slate_id, "q", tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts)))


def shown_in(slate, *windows, row=0, kind="canonical"):
    order = tuple(i for window in windows for i in window)
    return Shown(slate, Presentation(order, windows), row, kind)


def whole(slate, row=0, kind="canonical"):
    return shown_in(slate, tuple(range(len(slate))), row=row, kind=kind)


def lengths(query, texts):
    return [float(len(text)) for text in texts]


def scores_of(f, shown, **options):
    (scored,) = scorer(f, **options).score([shown])
    return scored.scores.tolist()


# What the function is given


def test_texts_come_by_window_in_slot_order_and_scores_go_home():
    seen = []

    def f(query, texts):
        seen.append((query, list(texts)))
        return lengths(query, texts)

    # canonical a, bb, ccc, dddd; windows (3, 0), (2, 1)
    (scored,) = scorer(f).score([shown_in(slate_of("a", "bb", "ccc", "dddd"), (3, 0), (2, 1))])
    assert seen == [("q", ["dddd", "a"]), ("q", ["ccc", "bb"])]
    assert scored.scores.tolist() == [1, 2, 3, 4]
    assert (scored.prompts, scored.tokens, scored.failure) == (2, 0, None)


def test_a_title_stands_before_the_text():
    seen = []
    slate = Slate("s", "q", (Candidate("a", "text", "Title"), Candidate("b", "alone")))
    scorer(lambda query, texts: seen.extend(texts) or [0, 0]).score([whole(slate)])
    assert seen == ["Title: text", "alone"]


def test_a_function_that_edits_its_list_changes_nothing():
    def f(query, texts):
        scores = lengths(query, texts)
        texts.clear()
        return scores

    slate = slate_of("a", "bb")
    assert scores_of(f, whole(slate)) == [1, 2]
    assert [candidate.text for candidate in slate.candidates] == ["a", "bb"]


def test_an_empty_slate_is_an_empty_result_without_a_call():
    def f(query, texts):
        raise AssertionError("called for nothing")

    (scored,) = scorer(f).score([Shown(Slate("s", "q", ()), Presentation((), ()))])
    assert scored.scores.shape == (0,)
    assert (scored.prompts, scored.failure) == (0, None)


# What it may return


class Tensor:
    """What torch gives: no sequence, but a tolist."""

    def __init__(self, values):
        self.values = values

    def tolist(self):
        return self.values


@pytest.mark.parametrize(
    "answer",
    [
        [1, 2.5],
        (1, 2.5),
        np.array([1, 2.5], dtype=np.float32),
        Tensor([1, 2.5]),
        [np.float32(1), np.float64(2.5)],
        [np.array(1), np.array(2.5)],
    ],
)
def test_lists_arrays_and_tensors_are_scores(answer):
    assert scores_of(lambda query, texts: answer, whole(slate_of("a", "b"))) == [1, 2.5]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ([1.0], "1 values for 2 texts"),
        ([1.0, 2.0, 3.0], "3 values for 2 texts"),
        ([], "0 values for 2 texts"),
        (None, "NoneType None"),
        (1.0, "float 1.0"),
        ("12", "str '12'"),
        (b"12", "bytes"),
        ({0: 1.0, 1: 2.0}, "dict"),
        ({1.0, 2.0}, "set"),
        (iter([1.0, 2.0]), "list_iterator"),
        (np.array(1.0), "array"),
        ([1.0, "2"], "str '2' as the score of text 1"),
        ([None, 1.0], "NoneType None as the score of text 0"),
        ([1.0, 2j], "complex 2j as the score of text 1"),
        (np.array([[1.0], [2.0]]), r"list \[1.0\] as the score of text 0"),
        ([1.0, float("inf")], "infinite inf as the score of text 1"),
        ([-np.inf, 1.0], "infinite -inf as the score of text 0"),
        ([1.0, 10**400], "infinite 1000"),
    ],
)
def test_an_answer_that_is_no_scores_is_an_error_that_names_the_slate(answer, what):
    wrapped = scorer(lambda query, texts: answer, name="mine")
    with pytest.raises(
        ScorerError, match=rf"mine, slate 's9': the function returned .*{what}.*2 numbers"
    ):
        wrapped.score([whole(slate_of("a", "b", slate_id="s9"))])


def test_a_long_wrong_answer_is_cut_in_the_message():
    with pytest.raises(ScorerError) as caught:
        scorer(lambda query, texts: "x" * 10_000).score([whole(slate_of("a"))])
    assert len(str(caught.value)) < 300


def test_nan_stays_in_place_and_is_counted():
    (scored,) = scorer(lambda query, texts: [1.0, float("nan"), 3.0]).score(
        [whole(slate_of("a", "b", "c"))]
    )
    np.testing.assert_array_equal(scored.scores, [1, np.nan, 3])
    assert scored.failure == "the function returned NaN for 1 of 3 candidates"


def test_who_is_not_shown_is_neither_asked_for_nor_missing():
    asked = []

    def f(query, texts):
        asked.append(texts)
        return list(map(len, texts))

    slate = slate_of("a", "bb", "ccc")
    shown = Shown(slate, Presentation((2, 0), ((2, 0),), omitted=(1,)))
    (scored,) = scorer(f).score([shown])
    assert asked == [["ccc", "a"]]
    np.testing.assert_array_equal(scored.scores, [1, np.nan, 3])
    assert scored.failure is None
    (lost,) = scorer(lambda query, texts: [1.0, float("nan")]).score([shown])
    assert lost.failure == "the function returned NaN for 1 of 2 candidates"


def test_a_declared_unit_scale_is_held():
    half = whole(slate_of("a", "b"))
    assert scores_of(lambda query, texts: [0.0, 1.0], half, scale="unit") == [0, 1]
    with pytest.raises(ScorerError, match=r"scores from 0.5 to 1.5 are outside \[0, 1\]"):
        scores_of(lambda query, texts: [0.5, 1.5], half, scale="unit")


# Failures


def test_an_exception_is_the_failure_of_its_row_alone():
    def f(query, texts):
        if "bad" in texts:
            raise RuntimeError("no answer")
        return lengths(query, texts)

    good, bad = slate_of("a", "bb"), slate_of("a", "bad", slate_id="t")
    first, failed, last = scorer(f).score([whole(good), shown_in(bad, (0,), (1,)), whole(good)])
    assert first.scores.tolist() == last.scores.tolist() == [1, 2]
    assert np.isnan(failed.scores).all()
    assert failed.failure == "the function raised RuntimeError: no answer"
    assert failed.prompts == 2


def test_an_interrupt_is_no_failure_of_a_row():
    def f(query, texts):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scorer(f).score([whole(slate_of("a"))])


# Coroutines


async def slow_lengths(query, texts):
    await asyncio.sleep(0)
    return lengths(query, texts)


class AsyncObject:
    async def __call__(self, query, texts):
        return await slow_lengths(query, texts)


@pytest.mark.parametrize(
    "f",
    [
        slow_lengths,
        AsyncObject(),
        partial(slow_lengths),
        lambda query, texts: slow_lengths(query, texts),
    ],
)
def test_coroutine_functions_are_awaited_with_and_without_a_running_loop(f):
    shown = shown_in(slate_of("a", "bb", "ccc"), (2, 0), (1,))

    async def inside_a_loop():
        return scores_of(f, shown)

    assert scores_of(f, shown) == [1, 2, 3]
    assert asyncio.run(inside_a_loop()) == [1, 2, 3]


def test_at_most_eight_calls_are_open():
    running, most = 0, 0

    async def f(query, texts):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return lengths(query, texts)

    shown = [shown_in(slate_of("a", "bb"), (1,), (0,)) for _ in range(10)]
    assert [scored.scores.tolist() for scored in scorer(f).score(shown)] == [[1, 2]] * 10
    assert most == 8


def test_a_failing_coroutine_fails_its_row_alone():
    async def f(query, texts):
        if texts == ["bad"]:
            raise TimeoutError("too slow")
        return lengths(query, texts)

    failed, good = scorer(f).score([shown_in(slate_of("a", "bad"), (0,), (1,)), whole(slate_of("a"))])
    assert failed.failure == "the function raised TimeoutError: too slow"
    assert np.isnan(failed.scores).all()
    assert good.scores.tolist() == [1]


def test_a_coroutine_with_a_wrong_answer_is_an_error():
    async def f(query, texts):
        return [1.0]

    with pytest.raises(ScorerError, match="1 values for 2 texts"):
        scorer(f).score([whole(slate_of("a", "b"))])


# Settings


def test_declarations():
    plain = scorer(lengths)
    assert (plain.name, plain.scale, plain.order_free) == ("lengths", "raw", False)
    assert (plain.max_window, plain.default_window) == (None, None)
    assert plain.channels == {"order", "companions", "window", "membership"}
    told = scorer(lengths, name="n", revision="7", scale="unit", order_free=True, max_window=5)
    assert (told.name, told.revision, told.scale, told.order_free) == ("n", "7", "unit", True)
    assert (told.max_window, told.default_window) == (5, 5)


def test_the_default_revision_follows_name_and_source():
    def other(query, texts):
        return [0.0] * len(texts)

    assert scorer(lengths).revision == FunctionScorer(lengths).revision
    assert scorer(lengths).revision != scorer(other).revision
    assert scorer(AsyncObject()).revision == scorer(AsyncObject()).revision
    assert scorer(len_of_all := partial(lengths)).name == "partial"
    assert scorer(len_of_all).revision != scorer(lengths).revision


@pytest.mark.parametrize(
    ("f", "message"),
    [
        ("toy", "wraps a function .* got str 'toy'"),
        (None, "got NoneType"),
        (lambda query: [0.0], r"lambda\(query\) cannot be called as f\(query, texts\)"),
        (lambda query, texts, limit: [0.0], "missing a required argument: 'limit'"),
    ],
)
def test_what_cannot_be_called_is_refused(f, message):
    with pytest.raises(UsageError, match=message):
        scorer(f)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"scale": "percent"}, "'percent' is unknown; known are"), ({"max_window": 0}, "at least 1")],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        scorer(lengths, **options)


def test_a_window_over_the_limit_is_refused():
    with pytest.raises(
        ScorerError, match="slate 's': a window of 3 candidates, but lengths takes at most 2"
    ):
        scorer(lengths, max_window=2).score([whole(slate_of("a", "b", "c"))])


def test_a_builtin_without_a_signature_is_taken():
    # max("q", ["a"]) cannot compare: the row fails, with the reason
    (scored,) = scorer(max).score([whole(slate_of("a"))])
    assert scored.failure.startswith("the function raised TypeError")


# Misbehaving functions


class StaleCache:
    """Answers the second call for a query from a mix-up with the first (C1)."""

    def __init__(self):
        self.calls = 0

    def __call__(self, query, texts):
        self.calls += 1
        return [len(text) + 0.5 * (self.calls > 1) * place for place, text in enumerate(texts)]


def test_a_stale_cache_shows_between_canonical_and_repeat():
    slate = slate_of("aaa", "bb", "c")
    canonical, repeat = scorer(StaleCache()).score([whole(slate), whole(slate, row=1, kind="repeat")])
    assert canonical.scores.tolist() == [3, 2, 1]
    assert repeat.scores.tolist() == [3, 2.5, 2]


def softmax_over_batch(query, texts):
    raised = np.exp([float(text) for text in texts])
    return raised / raised.sum()


def test_softmax_over_the_batch_moves_with_the_companions():
    # C2. Alone exp(x)/exp(x) = 1; together e^2, e, 1 over 11.107: .665, .245, .090
    slate = slate_of("2", "1", "0")
    assert scores_of(softmax_over_batch, shown_in(slate, (0,), (1,), (2,))) == [1, 1, 1]
    together = scores_of(softmax_over_batch, whole(slate))
    np.testing.assert_allclose(together, [0.6652, 0.2447, 0.0900], atol=5e-5)
    # order alone does not tell: the same scores in every order of one window
    for order in itertools.permutations(range(3)):
        np.testing.assert_allclose(scores_of(softmax_over_batch, shown_in(slate, order)), together)


def min_max(query, texts):
    values = np.array([float(text) for text in texts])
    width = values.max() - values.min()
    return (values - values.min()) / width if width else np.zeros(len(values))


def test_min_max_moves_when_a_candidate_is_dropped_but_not_with_order():
    # C3. [3.2] -> 0; [2, 2] -> 0, 0; 5, 4, 1 -> (5-1)/4, (4-1)/4, 0; without the last 5, 4 -> 1, 0
    assert scores_of(min_max, whole(slate_of("3.2"))) == [0]
    assert scores_of(min_max, whole(slate_of("2", "2"))) == [0, 0]
    for order in itertools.permutations(range(3)):
        assert scores_of(min_max, shown_in(slate_of("5", "4", "1"), order)) == [1, 0.75, 0]
    assert scores_of(min_max, whole(slate_of("5", "4"))) == [1, 0]


def test_identical_texts_are_told_apart_by_candidate():
    # C9. x, x, y by place 2, 1, 0: shown as 2 0 1 the second x is last
    slate = slate_of("x", "x", "y")

    def by_place(query, texts):
        return list(range(len(texts) - 1, -1, -1))

    assert scores_of(by_place, shown_in(slate, (2, 0, 1))) == [1, 0, 2]
    # an honest function gives the twins one score in every order
    for order in itertools.permutations(range(3)):
        assert scores_of(lambda q, t: [float(x == "y") for x in t], shown_in(slate, order)) == [0, 0, 1]


def test_empty_texts_keep_their_place_and_leave_the_others_alone():
    # C27. lengths 6, 0, 3, 6 whatever the order
    slate = slate_of("root A", "", "   ", "root D")
    assert scores_of(lengths, whole(slate)) == [6, 0, 3, 6]
    assert scores_of(lengths, shown_in(slate, (1, 3), (2, 0))) == [6, 0, 3, 6]


def test_partials_are_told_apart_by_function_and_arguments():
    def weighted(weight, query, texts):
        return [weight * len(text) for text in texts]

    def other(weight, query, texts):
        return [weight - len(text) for text in texts]

    revisions = {scorer(partial(f, weight)).revision for f in (weighted, other) for weight in (1, 2)}
    assert len(revisions) == 4
    assert scorer(partial(weighted, 1)).revision == scorer(partial(weighted, 1)).revision


WEIGHT = 1.0
TABLE = {"a": [1, (2, None)], "b": b"x"}
MODEL = np.zeros(2)


def reads_globals(query, texts):
    return [WEIGHT * len(TABLE) for _ in texts]


def reads_a_model(query, texts):
    return [float(MODEL[0]) * WEIGHT for _ in texts]


def made(weight, model=None):
    def f(query, texts):
        return [weight if model is None else model for _ in texts]

    return f


class Weighted:
    def __init__(self, weight):
        self.weight = weight

    def __call__(self, query, texts):
        return [self.weight for _ in texts]


def test_the_default_revision_covers_plain_globals(monkeypatch):
    before = scorer(reads_globals)
    assert before.unseen == ()
    monkeypatch.setitem(globals(), "WEIGHT", 2.0)
    weighed = scorer(reads_globals).revision
    monkeypatch.setitem(globals(), "TABLE", {"a": [1, (3, None)], "b": b"x"})
    assert len({before.revision, weighed, scorer(reads_globals).revision}) == 3
    monkeypatch.undo()
    assert scorer(reads_globals).revision == before.revision


def test_the_default_revision_covers_plain_closures_and_attributes():
    assert scorer(made(1)).revision == scorer(made(1)).revision
    # 1, 1.0 and True are equal and yet other values
    assert len({scorer(made(weight)).revision for weight in (1, 1.0, True, "1", [1], (1,))}) == 6
    assert scorer(Weighted(1)).revision == scorer(Weighted(1)).revision
    assert scorer(Weighted(1)).revision != scorer(Weighted(2)).revision
    assert scorer(Weighted(1).__call__).revision != scorer(Weighted(2).__call__).revision


def test_what_the_default_revision_cannot_cover_is_named():
    assert scorer(reads_a_model).unseen == ("MODEL",)
    assert scorer(made(1, model=object())).unseen == ("model",)
    assert scorer(Weighted(np.ones(1))).unseen == ("weight",)
    assert scorer(partial(made(1))).unseen == () == scorer(lengths).unseen
    assert scorer(reads_a_model, revision="1").unseen == ()


@pytest.mark.parametrize(
    "options",
    [{"name": ""}, {"name": 5}, {"revision": 5}, {"order_free": "no"}, {"max_window": True}],
)
def test_declarations_of_another_type_are_refused(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        scorer(lengths, **options)


def test_a_wrong_score_is_cut_in_the_message():
    for wrong in ([10**5000] * 2, ["x" * 900] * 2, [10**400] * 2):
        with pytest.raises(ScorerError) as caught:
            scores_of(lambda query, texts, wrong=wrong: wrong, whole(slate_of("a", "b")))
        assert len(str(caught.value)) < 400
