import pytest

from evenhand.measure.registry import MEASURES
from evenhand.report.words import WORDS, describe, in_order


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("tauPSI", "tauPSI"),
        ("tauPSI(ties='strict')", "tauPSI (strict ties)"),
        ("PairFlip(kind='modal')", "pair flip (modal)"),
        ("F1(rel=2)", "set F1 (rel=2)"),
        ("nDCG@10", "nDCG@10"),
        ("TopInstability@10", "top instability @10"),
        ("Overlap(t=0.5)", "retained-set overlap (t=0.5)"),
        ("failed_rows", "failed rows"),
        ("SomethingNew@3", "SomethingNew@3"),
    ],
)
def test_a_label_keeps_options_and_cutoff(name, label):
    assert describe(name)[0] == label


def test_every_explained_measure_exists():
    assert set(WORDS) <= set(MEASURES)


def test_measures_stand_in_table_order_and_unknown_ones_last():
    assert in_order(["New", "Overlap", "tauPSI(ties='strict')"]) == [
        "tauPSI(ties='strict')",
        "Overlap",
        "New",
    ]
