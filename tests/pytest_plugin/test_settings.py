import inspect

import pytest

import evenhand
from evenhand.errors import UsageError
from evenhand.gate.options import KNOWN
from evenhand.pytest_plugin.settings import AUDIT, BOUNDS, NAMES, marked, require_known


class Item:
    """As much of a test as its markers need."""

    def __init__(self, *markers):
        self._markers = markers

    def iter_markers(self, name):
        return iter(mark.mark for mark in self._markers if mark.mark.name == name)


def test_names_are_those_of_audit_and_gate():
    settings = set(inspect.signature(evenhand.audit).parameters)
    # The fixture has its own scorer and slates, folder and progress, and scores in this process.
    assert set(AUDIT) == settings - {"scorer", "slates", "out", "progress", "engine"}
    assert {name.replace("_", "-") for name in BOUNDS} == set(KNOWN) - {"junit", "threshold"}
    assert not AUDIT & BOUNDS
    assert AUDIT | BOUNDS | {"slates"} == NAMES


def test_the_closest_marker_wins():
    mark = pytest.mark.evenhand
    found = marked(Item(mark(rows=3), pytest.mark.slow, mark(rows=5, width=2)))
    assert found == {"rows": 3, "width": 2}
    assert marked(Item()) == {}


def test_unknown_names_and_bare_values_are_refused():
    with pytest.raises(UsageError, match=r"evenhand: unknown setting colour, row; known are baseline,"):
        marked(Item(pytest.mark.evenhand(row=3, colour=1, rows=2)))
    with pytest.raises(UsageError, match=r"evenhand\(3, 'x'\): name each value, for example rows=6"):
        marked(Item(pytest.mark.evenhand(3, "x")))
    with pytest.raises(UsageError, match=r"^here: unknown setting b; known are a$"):
        require_known(["a", "b"], "here", frozenset({"a"}))
