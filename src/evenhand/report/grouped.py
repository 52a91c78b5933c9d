"""Findings put together where several results share a kind of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.study.analysis import Finding, Severity


@dataclass(frozen=True, slots=True)
class Group:
    """All findings of one kind.

    Attributes:
        code, severity: of each of them.
        lines: (whose, finding), in the order given.
        summary: whose they are, when there are several; "" where one line is all.
    """

    code: str
    severity: Severity
    lines: tuple[tuple[str, Finding], ...]
    summary: str


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
        Group(code, severity, tuple(lines), _summary(lines, results))
        for (severity, code), lines in kinds.items()
    )


def _summary(lines: Sequence[tuple[str, Finding]], results: int) -> str:
    if len(lines) == 1:
        return ""
    return f"all {results}" if len(lines) == results else "; ".join(whose for whose, _ in lines)
