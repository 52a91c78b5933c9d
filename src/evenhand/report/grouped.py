"""Findings put together where several results share a kind of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.study.analysis import Finding, Severity

_END = re.compile(r"(?<=[.!?])\s")
_DIFFERS = "…"


@dataclass(frozen=True, slots=True)
class Group:
    """All findings of one kind.

    Attributes:
        code, severity: of each of them.
        lines: (whose, finding), in the order given.
        summary: whose they are, when there are several; "" where one line is all.
        sentence: what they say in common, "…" where they differ; "" where one line is all
            or they have nothing in common.
    """

    code: str
    severity: Severity
    lines: tuple[tuple[str, Finding], ...]
    summary: str
    sentence: str


def grouped(findings: Sequence[tuple[str, Finding]], results: int) -> tuple[Group, ...]:
    """Return findings grouped by severity and code, in the order of the first of each kind.

    Args:
        findings: (whose, finding), the gravest first.
        results: how many results there are in all.
    """
    kinds: dict[tuple[Severity, str], list[tuple[str, Finding]]] = {}
    for whose, finding in findings:
        kinds.setdefault((finding.severity, finding.code), []).append((whose, finding))
    return tuple(
        Group(code, severity, tuple(lines), _summary(lines, results), _sentence(lines))
        for (severity, code), lines in kinds.items()
    )


def _summary(lines: Sequence[tuple[str, Finding]], results: int) -> str:
    if len(lines) == 1:
        return ""
    return f"all {results}" if len(lines) == results else "; ".join(whose for whose, _ in lines)


def _sentence(lines: Sequence[tuple[str, Finding]]) -> str:
    """Return the first sentence of several findings, with what differs left out."""
    if len(lines) == 1:
        return ""
    said = [_END.split(finding.message, maxsplit=1)[0].split() for _, finding in lines]
    same = all(len(words) == len(said[0]) for words in said)
    kept: list[str] = []
    for words in zip(*said, strict=False):
        one = words[0] if len(set(words)) == 1 else _DIFFERS
        if one != _DIFFERS or kept[-1:] != [_DIFFERS]:
            kept.append(one)
        if one == _DIFFERS and not same:
            break
    else:
        # Of unequal lengths the shorter may be all that they have in common.
        kept += [] if same else [_DIFFERS]
    return "" if kept == [_DIFFERS] else " ".join(kept)
