"""Models that write a ranking, as scorers: an order, and no numbers behind it.

A window's candidates are shown with markers and the model writes `[2] > [1] > ...`.
A list longer than one window is ranked by sliding windows (`sliding`). A score is
(n - place) / n: what it says is the order alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from evenhand.errors import UsageError, require_count
from evenhand.models.load import load
from evenhand.models.quiet import model_packages
from evenhand.present.surface import check_surface
from evenhand.score.listing.ranking import parse_ranking
from evenhand.score.listing.rankprompt import SYSTEM, TASK, RankPrompt, rank_prompt
from evenhand.score.listing.sliding import Repair, Sliding, check_windows
from evenhand.score.listing.writers import ChatWriter, LocalWriter, Reply, Writer
from evenhand.score.services.http import HttpOptions
from evenhand.seeds import content_hash
from evenhand.types import IntArray, Scale, Scored, Shown, Surface

# Tokens of one id with its brackets and sign, where every digit is a token, and some to begin with.
_TOKENS_OF_AN_ID, _TOKENS_BESIDE = 8, 32


@dataclass(frozen=True, slots=True)
class ListwiseOptions:
    """Settings of a scorer that writes rankings.

    Attributes:
        size, step: of the sliding windows; step = size makes windows that share nobody.
        repair: what becomes of candidates that an answer does not name. None: they have
            no score. "end": they are tied at the end, and the row says so.
        max_candidate_words: cut of each candidate, in words; None = none.
        max_tokens: longest answer; None = 8 a candidate and 32 more. Models that think
            before they answer need more.

    Raises:
        UsageError: a value is out of its range.
    """

    size: int = 20
    step: int = 10
    repair: Repair = None
    max_candidate_words: int | None = 300
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        check_windows(self.size, self.step)
        if self.repair not in (None, "end"):
            raise UsageError(f"repair must be None (no score) or 'end', got {self.repair!r}")
        for name in ("max_candidate_words", "max_tokens"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))

    def tokens(self, width: int) -> int:
        """Return the most tokens of an answer about `width` candidates."""
        if self.max_tokens is not None:
            return self.max_tokens
        return _TOKENS_OF_AN_ID * width + _TOKENS_BESIDE


@dataclass(slots=True)
class _Walk:
    """One window of a presentation on its way through the sliding windows."""

    shown: Shown
    sliding: Sliding
    prompts: list[RankPrompt] = field(default_factory=list)
    tokens: int = 0
    failure: str | None = None

    @property
    def open(self) -> bool:
        return self.failure is None and not self.sliding.done


class ListwiseScorer:
    """Ranks the candidates of each window of a presentation by what a model writes.

    Each window of the presentation is a list of its own; the default window is the
    whole slate. Windows that slide over a list are asked one after the other, lists of
    all slates and presentations side by side.

    Ids that name no candidate or repeat one are dropped. A candidate that the last
    window to show it does not name has no score, or is tied at the end
    (`ListwiseOptions.repair`). Whatever was dropped, missing or repaired is counted in
    `Scored.failure`, also where all scores are there; only answers that name every
    candidate once leave it None. A prompt without an answer ends its list: none of
    its candidates has a score.

    Cost: one prompt a sliding window, about n/step of them; tokens read and written.

    Attributes:
        order_only: scores are places: only their order means something.
        unseen: what the revision does not cover, such as weights behind a service.
    """

    scale: Scale = "raw"
    order_free = False
    order_only = True
    channels = frozenset({"order", "companions", "window", "membership", "marker", "rubric"})
    max_window: int | None = None
    default_window: int | None = None

    def __init__(
        self, writer: Writer, options: ListwiseOptions | None = None, surface: Surface | None = None
    ) -> None:
        """Wrap a writer.

        Raises:
            UsageError: the surface names something unknown.
        """
        self.writer = writer
        self.options = options or ListwiseOptions()
        self.surface = surface or Surface()
        check_surface(self.surface)
        self.name = f"listwise:{writer.name}"
        self.unseen = tuple(writer.unseen)
        settings = [getattr(self.options, each.name) for each in fields(self.options)]
        self.revision = content_hash([writer.revision, SYSTEM, TASK, *settings])[:16]

    def __repr__(self) -> str:
        return f"ListwiseScorer({self.name!r}, {self.options!r})"

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score many slates and presentations; each round asks one window of every list.

        Raises:
            ScorerError: the model or service behind it cannot be asked at all.
        """
        walks = [self._walks(item) for item in shown]
        every = [walk for own in walks for walk in own]
        while going := [walk for walk in every if walk.open]:
            self._round(going)
        return [self._gathered(item, own) for item, own in zip(shown, walks, strict=True)]

    def _walks(self, item: Shown) -> list[_Walk]:
        size, step = self.options.size, self.options.step
        return [_Walk(item, Sliding(list(window), size, step)) for window in item.presentation.windows]

    def _round(self, walks: Sequence[_Walk]) -> None:
        for walk in walks:
            item = walk.shown
            surface, most = item.presentation.surface, self.options.max_candidate_words
            walk.prompts.append(rank_prompt(item.slate, walk.sliding.window, surface, most))
        asked = [walk.prompts[-1] for walk in walks]
        replies = self.writer.write(asked, [self.options.tokens(len(one.marks)) for one in asked])
        for walk, prompt, reply in zip(walks, asked, replies, strict=True):
            _take(walk, prompt, reply)

    def _gathered(self, item: Shown, walks: Sequence[_Walk]) -> Scored:
        scores = []
        for walk, window in zip(walks, item.presentation.windows, strict=True):
            known = walk.failure is None
            missing = np.full(len(window), np.nan)
            scores.append(walk.sliding.scores(window, self.options.repair) if known else missing)
        truncated, escaped = _texts(item, walks)
        return Scored(
            item.presentation.to_canonical(scores),
            prompts=sum(len(walk.prompts) for walk in walks),
            tokens=sum(walk.tokens for walk in walks),
            truncated=truncated,
            escaped=escaped,
            failure=_remark(walks, self.options.repair),
            query_escaped=max((p.query_escaped for w in walks for p in w.prompts), default=0),
        )


def _take(walk: _Walk, prompt: RankPrompt, reply: Reply) -> None:
    walk.tokens += reply.tokens
    if reply.text is None:
        walk.failure = reply.failure or "no answer"
        return
    numeric = walk.shown.presentation.surface.markers == "numeric"
    walk.sliding.take(parse_ranking(reply.text, len(prompt.marks) if numeric else prompt.marks))


def _texts(item: Shown, walks: Sequence[_Walk]) -> tuple[IntArray, IntArray]:
    """Return (n,) words cut from each candidate and places escaped in it."""
    truncated = np.zeros(len(item.slate), dtype=np.int64)
    escaped = np.zeros(len(item.slate), dtype=np.int64)
    for prompt in (prompt for walk in walks for prompt in walk.prompts):
        truncated[list(prompt.window)] = prompt.truncated
        escaped[list(prompt.window)] = prompt.escaped
    return truncated, escaped


def _remark(walks: Sequence[_Walk], repair: Repair) -> str | None:
    """Return what the answers of one row lack, as counts; None when they lack nothing."""
    failures = [walk.failure for walk in walks if walk.failure is not None]
    rankings = [ranking for walk in walks for ranking in walk.sliding.rankings]
    unclean = [ranking for ranking in rankings if not ranking.clean]
    parts = failures[:1]
    if unclean:
        counts = {
            "empty": sum(ranking.empty for ranking in unclean),
            "incomplete": sum(not ranking.complete for ranking in unclean),
            "invalid ids": sum(ranking.invalid for ranking in unclean),
            "repeated ids": sum(ranking.repeated for ranking in unclean),
            "candidates not named": sum(len(ranking.missing) for ranking in unclean),
        }
        said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        parts.append(f"{len(unclean)} of {len(rankings)} rankings not as asked: {said}")
    unnamed = sum(len(walk.sliding.unnamed) for walk in walks if walk.failure is None)
    if unnamed and repair:
        parts.append(f"repaired: {unnamed} tied at the end")
    return "; ".join(parts) or None


_LOADING = ("device", "dtype", "revision", "adapter")
_LOCAL = ("chat_template", "context", "token_budget")
_CHAT = ("base_url", "key_variable", "revision")


def open_listwise(spec: str, **options: Any) -> ListwiseScorer:
    """Return the scorer that ranks by what a model writes.

    Args:
        spec: "openai:MODEL" (an OpenAI-compatible chat endpoint), or a local model:
            "hf:...", "gguf:...", "smollm2-135m".
        options: fields of `ListwiseOptions`; rubric, markers, marker_seed and enclose of
            the surface; for an endpoint base_url, key_variable, revision and fields of
            `http.HttpOptions`, for a local model device, dtype, revision, adapter,
            chat_template, context and token_budget.

    Raises:
        UsageError: an unknown option or model, or a value out of its range.
        MissingExtraError: a local model without the packages that run it.
    """
    chat = spec.startswith("openai:")
    http = tuple(each.name for each in fields(HttpOptions)) if chat else ()
    own = tuple(each.name for each in fields(ListwiseOptions))
    surface = ("rubric", "markers", "marker_seed", "enclose")
    known = (*own, *surface, *((*_CHAT, *http) if chat else (*_LOADING, *_LOCAL)))
    unknown = sorted(options.keys() - set(known))
    if unknown:
        raise UsageError(f"listwise:{spec}: unknown options {unknown}; known are {sorted(known)}")
    asked = ListwiseOptions(**_taken(options, own))
    look = Surface(**_taken(options, surface))
    # Before the weights, which take minutes, are fetched.
    check_surface(look)
    if chat:
        made: Writer = ChatWriter(
            spec.removeprefix("openai:"),
            http=HttpOptions(**_taken(options, http)),
            **_taken(options, _CHAT),
        )
    else:
        with model_packages():
            made = LocalWriter(load(spec, **_taken(options, _LOADING)), **_taken(options, _LOCAL))
    return ListwiseScorer(made, asked, look)


def _taken(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options}
