"""The cells, notes and settings of a channel study: what its pages have in common."""

from __future__ import annotations

from evenhand.report.clean import one_line
from evenhand.report.digits import NONE, count, number
from evenhand.study.causes.channels import COLUMNS, ChannelRow, ChannelStudy
from evenhand.study.counted import counted
from evenhand.types import Estimate

_HEADS = {
    "tauPSI": "tauPSI",
    "CanonicalPSI": "from canonical",
    "Overlap": "overlap",
    "SetFlip": "set flip",
    "Top1Flip": "top-1 flip",
    "PairFlip": "pair flip",
    "ScoreChange": "score change",
}
HEADS = ("channel", *_HEADS.values(), "noise floor", "score floor", "rows", "undefined")
_MEMBERS = {
    "PoolPSI(kind='replaced')": "Pool-PSI, replaced in place",
    "PoolPSI(kind='dropped')": "Pool-PSI, dropped",
    "TopSetFlip@10": "top-10 set flip",
    "RetainedDelta": "score change of the retained",
}
LEGEND = (
    "tauPSI, overlap and flips compare varied rows with each other; from canonical and score change "
    "compare each with the canonical row; the two floors are the same between the canonical row and "
    "its repeat. rows: varied rows of a slate. undefined: slates without a value."
)


def _mean(estimate: Estimate | None) -> str:
    return NONE if estimate is None else number(estimate.mean)


def cells(row: ChannelRow) -> tuple[str, ...]:
    """Return the cells of one channel, in the order of `HEADS`."""
    tau = row.value("tauPSI")
    return (
        row.channel,
        *(_mean(row.value(name)) for name in COLUMNS),
        _mean(row.floor("tauPSI")),
        _mean(row.floor("ScoreChange")),
        number(row.variants, 1) if row.variants % 1 else count(row.variants),
        NONE if tau is None else count(tau.undefined),
    )


def setup_line(study: ChannelStudy) -> str:
    """Return the settings that travel with every number, on one line."""
    settings, scorer = study.settings, study.scorer
    width = settings["width"]
    parts = (
        f"{scorer['name']} (revision {str(scorer['revision'])[:16]}, scale {scorer['scale']})",
        counted(settings["n_slates"], "slate"),
        f"M {settings['rows']}",
        f"B {'whole slate' if width is None else width}",
        f"rule {settings['rule']}",
        f"seed {settings['seed']}",
    )
    return one_line("; ".join(parts))


def note_lines(study: ChannelStudy) -> list[str]:
    """Return what is measured of membership alone, and channels whose rows cut more of the texts."""
    found = [row for row in study.rows if row.channel == "membership"]
    lines = []
    for row in found:
        said = [f"{label} {_mean(row.value(name))}" for name, label in _MEMBERS.items()]
        lines.append("membership: " + "; ".join(said))
    return [*lines, *_cut_lines(study)]


def _cut_lines(study: ChannelStudy) -> list[str]:
    lines = []
    for row in study.rows:
        counts = {} if row.analysis is None else row.analysis.counts
        further, cut = counts.get("truncated_further", 0), counts.get("truncated_tokens", 0)
        if further:
            lines.append(
                f"{row.channel}: the presentations that cut most cut {counted(further, 'token')} of "
                f"candidates beyond the {count(cut)} of the canonical ones; part of the change is text "
                "not seen"
            )
    return lines
