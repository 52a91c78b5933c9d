"""Whatever is handed over, a measure says what is wrong; no error of numpy comes through."""

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.measure import (
    crossed,
    decision,
    family,
    order,
    outcomes,
    pool,
    quality,
    registry,
    resample,
    selection,
    silver,
    spread,
    stats,
    sweep,
    variance,
)
from evenhand.types import Candidate, Slate

ROWS = [[0.9, 0.1, 0.4], [0.2, 0.8, 0.3]]
ROW, TIES, SLOTS = [0.9, 0.1, 0.4], [0, 1, 2], [[0, 1, 2], [2, 1, 0]]
CELLS = np.ones((2, 2, 2, 3))
SLATE = Slate("q", "query", (Candidate("a", "x"), Candidate("b", "y"), Candidate("c", "z")), {"a": 1})
NOT_SCORES = [2.5, "abc", None, float("inf"), [["a", "b"]], [[1.0], [1.0, 2.0]], {"a": 1},
              [[float("inf"), 0.0, 1.0], [0.0, 1.0, 2.0]]]  # fmt: skip

OF_SCORES = {
    "tau_psi": order.tau_psi,
    "tau_psi_many": order.tau_psi_many,
    "tau_psi_strict": lambda x: order.tau_psi_strict(x, SLOTS),
    "kendall_distance": lambda x: order.kendall_distance(x, ROW),
    "tied_pairs": order.tied_pairs,
    "exact_ties": order.exact_ties,
    "top_instability": lambda x: order.top_instability(x, TIES),
    "retained_sets": lambda x: decision.retained_sets(x, 0.5),
    "overlap": decision.overlap,
    "set_flip": decision.set_flip,
    "retained_share": decision.retained_share,
    "choices": lambda x: decision.choices(x, TIES),
    "top1_flip": lambda x: decision.top1_flip(x, TIES),
    "pair_flip": lambda x: decision.pair_flip(x, TIES),
    "first_slot": lambda x: decision.first_slot(x, SLOTS, TIES),
    "canonical_psi": lambda x: pool.canonical_psi(x, ROW),
    "score_change": lambda x: pool.score_change(x, ROW),
    "score_change, canonical": lambda x: pool.score_change(ROWS, x),
    "retained_delta": lambda x: pool.retained_delta(x, ROW, 0.5),
    "top_set_flip": lambda x: pool.top_set_flip(x, ROW, TIES, k=1),
    "pool_psi": lambda x: pool.pool_psi(x, ROW, []),
    "score_spread": spread.score_spread,
    "order_sd": spread.order_sd,
    "rank_spread": spread.rank_spread,
    "normalised_residual": spread.normalised_residual,
    "gold_correct": lambda x: selection.gold_correct(x, [1, 0, 0], TIES),
    "gold_accuracy, gains": lambda x: selection.gold_accuracy(ROWS, x, TIES),
    "margin": selection.margin,
    "correctness_flip": selection.correctness_flip,
    "silver_beta": silver.silver_beta,
    "label_variances": silver.label_variances,
    "components": crossed.components,
    "ratio_estimate": lambda x: crossed.ratio_estimate(x, [1.0, 2.0]),
    "nested_fit": lambda x: variance.nested_fit([(x, SLOTS, SLOTS)]),
    "nested_fit, slots": lambda x: variance.nested_fit([(ROWS, x, SLOTS)]),
    "slate_share": lambda x: variance.slate_share("slot", x, SLOTS, SLOTS),
    "estimate": stats.estimate,
    "bootstrap_means": stats.bootstrap_means,
    "overlap_at": lambda x: sweep.overlap_at(x, [0.5]),
    "set_f1_at": lambda x: sweep.set_f1_at(x, [1, 0, 0], [0.5]),
    "bootstrap_p": resample.bootstrap_p,
    "sign_flip_p": resample.sign_flip_p,
    "quality": lambda x: quality.quality("nDCG@10", SLATE, x),
    "set_quality": lambda x: quality.set_quality("F1", SLATE, x, 0.5),
    "holm": family.holm,
}


@pytest.mark.parametrize("name", OF_SCORES)
@pytest.mark.parametrize("value", NOT_SCORES, ids=repr)
def test_what_is_no_scores_is_refused(name, value):
    with pytest.raises(UsageError):
        OF_SCORES[name](value)


NOT_COUNTS = [2.5, "2", None, float("inf"), float("nan"), 0, True, [1]]
OF_COUNTS = {
    "k of top_set_flip": lambda x: pool.top_set_flip(ROWS, ROW, TIES, k=x),
    "k of top_instability": lambda x: order.top_instability(ROWS, TIES, k=x),
    "draws of estimate": lambda x: stats.estimate([1.0, 2.0], draws=x),
    "draws of bootstrap_means": lambda x: stats.bootstrap_means([1.0, 2.0], draws=x),
    "draws of ratio_estimate": lambda x: crossed.ratio_estimate([1.0], [2.0], draws=x),
    "draws of pooled": lambda x: crossed.pooled([crossed.components(CELLS)], draws=x),
    "draws of sign_flip_p": lambda x: resample.sign_flip_p([1.0], draws=x),
    "rel of set_quality": lambda x: quality.set_quality("F1", SLATE, ROWS, 0.5, rel=x),
    "rel of ungraded": lambda x: quality.ungraded([SLATE], rel=x),
}


@pytest.mark.parametrize("name", OF_COUNTS)
@pytest.mark.parametrize("value", NOT_COUNTS, ids=repr)
def test_what_is_no_count_is_refused_by_name(name, value):
    with pytest.raises(UsageError, match=f"{name.split()[0]}.* must be at least 1, a whole number"):
        OF_COUNTS[name](value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: decision.retained_sets(ROWS, "0.5"), "threshold must be a number, got '0.5'"),
        (lambda: decision.retained_sets(ROWS, float("nan")), "threshold must be a number, got nan"),
        (lambda: pool.retained_delta(ROWS, ROW, None), "threshold must be a number, got None"),
        (lambda: pool.top_set_flip(ROWS, ROW, "abc", k=1), "tie_ranks must be numbers"),
        (lambda: pool.top_set_flip(ROWS, ROW, [0, 1], k=1), r"tie_ranks of shape \(2,\)"),
        (lambda: pool.top_set_flip(ROWS, ROW, [0.5, 1, 2], k=1), "tie_ranks must be whole numbers"),
        (lambda: pool.pool_psi(ROWS, ROW, None), "None presentations for 2 rows"),
        (lambda: pool.pool_psi(ROWS, ROW, ["a", "b"]), "shown must hold Presentation, got 'a'"),
        (lambda: pool.pool_psi(ROWS, ROW, [], kind=3), "unknown kind 3"),
        (lambda: decision.top1_flip(ROWS, TIES, kind=None), "unknown kind of flip None"),
        (lambda: decision.first_slot(ROWS, [[0]], TIES), r"slots of shape \(1, 1\)"),
        (lambda: selection.correctness_flip([1, 0, 2]), "must be 1, 0 or NaN for each row"),
        (lambda: outcomes.pairwise_flip("SUPPORTS"), "outcomes must be a list of labels"),
        (lambda: outcomes.modal_flip(None), "outcomes must be a list of labels"),
        (lambda: outcomes.pairwise_flip([[1], [2]]), r"must be a label .* got \[1\]"),
        (lambda: outcomes.modal_from_pairwise("x"), "pairwise must be a finite number"),
        (lambda: crossed.pooled(None), "slates must be a list of Components"),
        (lambda: crossed.pooled([1.0]), "slates must hold Components, got 1.0"),
        (lambda: crossed.pooled([None]), "slates must hold Components, got None"),
        (lambda: crossed.ratio_estimate([1.0], [1.0], level=2), "level must lie between 0 and 1"),
        (lambda: crossed.ratio_estimate([1.0], [1.0], seed="a"), "seed must be a whole number"),
        (lambda: silver.silver_beta_pooled(None), "slates must be a list of"),
        (lambda: silver.silver_beta_pooled([3]), r"shape \(rows, candidates\)"),
        (lambda: variance.nested_fit(None), "slates must be a list of"),
        (lambda: variance.nested_fit([3]), "a nested fit needs"),
        (lambda: variance.nested_fit([(ROWS, [[0.5] * 3] * 2, SLOTS)]), "slots must be whole numbers"),
        (lambda: variance.slate_share("gap", ROWS, SLOTS, SLOTS), "unknown share 'gap'"),
        (lambda: variance.residual_against(1, 2), "compares two NestedFit, got 1"),
        (lambda: stats.bootstrap_means([]), "draws from defined values"),
        (lambda: stats.bootstrap_means([1.0, float("nan")]), "NaN among them"),
        (lambda: stats.estimates(3), "columns must be a list"),
        (lambda: sweep.overlap_at(ROWS, "x"), "thresholds must be numbers"),
        (lambda: sweep.overlap_at(ROWS, [float("nan")]), "without NaN"),
        (lambda: resample.bootstrap_differences(np.ones((1, 2)), np.ones((1, 3)), np.zeros(2)),
         "same slates are needed"),
        (lambda: quality.quality("gibberish", SLATE, ROWS), "no measure of ir-measures"),
        (lambda: quality.quality(3, SLATE, ROWS), "named by a text such as nDCG@10, got 3"),
        (lambda: quality.quality("nDCG@10", SLATE, [[1.0, 2.0]]), "for 3 candidates"),
        (lambda: quality.quality("nDCG@10", None, ROWS), "quality is of a Slate, got None"),
        (lambda: quality.ranking_quality("nDCG@10", [SLATE], [ROWS]), "names must be a list"),
        (lambda: quality.ranking_quality(["AP"], [SLATE], []), "0 arrays of scores for 1 slates"),
        (lambda: quality.set_quality("F2", SLATE, ROWS, 0.5), "unknown kind of set quality 'F2'"),
        (lambda: quality.ungraded([3]), "slates must hold Slates, got 3"),
        (lambda: registry.parse(3), "cannot read 3 as a measure"),
        (lambda: registry.parse(None), "cannot read None as a measure"),
        (lambda: registry.parse("tauPSI")(None, SLATE), "a ScoreMatrix and its Slate, got None"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(call, said):
    with pytest.raises(UsageError, match=said):
        call()
