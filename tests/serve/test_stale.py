"""Which connections are closed, by a clock that the test moves."""

from types import SimpleNamespace

from evenhand.serve.stale import Stale


class Connection:
    """As a protocol of uvicorn is; `closed` counts."""

    def __init__(self):
        self.cycle, self.closed = None, 0
        self.transport = self

    def abort(self):
        self.closed += 1


def test_one_that_moves_on_stays():
    stale, one = Stale(10), Connection()
    first, second = (SimpleNamespace(response_complete=False) for _ in range(2))
    assert stale.close([one], 0) == 0
    one.cycle = first
    assert stale.close([one], 9) == 0
    first.response_complete = True
    assert stale.close([one], 18) == 0
    one.cycle = second
    assert stale.close([one], 27) == 0
    # Since 27 it is in the second request: at 37 for 10 seconds, at 38 for longer.
    assert stale.close([one], 37) == 0
    assert stale.close([one], 38) == 1
    assert one.closed == 1


def test_each_for_itself_and_gone_ones_are_forgotten():
    stale = Stale(10)
    old, fresh = Connection(), Connection()
    stale.close([old], 0)
    stale.close([old, fresh], 8)
    assert stale.close([old, fresh], 11) == 1
    assert (old.closed, fresh.closed) == (1, 0)
    stale.close([], 12)
    assert stale.close([fresh], 30) == 0
