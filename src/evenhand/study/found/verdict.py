"""One value that says how a run ended; words and exit code are read off it."""

from __future__ import annotations

from enum import Enum

from evenhand.study.analysis import Analysis


class Verdict(Enum):
    """How a run ended: (word, exit code).

    A run of which nothing was measured has no analysis: `analyse` raises
    NothingMeasuredError, exit code 5.
    """

    MEASURED = ("measured", 0)
    PARTLY = ("partly measured", 7)
    INCONCLUSIVE = ("inconclusive", 8)

    @property
    def word(self) -> str:
        """What a report prints."""
        return self.value[0]

    @property
    def exit_code(self) -> int:
        """What the process returns."""
        return self.value[1]


def verdict(analysis: Analysis, *, strict: bool = False) -> Verdict:
    """Return the verdict of a run.

    Args:
        analysis: of the run.
        strict: findings of severity "error", and an unsteady scorer, make it
            inconclusive: the numbers do not say what they seem to.

    Returns:
        PARTLY when rows failed, or scores or readings are missing, MEASURED otherwise.
    """
    grave = any(
        finding.severity == "error" or (finding.code == "unsteady" and finding.severity == "warning")
        for finding in analysis.findings
    )
    if strict and grave:
        return Verdict.INCONCLUSIVE
    if analysis.counts.get("failed_rows", 0) or analysis.counts.get("missing_scores", 0):
        return Verdict.PARTLY
    if analysis.reader is not None and analysis.reader.counts["missing"]:
        return Verdict.PARTLY
    return Verdict.MEASURED
