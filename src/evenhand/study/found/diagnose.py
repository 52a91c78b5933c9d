"""From the numbers of a run to what a reader must know before trusting them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal

from evenhand.decide.threshold import NO_GRADES
from evenhand.study.analysis import (
    LOW_MASS,
    MOVED,
    Finding,
    gravest_first,
    mean_of,
)
from evenhand.study.counted import counted
from evenhand.study.found.facts import Facts
from evenhand.study.found.keeps import keeps
from evenhand.study.rows.remedied import by_construction, probes_shared, settled_elsewhere

# Float32 scores of one prompt differ by less from batch to batch.
STEADY = 1e-5
# The least noise floor that a table with three digits shows.
VISIBLE = 5e-4
COLLAPSED = 0.02
NEAR_RANDOM = 0.45
FEW_SLATES = 10
# Above this share, missing scores, low label mass or cut candidates shape the numbers.
LARGE_SHARE = 0.1
# A noise floor above this share of the instability explains much of it.
COMPARABLE = 0.5


def _unsteady(facts: Facts) -> Iterator[Finding]:
    difference = facts.repeat_difference
    if math.isnan(difference):
        yield Finding(
            "no_noise_floor",
            "note",
            "No presentation was scored twice, so instability cannot be told from noise. "
            "Run with repeat=True.",
        )
        return
    floor, random = mean_of(facts.floor, "tauPSI"), mean_of(facts.stability, "tauPSI")
    ranks_move = floor >= VISIBLE
    if difference <= STEADY and not ranks_move:
        return
    severity: Literal["note", "warning", "error"] = "note"
    if ranks_move or difference > MOVED:
        severity = "warning"
    if ranks_move and floor >= COMPARABLE * random:
        severity = "error"
    yield Finding(
        "unsteady",
        severity,
        f"The same presentation scored twice differs by up to {difference:.3g}: it is unsteady. "
        f"Its noise floor is tau-PSI {floor:.4f} beside {random:.4f} over random presentations; "
        "instability up to the floor is noise, not order. Look for a stale cache, sampling, or scores "
        "that depend on the batch.",
    )


def _order_free(facts: Facts) -> Iterator[Finding]:
    difference = facts.random_difference
    # NaN: every row shows another surface, and no scores were reused.
    if not facts.scorer.get("order_free") or math.isnan(difference):
        return
    if difference > max(MOVED, 2 * _or_zero(facts.repeat_difference)):
        yield Finding(
            "not_order_free",
            "error",
            f"The scorer is declared order-free, but a presentation that was scored anew differs by "
            f"{difference:.3g}. Its stability here is mostly reuse of one row and means nothing. "
            "Declare order_free=False and run again.",
        )
    elif not math.isnan(facts.repeat_difference):
        yield Finding(
            "order_free",
            "note",
            "The scorer is declared order-free: each slate was scored once and the scores reused, so "
            "its stability is 0 by construction. The repeat row and one other row were scored anew "
            "and agree.",
        )


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _collapse(facts: Facts) -> Iterator[Finding]:
    spread = mean_of(facts.stability, "ScoreSpread")
    if facts.scorer.get("scale") == "unit" and spread < COLLAPSED:
        yield Finding(
            "collapse",
            "warning",
            f"Scores of a slate spread by only {spread:.4f} (sd within a row, on a scale of 0 to 1): a "
            "scorer that says nearly the same of everything looks stable. Read quality and tied pairs "
            "before stability.",
        )
    if degenerate := facts.count("degenerate_slates"):
        yield Finding(
            "degenerate",
            "warning",
            f"In {degenerate} of {counted(facts.count('slates'), 'slate')} all candidates score the "
            "same in every row: that counts as stable and ranks nothing. Check the scorer there.",
        )


def _near_random(facts: Facts) -> Iterator[Finding]:
    tau = facts.stability.get("tauPSI")
    # Not the upper bound: over few slates it is high whatever the scorer.
    if tau is None or not tau.mean >= NEAR_RANDOM:
        return
    interval = "" if math.isnan(tau.high) else f" [{tau.low:.3f}, {tau.high:.3f}]"
    yield Finding(
        "near_random",
        "warning",
        f"tau-PSI is {tau.mean:.3f}{interval}, near 0.5: order decides more than content. The scorer "
        "ranks at random with respect to presentation; its decisions cannot be relied on. Use another "
        "scorer, smaller windows, or train it.",
    )


def _label_mass(facts: Facts) -> Iterator[Finding]:
    mass, share = facts.label_mass, facts.low_mass_share
    if math.isnan(mass) or (mass >= LOW_MASS and share <= LARGE_SHARE):
        return
    yield Finding(
        "low_label_mass",
        "warning",
        f"The grades hold {mass:.2f} of the probability on average, and under {LOW_MASS} for "
        f"{100 * share:.0f}% of the scores: the model would rather say something else, so scores "
        "rest on small differences. Try another answer form, chat template or model.",
    )


def _missing(facts: Facts) -> Iterator[Finding]:
    missing, failed = facts.count("missing_scores"), facts.count("failed_rows")
    every = facts.count("scores")
    if missing:
        share = missing / every if every else 1.0
        yield Finding(
            "missing_scores",
            "error" if share > LARGE_SHARE else "warning",
            f"{counted(missing, 'score')} missing ({100 * share:.1f}% of {every}); left out and "
            "counted, never 0. Find out why before comparing scorers.",
        )
    if failed:
        said = "; ".join(reason[:200] for reason in facts.reasons)
        yield Finding(
            "failures",
            "warning",
            f"{failed} of {counted(facts.count('rows'), 'row')} failed or with missing scores: {said}. "
            "Mend the cause and run into a new folder.",
        )


def _texts(facts: Facts) -> Iterator[Finding]:
    if cut := facts.count("truncated_tokens"):
        candidates = facts.count("truncated_candidates")
        large = facts.share("truncated_candidates", "candidates") > LARGE_SHARE
        yield Finding(
            "truncated",
            "warning" if large else "note",
            f"The scorer did not see {counted(cut, 'token')}, cut from {candidates} of "
            f"{counted(facts.count('candidates'), 'candidate')}. Use a longer context or smaller "
            "windows where they matter.",
        )
    where = {"candidate texts": "escaped_places", "queries": "query_escaped"}
    places = [
        f"{counted(facts.count(name), 'place')} in {said}"
        for said, name in where.items()
        if facts.count(name)
    ]
    if places:
        yield Finding(
            "escaped",
            "note",
            f"{' and '.join(places)} look{'s' if places[0][:2] == '1 ' and len(places) == 1 else ''} "
            "like a marker, an answer line or a special token; escaped, so that no slot moves.",
        )
    if empty := facts.count("empty_texts"):
        yield Finding(
            "empty_texts",
            "note",
            f"{counted(empty, 'candidate')} without text, scored and counted. Check the collection.",
        )
    if equal := facts.count("equal_texts"):
        yield Finding(
            "equal_texts",
            "note",
            f"{counted(equal, 'candidate')} with the text of another one in the slate, told apart by "
            "id; swaps among them are swaps of the scorer.",
        )


def _size(facts: Facts) -> Iterator[Finding]:
    tau = facts.stability.get("tauPSI")
    measured = tau.n if tau is not None else facts.count("slates")
    if measured < FEW_SLATES:
        yield Finding(
            "few_slates",
            "warning",
            f"Only {counted(measured, 'slate')} {'has' if measured == 1 else 'have'} a value: "
            f"intervals over so few are unreliable. Use {FEW_SLATES} or more to compare scorers.",
        )
    if tau is not None and tau.undefined:
        yield Finding(
            "undefined",
            "note",
            f"No stability for {tau.undefined} of {counted(tau.n + tau.undefined, 'slate')}, with "
            "fewer than two scored candidates or rows; left out and counted.",
        )
    if exhaustive := facts.count("exhaustive_slates"):
        yield Finding(
            "exhaustive",
            "note",
            f"{counted(exhaustive, 'slate')} so small that all presentations were shown, each once; "
            "means over pairs of rows then include each row with itself.",
        )


def _threshold(facts: Facts) -> Iterator[Finding]:
    if facts.threshold is None or facts.threshold.rule != "quantile":
        return
    reason = facts.threshold_reason or NO_GRADES
    mend = "Give grades" if reason == NO_GRADES else "Mend that"
    yield Finding(
        "threshold_by_quantile",
        "note",
        f"The threshold is the 80% quantile of the scores, because {reason}: retained sets show "
        f"agreement, not usefulness. {mend}, or give a threshold of your own.",
    )


RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _unsteady,
    _order_free,
    _near_random,
    _collapse,
    _label_mass,
    _missing,
    _size,
    _threshold,
    _texts,
)


def diagnose(facts: Facts) -> tuple[Finding, ...]:
    """Return what is to be known about a run, the gravest first.

    Args:
        facts: the numbers.

    Returns:
        One finding per thing seen; () when there is nothing to say.
    """
    found = [finding for rule in RULES for finding in rule(facts)]
    others = (
        keeps(facts.decisions, facts.overlap_curve),
        by_construction(facts.scorer),
        settled_elsewhere(facts.scorer, facts.threshold),
        probes_shared(facts.scorer),
    )
    found += [finding for finding in others if finding is not None]
    return gravest_first(found)
