"""evenhand measures and reduces how much LLM scores depend on presentation.

Names are loaded when first used, so importing the package stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.data import load_slates
    from evenhand.errors import EvenhandError
    from evenhand.present.design import design
    from evenhand.report.result import Result, audit
    from evenhand.score import open_scorer, scorer
    from evenhand.types import Candidate, Presentation, Scored, ScoreMatrix, Shown, Slate, Surface

__version__ = "0.1.0"

_HOME = {
    "Candidate": "evenhand.types",
    "EvenhandError": "evenhand.errors",
    "Presentation": "evenhand.types",
    "Result": "evenhand.report.result",
    "ScoreMatrix": "evenhand.types",
    "Scored": "evenhand.types",
    "Shown": "evenhand.types",
    "Slate": "evenhand.types",
    "Surface": "evenhand.types",
    "audit": "evenhand.report.result",
    "design": "evenhand.present.design",
    "load_slates": "evenhand.data",
    "open_scorer": "evenhand.score",
    "scorer": "evenhand.score",
}

__all__ = [
    "Candidate",
    "EvenhandError",
    "Presentation",
    "Result",
    "ScoreMatrix",
    "Scored",
    "Shown",
    "Slate",
    "Surface",
    "audit",
    "design",
    "load_slates",
    "open_scorer",
    "scorer",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'evenhand' has no attribute {name!r}; it has {sorted(_HOME)}")


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
