"""The collections the project is measured on, read whole; their figures are in their stats.json."""

import os
from collections import Counter
from pathlib import Path

import ir_measures
import pytest

from evenhand.data import read_folder

_HOME = Path(os.environ.get("EVENHAND_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
pytestmark = pytest.mark.skipif(
    not (_HOME / "trec_dl19").is_dir(),
    reason="the shared collections are not here; name their folder in EVENHAND_SHARED_DATA",
)


def ndcg10(slates):
    """nDCG@10 of the canonical order, by ir_measures alone."""
    qrels = {slate.id: {key: max(0, grade) for key, grade in slate.grades.items()} for slate in slates}
    run = {slate.id: {key: -float(place) for place, key in enumerate(slate.ids)} for slate in slates}
    return ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10]


@pytest.mark.parametrize(
    ("name", "run", "n", "expected"),
    [
        ("trec_dl19", "BM25", 43, 0.5058),
        ("trec_dl19", "SPLADE", 43, 0.7308),
        ("trec_dl20", "BM25", 54, 0.4796),
    ],
)
def test_trec_deep_learning(name, run, n, expected):
    slates = list(read_folder(_HOME / name, run=run))
    assert Counter(len(slate) for slate in slates) == {100: n}
    assert all(candidate.text for slate in slates for candidate in slate.candidates)
    assert ndcg10(slates) == pytest.approx(expected, abs=5e-4)


def test_noveleval_is_its_judged_pools():
    slates = list(read_folder(_HOME / "noveleval"))
    assert Counter(len(slate) for slate in slates) == {20: 21}
    grades = Counter(grade for slate in slates for grade in slate.grades.values())
    assert grades == {0: 290, 1: 40, 2: 90}


def test_cran_drops_the_excluded_pairs():
    slates = read_folder(_HOME / "cran")
    by_id = {slate.id: slate for slate in slates}
    assert len(by_id) == 225
    assert "486" not in by_id["1"].ids  # its first BM25 hit, and an excluded pair
    assert slates.report.count("excluded") > 0
    assert {grade for slate in by_id.values() for grade in slate.grades.values()} == {1, 2, 3, 4}


def test_hotpotqa_has_two_supporting_paragraphs():
    slates = list(read_folder(_HOME / "hotpotqa_dev500"))
    assert Counter(len(slate) for slate in slates) == {10: 489, 2: 7, 5: 1, 8: 2, 6: 1}
    assert Counter(sum(slate.grades.values()) for slate in slates) == {2: 500}
    assert all(slate.answers for slate in slates)


def test_rm_bench_has_three_right_responses_in_every_place():
    slates = list(read_folder(_HOME / "rm_bench"))
    assert Counter(len(slate) for slate in slates) == {6: 798}
    assert Counter(sum(slate.grades.values()) for slate in slates) == {3: 798}
    right = sum(slate.gains() for slate in slates)
    # Half of 798 = 399 right ones a place, sd sqrt(798)/2 = 14.1; five sd = 71.
    assert abs(right - 399).max() < 71


@pytest.mark.slow
def test_climate_fever_joins_lists_and_verdicts():
    slates = list(read_folder(_HOME / "climate_fever"))
    assert Counter(slate.verdict for slate in slates) == {
        "SUPPORTS": 654,
        "REFUTES": 253,
        "NOT_ENOUGH_INFO": 474,
        "DISPUTED": 154,
    }
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    slate = next(iter(read_folder(_HOME / "climate_fever", own=True)))
    assert set(slates[0].ids) <= set(slate.ids)
    assert 100 <= len(slate) <= 105
