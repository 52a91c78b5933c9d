"""What a report says of a judge of two candidates, asked in both orders."""

from __future__ import annotations

from collections.abc import Callable

from evenhand.decide.preference import JudgeSummary
from evenhand.report.digits import count, number

# By label: the value and how to read it. Ties of the two kinds are told apart.
JUDGE_FACTS: dict[str, tuple[Callable[[JudgeSummary], str], str]] = {
    "slates of two": (lambda one: count(one.slates), "both orders shown in one window"),
    "agreed": (lambda one: number(one.shares["agreed"]), "both orders name the same candidate"),
    "judged ties": (lambda one: number(one.shares["judged_tie"]), "both orders score the two equally"),
    "ties by disagreement": (
        lambda one: number(one.shares["disagreement"]),
        "the orders name different candidates: the pick follows the place",
    ),
    "won by the first slot": (
        lambda one: number(one.first_place),
        "of the ties by disagreement; 1 loves the first place, 0 the last",
    ),
    "half ties": (
        lambda one: number(one.shares["half_tie"]),
        "one order names a candidate, the other none",
    ),
    "without scores": (lambda one: number(one.shares["missing"]), "an order has no scores"),
    "right, ties one half": (
        lambda one: number(one.accuracy),
        "the candidate of the higher grade; always the first place gets .5",
    ),
    "right of the agreed": (lambda one: number(one.accuracy_decided), "the same among those agreed"),
}
