import itertools
import math

import numpy as np

from evenhand.present.orders import canonical
from evenhand.study.causes.climb import Climb

SECRET = (3, 7, 0, 5, 1, 6, 2, 4)


class Landscape:
    """Counts places where an order agrees with the secret one, and what it was asked."""

    def __init__(self, secret=SECRET):
        self.secret, self.asked = secret, []

    def __call__(self, orders):
        self.asked += orders
        return [(sum(a == b for a, b in zip(order, self.secret, strict=True)), 0.0) for order in orders]


def climb(landscape, n=8, **options):
    options = {"enough": n, "seed": 0, **options}
    rng = np.random.default_rng(options.pop("seed"))
    return Climb(landscape, tuple(reversed(range(n))), (canonical(n), (0.0, 0.0)), rng, **options)


def test_it_finds_the_secret_order_and_stops_there():
    for seed in range(10):
        landscape = Landscape()
        search = climb(landscape, seed=seed)
        search.run(400)
        assert search.best_order == SECRET
        assert search.best == (8, 0)
        # Of 8! = 40,320 orders; the last batch may go a little past it.
        assert search.tried == len(landscape.asked) <= 400


def test_no_order_is_asked_twice_and_no_more_than_allowed():
    landscape = Landscape()
    search = climb(landscape, enough=99, batch=7)
    for allowed in (1, 10, 100):
        before = len(landscape.asked)
        search.run(allowed)
        assert len(landscape.asked) - before == allowed
    assert len(set(landscape.asked)) == len(landscape.asked)
    assert canonical(8) not in landscape.asked


def test_all_orders_are_an_end():
    landscape = Landscape((0, 1, 2))
    search = climb(landscape, n=3, enough=99)
    search.run(1000)
    # All but the canonical one, which was known.
    assert set(landscape.asked) == set(itertools.permutations(range(3))) - {(0, 1, 2)}
    assert search.tried == 5


def test_orders_without_evidence_never_win():
    def lost(orders):
        return [(math.nan, math.nan)] * len(orders)

    search = climb(lost, n=4, enough=1)
    search.run(10)
    assert search.best_order == (0, 1, 2, 3)
    assert search.best == (0, 0)
    assert (search.tried, search.failed) == (10, 10)


def test_the_guide_leads_over_a_plateau():
    def flat(orders):
        return [
            (float(order == SECRET), float(sum(a == b for a, b in zip(order, SECRET, strict=True))))
            for order in orders
        ]

    search = climb(flat, enough=1)
    search.run(400)
    assert search.best_order == SECRET
