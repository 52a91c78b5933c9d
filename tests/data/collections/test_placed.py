"""Sets that are placed by hand."""

from evenhand.data.collections import Placed
from evenhand.data.collections.placed import PLACED


def test_all_say_what_to_place_and_none_needs_an_agreement():
    for name, one in PLACED.items():
        assert isinstance(one.origin, Placed), name
        assert ".jsonl" in one.origin.how, name
        assert one.need == "files by hand", name
