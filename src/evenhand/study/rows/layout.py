"""What stays the same while orders vary: width, window rule and surface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from evenhand.errors import InputError, UsageError
from evenhand.present.windows import cut
from evenhand.study.rows.declared import check_declarations
from evenhand.types import Presentation, Scorer, Slate, Surface


@dataclass(frozen=True, slots=True)
class Layout:
    """How every order of a study is cut and dressed.

    Attributes:
        width: B, most candidates of a window; None = the whole slate.
        rule: window rule. surface: of every presentation.
    """

    width: int | None = None
    rule: str = "contiguous"
    surface: Surface = field(default_factory=Surface)

    def present(self, order: Sequence[int]) -> Presentation:
        """Return an order of canonical indices, cut into windows."""
        windows = cut(len(order), self.width, self.rule)
        shown = tuple(tuple(order[position] for position in window) for window in windows)
        return Presentation(tuple(order), shown, self.surface)


def layout(
    scorer: Scorer,
    slates: Iterable[Slate],
    *,
    width: int | None = None,
    rule: str = "contiguous",
    surface: Surface | None = None,
    channels: frozenset[str] = frozenset(),
) -> Layout:
    """Return the layout of a study, after checking that the scorer can show it.

    Args:
        scorer: whose defaults fill in what is not given.
        slates: all slates of the study.
        width: B; None = the scorer's own.
        rule: window rule.
        surface: None = the scorer's own.
        channels: what the study varies.

    Raises:
        UsageError: an attribute of the scorer is not what the protocol says, a channel
            that it does not honour, an unknown rule, or a window wider than it takes.
        InputError: two slates have one id.
    """
    check_declarations(scorer)
    # An order-free scorer may honour none: nothing that varies reaches its scores.
    ignored = sorted(channels - scorer.channels)
    if ignored and not scorer.order_free:
        raise UsageError(
            f"this study varies {', '.join(ignored)}, which {scorer.name} does not honour; "
            f"it honours {', '.join(sorted(scorer.channels)) or 'none'}"
        )
    width = scorer.default_window if width is None else width
    cut(1, width, rule)
    limit = scorer.max_window
    seen: set[str] = set()
    for slate in slates:
        if slate.id in seen:
            raise InputError(f"slate id {slate.id!r} comes twice; ids must be unique")
        seen.add(slate.id)
        widest = len(slate) if width is None else min(width, len(slate))
        if limit is not None and widest > limit:
            raise UsageError(
                f"slate {slate.id!r} would be shown {widest} candidates at a time, but {scorer.name} "
                f"takes at most {limit}; set a width up to {limit}"
            )
    return Layout(width, rule, scorer.surface if surface is None else surface)
