"""What a custom scorer declares is checked by name before anything is scored."""

from __future__ import annotations

import pytest

import evenhand
from evenhand.errors import UsageError
from evenhand.present.design import design
from evenhand.score.toy import Toy
from evenhand.study.rows.declared import KNOWN_CHANNELS, check_declarations
from evenhand.study.rows.layout import layout
from evenhand.study.rows.run import run_study
from evenhand.types import Candidate, Slate

SLATES = [Slate("s", "q", tuple(Candidate(f"c{i}", f"t{i}") for i in range(4)))]


class Declaring:
    """A toy whose declarations can be anything."""

    def __init__(self, **declared):
        self.toy, self.declared = Toy(slot_bias=0.3), declared

    def __getattr__(self, name):
        return self.declared[name] if name in self.declared else getattr(self.toy, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", ""),
        ("name", None),
        ("revision", 3),
        ("scale", "percent"),
        ("scale", ["unit"]),
        ("order_free", 1),
        ("channels", ["order"]),
        ("channels", frozenset({"order", "mood"})),
        ("max_window", 0),
        ("max_window", 2.0),
        ("default_window", True),
        ("default_window", -1),
        ("surface", "relevance"),
    ],
)
def test_a_wrong_declaration_is_named(name, value, tmp_path):
    scorer = Declaring(**{name: value})
    with pytest.raises(UsageError, match=rf"Declaring\.{name} must be .*, got"):
        run_study(scorer, SLATES, design(rows=2), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match=rf"Declaring\.{name} must be"):
        evenhand.audit(scorer, SLATES, rows=2)
    with pytest.raises(UsageError, match=rf"Declaring\.{name} must be"):
        layout(scorer, SLATES)


def test_what_the_protocol_allows_passes():
    check_declarations(Declaring(max_window=None, default_window=3, channels=set(KNOWN_CHANNELS)))
    assert len(KNOWN_CHANNELS) == 7
