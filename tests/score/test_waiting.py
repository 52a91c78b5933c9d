import asyncio

from evenhand.score.waiting import is_async, run_to_end


async def three():
    await asyncio.sleep(0)
    return 3


class Waits:
    async def __call__(self):
        return 4


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
