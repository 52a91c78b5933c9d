"""What identifies a scorer in records."""

from types import SimpleNamespace

import numpy as np

from evenhand.score.facts import scorer_facts
from evenhand.score.toy import Toy

DECLARED = {"name", "revision", "scale", "order_free", "max_window"}


def test_what_every_scorer_declares_is_told():
    toy = Toy()
    assert scorer_facts(toy) == {name: getattr(toy, name) for name in DECLARED}


def test_cuts_are_found_as_attributes_and_in_options():
    scorer = SimpleNamespace(
        **dict.fromkeys(DECLARED, "x"), dtype=np.dtype("float32"), context=None,
        options=SimpleNamespace(max_candidate_words=40, max_candidate_tokens=None, context=512),
    )  # fmt: skip
    told = {name: value for name, value in scorer_facts(scorer).items() if name not in DECLARED}
    # An attribute that is None says so itself: the options are not asked.
    assert told == {"dtype": "float32", "max_candidate_words": 40}
