"""Remedies that arrange what a prompt shows: interleave, sorted, isolated. None costs more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evenhand.errors import UsageError
from evenhand.present.surface import check_surface
from evenhand.present.windows import cut
from evenhand.remedy.base import Remedied, ask, drawn_row, require_seed, reshown
from evenhand.seeds import content_hash
from evenhand.types import Presentation, Scored, Scorer, Shown, Surface


@dataclass(frozen=True, slots=True)
class Interleave:
    """Windows are dealt round-robin; see `interleave`."""

    name: str = "interleave"

    def __call__(self, scorer: Scorer) -> Scorer:
        """Return the scorer behind re-cut windows."""
        return Interleaved(scorer, self.name, {})


class Interleaved(Remedied):
    """A scorer whose windows are dealt round-robin."""

    draws = False

    def _score(self, shown: Sequence[Shown]) -> list[Scored]:
        dealt = [replace(one, presentation=interleaved(one.presentation)) for one in shown]
        return ask(self.inner, dealt)

    def cut(self, presentation: Presentation) -> Presentation:
        """Return a presentation as the innermost scorer will see it cut."""
        return super().cut(interleaved(presentation))


def interleave() -> Interleave:
    """Return the remedy that cuts windows round-robin, as wide as the widest presented one.

    Window w takes presented positions w, w + W, w + 2W, ...: each window gets a share of
    the top of the list. It mends quality where the first stage put the good candidates
    together; order instability stays. No draws; cost: as before.
    """
    return Interleave()


def interleaved(presentation: Presentation) -> Presentation:
    """Return the same order cut round-robin into windows of at most the widest one."""
    order = presentation.order
    widest = max((len(window) for window in presentation.windows), default=1)
    windows = cut(len(order), widest, "interleaved")
    return replace(presentation, windows=tuple(tuple(order[p] for p in window) for window in windows))


@dataclass(frozen=True, slots=True)
class ByContent:
    """Candidates are sorted by a hash of what they say; see `by_content`."""

    seed: int = 0

    def __post_init__(self) -> None:
        require_seed("sorted", self.seed)

    @property
    def name(self) -> str:
        """Text that `parse` reads, without the seed."""
        return "sorted"

    def __call__(self, scorer: Scorer) -> Scorer:
        """Return the scorer behind sorted candidates."""
        return Sorted(scorer, self)


class Sorted(Remedied):
    """A scorer that is shown every set of candidates in one order only."""

    by_construction: str | None = (
        "`sorted` shows the same candidates in the same order whatever order they come in, so no "
        "order can move its scores: rows differ in the salt of the hash, and changes of the set "
        "still move everything"
    )

    def __init__(self, inner: Scorer, remedy: ByContent) -> None:
        """Wrap a scorer; see `by_content`."""
        if inner.order_free:
            # Its stability is its own: nothing is sorted.
            self.by_construction = None
        elif getattr(inner, "draws", False):
            raise UsageError(
                f"{inner.name} draws orders of its own, which sorted cannot undo: scores would still "
                "follow the order that comes in. Name sorted without it."
            )
        super().__init__(inner, remedy.name, {"seed": remedy.seed})
        self.seed = remedy.seed

    def _score(self, shown: Sequence[Shown]) -> list[Scored]:
        return ask(self.inner, [reshown(one, content_order(one, self.seed)) for one in shown])


def by_content(seed: int = 0) -> ByContent:
    """Return the remedy `sorted`: the same set is shown in the same order, however it comes.

    The order is that of a hash of salt, query, title and text; candidates that say the
    same are ordered by id. The salt is (seed, row): serving has row 0 alone, so the same
    query and set give the same prompt; in an audit each row has its own salt, which
    shows what another arbitrary order would have decided. The query stands for the slate:
    a caller may name slates as it likes. Cost: as before.

    It does not make a score right, only repeatable: the one order it picks has the slot
    effects of any other, and one candidate more, less or changed moves all the others.
    """
    return ByContent(seed)


def content_order(one: Shown, seed: int) -> tuple[int, ...]:
    """Return the candidates shown, as canonical indices in the order of their salted hashes."""
    slate, salt = one.slate, ["sorted", seed, drawn_row(one)]

    def key(index: int) -> tuple[str, str]:
        candidate = slate.candidates[index]
        said = [*salt, slate.query, candidate.title, candidate.text]
        return content_hash(said), candidate.id

    return tuple(sorted(one.presentation.order, key=key))


@dataclass(frozen=True, slots=True)
class Isolate:
    """Candidates are blind to each other; see `isolated`."""

    name: str = "isolated"

    def __call__(self, scorer: Scorer) -> Scorer:
        """Return the scorer with candidates blind to each other."""
        return Isolated(scorer, self.name)


class Isolated(Remedied):
    """A scorer that reads every candidate blind to the others: order-free."""

    draws = False

    def __init__(self, inner: Scorer, remedy: str) -> None:
        """Wrap a scorer; see `isolated`."""
        if not inner.order_free:
            _require_visibility(inner)
        super().__init__(inner, remedy, {})
        if not inner.order_free:
            self.order_free = True
            self.surface = _blind(inner.surface)

    def _score(self, shown: Sequence[Shown]) -> list[Scored]:
        presentations = [one.presentation for one in shown]
        blind = [one.with_surface(_blind(one.surface)) for one in presentations]
        # All were checked before the first is read.
        asked = [replace(one, presentation=p) for one, p in zip(shown, blind, strict=True)]
        return ask(self.inner, asked)


def isolated() -> Isolate:
    """Return the remedy that reads each candidate as if it were alone in the prompt.

    The shared text is read once a window; each candidate sees it and itself. Scores
    equal those of windows of one, up to float error, so they are free of order and
    companions. Cost: about that of a batched window; tokens are counted as they are read.

    Raises:
        UsageError: (when applied) the scorer cannot show "isolated", or draws orders; (then
            or before anything is scored) the query stands after the candidates.
    """
    return Isolate()


def _require_visibility(inner: Scorer) -> None:
    offered = sorted(getattr(inner, "visibilities", ()))
    if "isolated" not in offered:
        has = f"it offers {', '.join(offered)}" if offered else "it offers no choice of visibility"
        raise UsageError(
            f"isolated needs a scorer that can blind candidates to each other; {inner.name} cannot: "
            f"{has}. Use a local model (hf:MODEL, smollm2-135m), or windows of one (width 1)."
        )
    if getattr(inner, "draws", False):
        raise UsageError(
            f"{inner.name} draws orders, and blind candidates have the same score in every order: "
            "that only costs more. Name isolated alone."
        )


def _blind(surface: Surface) -> Surface:
    """Return the surface with candidates blind to each other; refuse one that cannot be."""
    blind = replace(surface, visibility="isolated")
    check_surface(blind)
    return blind
