"""From a request body to what the scorer is shown, and from its answer to the response.

A request is a slate whose id is a hash of what it says, so the same request draws the
same orders whenever it comes and whoever shares its batch. Its documents are named by
their index.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.errors import UsageError
from evenhand.present import orders as draws
from evenhand.seeds import content_hash, generator
from evenhand.serve.names import secrets
from evenhand.serve.refusals import RefusalError
from evenhand.serve.settings import Serving, require_same_cut, settled_threshold
from evenhand.serve.shapes import Asked, Orders, Rerank, Score, as_list
from evenhand.serve.spread import Teller
from evenhand.study.rows.layout import Layout, layout
from evenhand.types import Candidate, Scorer, Shown, Slate

# Remedied scorers that are remembered, so that requests with the same remedies share calls.
_REMEMBERED = 8


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One request, ready to be scored.

    Attributes:
        teller: who is asked. shown: rows, in the order they are answered.
        threshold: of the decision, or None. order_seed: as asked.
        documents: texts, in the order they came.
    """

    teller: Teller
    shown: tuple[Shown, ...]
    threshold: float | None
    order_seed: int | None
    documents: Sequence[str]


class Reader:
    """Makes questions of request bodies, for one served scorer.

    Attributes:
        scorer: without remedies. serving: the settings. layout: width, rule, surface.
        names: what clients may call the model; the first is what answers call it.
    """

    def __init__(self, scorer: Scorer, serving: Serving, spec: str) -> None:
        """Check that scorer and settings fit.

        Raises:
            UsageError: a remedy does not fit the scorer, or windows are wider than it takes.
        """
        self.scorer, self.serving = scorer, serving
        width = serving.width if serving.width is not None else scorer.default_window
        if width is None:
            width = scorer.max_window
        self.layout: Layout = layout(scorer, [], width=width, rule=serving.rule)
        if scorer.max_window is not None and (width or 0) > scorer.max_window:
            raise UsageError(
                f"windows of {width} documents, but {scorer.name} takes at most {scorer.max_window}; "
                f"choose a width up to {scorer.max_window}"
            )
        self._secret = secrets(spec, scorer.name)
        self.names = tuple(dict.fromkeys((*serving.names, self.said(spec), self.said(scorer.name))))
        # Whoever knows the name that the server was started with may use it; nobody is told it.
        self._taken = frozenset((*self.names, spec, scorer.name))
        self._tellers: OrderedDict[tuple[str, ...], Teller] = OrderedDict()
        self.default = self._teller(serving.remedies)

    def said(self, text: str) -> str:
        """Return a text for clients: names of the scorer without the paths of this machine."""
        for private, public in self._secret.items():
            text = text.replace(private, public)
        return text

    def rerank(self, body: Rerank) -> Question:
        """Return what a rerank request asks.

        Raises:
            RefusalError: 422 where a value cannot be had with this scorer.
        """
        self._require_model(body.model)
        self._require_cut(body.max_tokens_per_doc)
        teller, threshold, seed = self._asked(body.evenhand)
        self._require_scores(len(body.documents), self._own(teller, body.evenhand))
        slate = slate_of(body.query, body.documents)
        return Question(teller, (self._shown(teller, slate, seed),), threshold, seed, body.documents)

    def score(self, body: Score) -> Question:
        """Return what a score request asks: one slate for 1 : N, one a pair for N : N.

        Raises:
            RefusalError: 422 where the two sides do not fit, or a value cannot be had.
        """
        self._require_model(body.model)
        teller, threshold, seed = self._asked(body.evenhand)
        queries, texts = as_list(body.text_1), as_list(body.text_2)
        self._require_scores(len(texts), self._own(teller, body.evenhand))
        if len(queries) == 1:
            slates = [slate_of(queries[0], texts)]
        elif len(queries) == len(texts):
            slates = [slate_of(query, [text]) for query, text in zip(queries, texts, strict=True)]
        else:
            raise RefusalError(
                422,
                f"text_1 holds {len(queries)} texts and text_2 {len(texts)}; send one against many, or "
                "as many against as many",
                field="text_1",
            )
        shown = tuple(self._shown(teller, slate, seed) for slate in slates)
        return Question(teller, shown, threshold, seed, texts)

    def orders(self, body: Orders) -> Question:
        """Return what a request for several orders asks; the first order is as they came.

        Raises:
            RefusalError: 422 where a value cannot be had with this scorer.
        """
        self._require_model(body.model)
        teller, threshold, seed = self._asked(body.evenhand)
        inner = self._own(teller, body.evenhand)
        if body.orders * inner > self.serving.limits.orders:
            each = f" with {inner} inner orders each" if inner > 1 else ""
            raise RefusalError(
                422,
                f"{body.orders} orders{each} are more than {self.serving.limits.orders}; ask for fewer",
                field="orders",
            )
        self._require_scores(len(body.documents), body.orders * inner)
        slate = slate_of(body.query, body.documents)
        first = Shown(slate, self._present(teller, draws.canonical(len(slate))))
        rows = (
            draws.shuffled(len(slate), generator(seed or 0, slate.id, "orders shown", row))
            for row in range(1, body.orders)
        )
        others = [
            Shown(slate, self._present(teller, order), row, "random")
            for row, order in enumerate(rows, start=1)
        ]
        return Question(teller, (first, *others), threshold, seed, body.documents)

    def _shown(self, teller: Teller, slate: Slate, seed: int | None) -> Shown:
        n = len(slate)
        order = draws.canonical(n)
        if seed is not None:
            order = draws.shuffled(n, generator(seed, slate.id, "order shown"))
        return Shown(slate, self._present(teller, order))

    def _present(self, teller: Teller, order: Sequence[int]) -> Any:
        # A remedy may show another surface than the bare scorer, as `isolated` does.
        return self.layout.present(order).with_surface(teller.scorer.surface)

    def _asked(self, asked: Asked | None) -> tuple[Teller, float | None, int | None]:
        own = asked or Asked()
        given = self.serving.remedies if own.remedy is None else tuple(as_list(own.remedy))
        try:
            teller = self.default if own.remedy is None else self._teller(given)
            threshold = self._threshold(own, given)
        except UsageError as error:
            field = "evenhand.remedy" if own.remedy is not None else "evenhand.threshold"
            raise RefusalError(422, str(error), field=field) from None
        most = self.serving.limits.orders
        if own.remedy is not None and teller.orders > most:
            raise RefusalError(
                422,
                f"remedy {' + '.join(given)} scores up to {teller.orders} orders, and at most {most} "
                "are taken; ask for fewer",
                field="evenhand.remedy",
            )
        return teller, threshold, own.order_seed

    def _threshold(self, own: Asked, remedies: Sequence[str]) -> float | None:
        if own.threshold is not None:
            require_same_cut(remedies, own.threshold)
            return own.threshold
        # A remedy that picks the best has no threshold, whatever the server's own is.
        return settled_threshold(remedies, self.serving.threshold)

    def _teller(self, remedies: tuple[str, ...]) -> Teller:
        if remedies not in self._tellers:
            self._tellers[remedies] = Teller(self.scorer, remedies)
            while len(self._tellers) > _REMEMBERED:
                self._tellers.popitem(last=False)
        self._tellers.move_to_end(remedies)
        return self._tellers[remedies]

    def _own(self, teller: Teller, asked: Asked | None) -> int:
        """Return the inner orders that a request asks for itself.

        What the server's own remedies cost is for whoever started it to say.
        """
        return teller.orders if asked is not None and asked.remedy is not None else 1

    def _require_scores(self, documents: int, orders: int) -> None:
        most = self.serving.limits.scores
        if documents * orders > most:
            raise RefusalError(
                413,
                f"{documents} documents in {orders} orders are {documents * orders} scores, and at "
                f"most {most} are taken in one request; send fewer documents or ask for fewer orders",
            )

    def _require_model(self, model: str | None) -> None:
        if model is not None and model not in self._taken:
            raise RefusalError(
                422,
                f"this server has no such model; it serves {', '.join(self.names)} (further names are "
                "given by --name when it is started)",
                field="model",
            )

    def _require_cut(self, most: int | None) -> None:
        """Refuse a bound on a document's tokens that the scorer does not keep anyway."""
        if most is None:
            return
        own = cut_of(self.scorer)
        if own is None or own > most:
            said = "cuts no document" if own is None else f"cuts documents at {own} tokens"
            raise RefusalError(
                422,
                f"max_tokens_per_doc {most} cannot be had: the scorer {said}, which is set when the "
                "server is started; leave it out",
                field="max_tokens_per_doc",
            )


def slate_of(query: str, documents: Sequence[str]) -> Slate:
    """Return a slate whose id is a hash of its texts and whose candidates are named by index."""
    candidates = tuple(Candidate(str(index), text) for index, text in enumerate(documents))
    return Slate(content_hash([query, list(documents)])[:32], query, candidates)


def cut_of(scorer: Any) -> int | None:
    """Return the tokens at which a scorer cuts each candidate, or None."""
    own = getattr(scorer, "max_candidate_tokens", None)
    if own is None:
        own = getattr(getattr(scorer, "options", None), "max_candidate_tokens", None)
    return own if isinstance(own, int) else None
