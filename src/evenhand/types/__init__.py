"""The types that travel through evenhand: frozen, and validated once, here.

A `Slate` is shown in a `Presentation`; a scorer turns the `Shown` pair into a
`Scored`; the rows of one slate make a `ScoreMatrix`. Arrays of scores are in
canonical order (the order of `Slate.candidates`) unless a name says slot.
"""

from evenhand.types.arrays import BoolArray, FloatArray, IntArray, RowKind, Scale, Visibility
from evenhand.types.presentation import Plan, Presentation, Shown, Surface
from evenhand.types.protocols import Consumer, Design, Remedy, Scorer
from evenhand.types.scores import Decision, Estimate, Scored, ScoreMatrix
from evenhand.types.slate import Candidate, Slate, slate_from_dict, slate_to_dict

__all__ = [
    "BoolArray",
    "Candidate",
    "Consumer",
    "Decision",
    "Design",
    "Estimate",
    "FloatArray",
    "IntArray",
    "Plan",
    "Presentation",
    "Remedy",
    "RowKind",
    "Scale",
    "ScoreMatrix",
    "Scored",
    "Scorer",
    "Shown",
    "Slate",
    "Surface",
    "Visibility",
    "slate_from_dict",
    "slate_to_dict",
]
