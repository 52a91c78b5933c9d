import asyncio
import threading

import pytest

from evenhand.score.waiting import is_async, run_to_end


async def three():
    await asyncio.sleep(0)
    return 3


class Waits:
    async def __call__(self):
        return 4


async def own_loop():
    return asyncio.get_running_loop()


def test_what_waits():
    assert is_async(three)
    assert is_async(Waits())
    assert not is_async(len)
    assert not is_async(Waits)


def test_outside_and_inside_a_loop():
    assert run_to_end(three()) == 3

    async def inside():
        return run_to_end(Waits()())

    assert asyncio.run(inside()) == 4


def test_the_loop_lives_on_so_that_what_was_opened_in_it_still_works():
    first = run_to_end(own_loop())
    assert run_to_end(own_loop()) is first
    assert first.is_running()

    async def inside():
        return run_to_end(own_loop()), asyncio.get_running_loop()

    ours, theirs = asyncio.run(inside())
    assert ours is first
    assert theirs is not first


def test_many_threads_share_it():
    found = []
    threads = [threading.Thread(target=lambda: found.append(run_to_end(own_loop()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_an_error_is_the_callers():
    async def fails():
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_to_end(fails())


def test_a_coroutine_that_runs_another_to_its_end_does_not_wait_for_itself():
    async def nested():
        return run_to_end(three())

    assert run_to_end(nested()) == 3


def test_who_is_interrupted_cancels_the_work(monkeypatch):
    ended = threading.Event()

    async def forever():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.set()
            raise

    real = asyncio.run_coroutine_threadsafe

    def interrupted(work, loop):
        future = real(work, loop)
        # As Ctrl-C does it: in the midst of waiting.
        future.result = lambda: started(loop)
        return future

    def started(loop):
        real(asyncio.sleep(0.01), loop).result(5)
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_to_end(forever())
    assert ended.wait(5)
