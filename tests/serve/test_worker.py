"""The scoring thread: bounded, shared, never one for another's fault, dropped when nobody waits."""

import threading

import pytest

import evenhand
from evenhand.errors import ScorerError
from evenhand.serve.ask import slate_of
from evenhand.serve.spread import Teller
from evenhand.serve.worker import ClosedError, FullError, Job, Worker
from evenhand.types import Presentation, Shown


def job(teller, query, *texts):
    slate = slate_of(query, texts or ["aa"])
    order = tuple(range(len(slate)))
    return Job(teller, (Shown(slate, Presentation(order, (order,))),), None)


@pytest.fixture
def work(held):
    """A worker whose scorer is held inside a first call, and the teller."""
    teller = Teller(held, [])
    worker = Worker(queue=4, batch=3)
    first = job(teller, "first")
    worker.submit(first)
    assert held.entered.acquire(timeout=10)
    yield worker, teller, held, first
    held.gate.set()
    assert worker.close()


def test_jobs_that_wait_share_calls_in_the_order_they_came(work):
    worker, teller, held, _ = work
    jobs = [job(teller, f"q{i}", "a" * i) for i in range(1, 5)]
    for one in jobs:
        worker.submit(one)
    held.gate.set()
    found = [one.done.result(10)[0].scored.scores.tolist() for one in jobs]
    assert found == [[0.01], [0.02], [0.03], [0.04]]
    assert held.calls == [["first"], ["q1", "q2", "q3"], ["q4"]]


def test_only_jobs_with_the_same_remedies_share_a_call(work, held):
    worker, teller, *_ = work
    other = Teller(held, ["interleave"])
    jobs = [job(each, f"q{i}") for i, each in enumerate((teller, other, other, teller))]
    for one in jobs:
        worker.submit(one)
    held.gate.set()
    jobs[-1].done.result(10)
    assert held.calls == [["first"], ["q0"], ["q1", "q2"], ["q3"]]


def test_a_full_line_refuses(work):
    worker, teller, *_ = work
    for i in range(4):
        worker.submit(job(teller, f"q{i}"))
    with pytest.raises(FullError):
        worker.submit(job(teller, "fifth"))
    assert worker.waiting == 4


def test_one_bad_job_fails_alone(work):
    worker, teller, held, _ = work
    good, bad, also = job(teller, "a", "xx"), job(teller, "b", "bad"), job(teller, "c", "xxx")
    for one in (good, bad, also):
        worker.submit(one)
    held.gate.set()
    assert good.done.result(10)[0].scored.scores.tolist() == [0.02]
    assert also.done.result(10)[0].scored.scores.tolist() == [0.03]
    with pytest.raises(ScorerError, match="bad"):
        bad.done.result(10)


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_whatever_a_scorer_raises_the_next_job_is_served(raised):
    def scores(query, texts):
        if query == "bad":
            raise raised
        return [len(text) / 100 for text in texts]

    teller = Teller(evenhand.scorer(scores), [])
    worker = Worker(queue=4, batch=1)
    bad, good = job(teller, "bad", "xx"), job(teller, "good", "xxx")
    worker.submit(bad)
    with pytest.raises(ScorerError, match=type(raised).__name__):
        bad.done.result(10)
    worker.submit(good)
    assert good.done.result(10)[0].scored.scores.tolist() == [0.03]
    assert worker.close()


def test_a_job_that_is_dropped_is_never_scored(work):
    worker, teller, held, _ = work
    gone, stays = job(teller, "gone"), job(teller, "stays")
    worker.submit(gone)
    worker.submit(stays)
    assert worker.drop(gone)
    assert gone.done.cancelled()
    assert worker.waiting == 1
    held.gate.set()
    stays.done.result(10)
    assert held.calls == [["first"], ["stays"]]


def test_a_job_that_is_dropped_while_others_are_asked_alone_is_not_scored(held):
    teller = Teller(held, [])
    worker = Worker(queue=4, batch=3)
    worker.submit(job(teller, "first"))
    assert held.entered.acquire(timeout=10)
    bad, gone = job(teller, "b", "bad"), job(teller, "gone")
    for one in (bad, gone):
        worker.submit(one)
    score, left = held.score, []

    def drops(shown):
        if len(shown) == 1 and shown[0].slate.query == "b":
            left.append(worker.drop(gone))
        return score(shown)

    held.score = drops
    held.gate.set()
    with pytest.raises(ScorerError):
        bad.done.result(10)
    assert worker.close()
    # It was begun, so no drop takes it back; but after the shared call nobody asks for it.
    assert left == [False]
    assert held.calls == [["first"], ["b", "gone"], ["b"]]


def test_closing_between_two_single_calls_ends_them(held):
    teller = Teller(held, [])
    worker = Worker(queue=4, batch=3)
    worker.submit(job(teller, "first"))
    assert held.entered.acquire(timeout=10)
    bad, late = job(teller, "b", "bad"), job(teller, "late")
    for one in (bad, late):
        worker.submit(one)
    score, met = held.score, threading.Event()
    closing = threading.Thread(target=worker.close, args=(0.0,))

    def closes(shown):
        if len(shown) == 1 and not met.is_set():
            met.set()
            closing.start()
            closing.join(10)
        return score(shown)

    held.score = closes
    held.gate.set()
    assert isinstance(late.done.exception(10), ClosedError)
    assert isinstance(bad.done.exception(10), ClosedError)
    assert worker.close()
    assert held.calls == [["first"], ["b", "late"], ["b"]]


def test_jobs_taken_but_not_begun_are_told_when_the_worker_closes(held):
    teller, met, go = Teller(held, []), threading.Event(), threading.Event()
    held.gate.set()

    def waits(jobs):
        met.set()
        assert go.wait(10)

    worker = Worker(4, 3, waits)
    one = job(teller, "one")
    worker.submit(one)
    assert met.wait(10)
    assert not worker.close(0.0)
    assert isinstance(one.done.exception(1), ClosedError)
    go.set()
    assert worker.close()
    assert held.calls == []


def test_jobs_share_a_call_up_to_a_number_of_scores(held):
    teller = Teller(held, ["average:2"])
    worker = Worker(queue=9, batch=9, scores=10)
    worker.submit(job(teller, "first"))
    assert held.entered.acquire(timeout=10)
    # Twice 2, 3, 1 and 6 documents: 4 + 6 = 10 fit, 2 more do not; 2 + 12 do not; 12 go alone.
    jobs = [job(teller, f"{n}", *(["a"] * n)) for n in (2, 3, 1, 6)]
    assert [one.scores for one in jobs] == [4, 6, 2, 12]
    for one in jobs:
        worker.submit(one)
    held.gate.set()
    jobs[-1].done.result(10)
    assert worker.close()
    assert [sorted(set(call)) for call in held.calls] == [["first"], ["2", "3"], ["1"], ["6"]]


def test_closing_cancels_what_waits(work):
    worker, teller, held, first = work
    waits = job(teller, "waits")
    worker.submit(waits)
    assert not worker.close(0.0)
    assert waits.done.cancelled()
    assert isinstance(first.done.exception(10), ClosedError)
    assert not worker.alive
    with pytest.raises(ClosedError):
        worker.submit(job(teller, "late"))
    held.gate.set()
    assert worker.close()
    assert held.calls == [["first"]]
