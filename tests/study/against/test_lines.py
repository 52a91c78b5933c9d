from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.study.against.contenders import contenders
from evenhand.study.against.lines import USUAL, choose_lines, study_contender

NAN = float("nan")
ORDERS = [(1, 0, 2, 3), (3, 2, 1, 0)]


def labels(*names):
    return [line.label for line in choose_lines(list(names))]


def test_quality_gives_two_lines():
    assert labels("nDCG@10") == ["nDCG@10, served", "nDCG@10, shuffled"]
    assert labels("nDCG@10, shuffled") == ["nDCG@10, shuffled"]
    assert labels("F1(rel=2), served") == ["F1(rel=2), served"]
    assert [line.key for line in choose_lines(["AP"])] == ["AP", "AP, shuffled"]


def test_options_with_a_comma_are_read():
    assert labels("tauPSI(ties='strict', pairs='distinct')") == [
        "tauPSI(ties='strict', pairs='distinct')"
    ]


def test_the_usual_lines():
    found = [line.label for line in choose_lines()]
    assert found == ["tauPSI", "Overlap", "PairFlip", "nDCG@10, served", "nDCG@10, shuffled"]
    assert found == labels(*USUAL)


def test_a_line_stands_once():
    assert labels("tauPSI", "tauPSI", "nDCG@10", "nDCG@10, served") == [
        "tauPSI",
        "nDCG@10, served",
        "nDCG@10, shuffled",
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["tauPSO"], "tauPSO"),
        (["tauPSI, shuffled"], "of the random rows alone"),
        ("tauPSI", "got 'tauPSI'"),
        ([], "no measures to compare"),
    ],
)
def test_wrong_names_are_refused(names, message):
    with pytest.raises(UsageError, match=message):
        choose_lines(names)


@pytest.fixture
def studied(kit, tmp_path):
    """Two slates: one steady, one reversed in the second random row, noisy in the repeat."""
    steady = np.tile([4.0, 3.0, 2.0, 1.0], (4, 1))
    moved = steady.copy()
    moved[2] = [1.0, 2.0, 3.0, 4.0]
    moved[3] = [3.0, 4.0, 2.0, 1.0]
    entries = [
        (kit.slate(key, grades={"a": 1}), kit.plan(ORDERS), s)
        for key, s in zip("st", (steady, moved), strict=True)
    ]
    kit.run(tmp_path / "a", entries)
    kit.run(tmp_path / "b", entries)
    lines = choose_lines(["tauPSI", "Retained"])
    (one, _) = contenders({"a": [tmp_path / "a"], "b": [tmp_path / "b"]})
    return study_contender(one, lines), lines


def test_values_follow_the_order_asked_for(studied):
    found, (line, _) = studied
    # The two random rows of t are each other's reverse.
    assert found.values(line, 0, ["s", "t"]).tolist() == [[0.0, 1.0]]
    assert found.values(line, 0, ["t", "s"]).tolist() == [[1.0, 0.0]]


def test_the_noise_floor_is_the_distance_from_agreement(studied):
    found, (tau, retained) = studied
    # Canonical against repeat: one of the six pairs of t swaps, none of s.
    assert found.floor(tau) == pytest.approx((0 + 1 / 6) / 2)
    assert math.isnan(found.floor(retained))


def test_slates_that_lack_scores_are_known(kit, tmp_path):
    whole = np.tile([4.0, 3.0, 2.0, 1.0], (4, 1))
    holed = whole.copy()
    holed[2, 1] = NAN
    entries = [
        (kit.slate(key), kit.plan(ORDERS), s) for key, s in zip("st", (whole, holed), strict=True)
    ]
    for name in "ab":
        kit.run(tmp_path / name, entries)
    (one, _) = contenders({name: [tmp_path / name] for name in "ab"})
    found = study_contender(one, choose_lines(["tauPSI"]))
    assert found.lacking(0, ["t", "s"]).tolist() == [True, False]
    assert not (tmp_path / "a" / "summary.json").exists()
