import threading
from concurrent.futures import wait

import pytest

from evenhand.score.services.workers import Workers


def test_calls_run_side_by_side_in_so_many_threads_and_no_more():
    workers, meet = Workers(3, "w"), threading.Barrier(3)
    # Three have to be there at once for any to go on.
    assert sorted(f.result(5) for f in [workers.submit(meet.wait, 5) for _ in range(3)]) == [0, 1, 2]
    names = {workers.submit(lambda: threading.current_thread().name).result(5) for _ in range(20)}
    assert names <= {"w-1", "w-2", "w-3"}
    workers.close()


def test_threads_do_not_keep_a_program_alive():
    workers = Workers(1, "w")
    assert workers.submit(lambda: threading.current_thread().daemon).result(5) is True
    workers.close()


def test_an_error_is_the_callers():
    workers = Workers(1, "w")
    with pytest.raises(ZeroDivisionError):
        workers.submit(lambda: 1 / 0).result(5)
    assert workers.submit(int, "3").result(5) == 3
    workers.close()


def test_what_is_cancelled_is_not_begun():
    workers, go, done = Workers(1, "w"), threading.Event(), []
    first = workers.submit(go.wait, 5)
    second = workers.submit(done.append, 2)
    assert second.cancel()
    go.set()
    wait([first, workers.submit(int)])
    assert done == []
    workers.close()


def test_closed_they_end_after_what_was_asked_before():
    workers, go = Workers(2, "w"), threading.Event()
    asked = [workers.submit(go.wait, 5) for _ in range(4)]
    threads = [t for t in threading.enumerate() if t.name.startswith("w-")]
    workers.close()
    with pytest.raises(RuntimeError, match="closed"):
        workers.submit(int)
    go.set()
    assert [future.result(5) for future in asked] == [True] * 4
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()
