"""An HTTP rerank service as a scorer: one request a window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, NoneType
from typing import Any, get_args

import httpx
import numpy as np

from evenhand.errors import InputError, ScorerError, UsageError, require_count
from evenhand.score.services.address import checked_address, key_headers, require_fields
from evenhand.score.services.budget import reported_tokens
from evenhand.score.services.dialects import DIALECTS, ShapeError, dialect_of, read_scores, request
from evenhand.score.services.http import Answer, Caller, HttpOptions
from evenhand.score.windows import require_width, window_texts
from evenhand.seeds import content_hash
from evenhand.types import FloatArray, Scale, Scored, Shown, Surface


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """What a rerank service is asked for, and what the user knows of it.

    Attributes:
        dialect: a name of `dialects.DIALECTS`; None = told by the path.
        model: as the service calls it; None = not sent.
        width: most candidates of a request unless a run asks otherwise; None = all.
        max_documents: most candidates that the service takes in a request, or None.
        truncate: cut long texts or refuse them, where the dialect has such a switch;
            None = as the service does by itself. Cut tokens are not told by any.
        extra: further fields of every request.
        key_variable: environment variable that holds the key; None sends none.
        order_free: promise that a score depends on query and candidate alone.
        scale: what the scores are; None = what the dialect promises, else "raw".
        name, revision: shown and compared instead of those made from the rest.

    Raises:
        UsageError: a value is not of its kind.
    """

    dialect: str | None = None
    model: str | None = None
    width: int | None = None
    max_documents: int | None = None
    truncate: bool | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    key_variable: str | None = None
    order_free: bool = False
    scale: Scale | None = None
    name: str | None = None
    revision: str | None = None

    def __post_init__(self) -> None:
        for what in ("dialect", "model", "name", "revision"):
            value = getattr(self, what)
            if value is not None and (not isinstance(value, str) or not value):
                raise UsageError(f"{what} must be a non-empty string, got {value!r}")
        for what in ("width", "max_documents"):
            if getattr(self, what) is not None:
                require_count(what, getattr(self, what))
        if self.max_documents is not None and (self.width or 0) > self.max_documents:
            raise UsageError(f"width {self.width} is over max_documents, {self.max_documents}")
        if not isinstance(self.truncate, (bool, NoneType)) or not isinstance(self.order_free, bool):
            raise UsageError("truncate and order_free must be True or False")
        if self.scale is not None and self.scale not in get_args(Scale):
            raise UsageError(f"scale {self.scale!r} is unknown; known are {get_args(Scale)}")
        require_fields(self.extra)


class RerankScorer:
    """Scores through a rerank service, the candidates of a window in one request.

    Texts go in slot order, a candidate with a title as "title: text", empty ones as
    they are. Results are mapped by `index`. A request that gets no answer, and an
    answer with a missing, repeated or wrong index or score, leaves the candidates of
    its window without score; the reason stands in the Scored. Windows that were
    answered keep theirs.

    Cost: one prompt a request, answered or not; tokens as the service tells them, 0
    where it tells none. Retries are not counted.

    Attributes:
        options: as given. url: the endpoint. dialect: name of the dialect spoken.
        revision: a hash of endpoint, model, dialect and fields of the request; or the one
            given, and a hash of model, dialect and fields.
        unseen: the weights behind the service, unless a revision was given.
        max_window: `max_documents`. default_window: `width`, else `max_documents`.
    """

    channels = frozenset({"order", "companions", "window", "membership"})

    def __init__(
        self, url: str, options: RerankOptions | None = None, http: HttpOptions | None = None
    ) -> None:
        """Name the service; nothing is sent.

        Raises:
            UsageError: no address, a dialect or option that does not fit, a named key
                variable that is empty.
        """
        self.options = options or RerankOptions()
        base, path = _split(url)
        self.dialect, self._path = dialect_of(path, self.options.dialect)
        spoken = DIALECTS[self.dialect]
        self._fields = self._made_fields()
        key = key_headers(self.options.key_variable, header=spoken.key_header, before=spoken.key_before)
        self._caller = Caller(base, http, {**spoken.headers, **key})
        self.url = base + self._path
        model = self.options.model
        self.name = self.options.name or f"rerank:{self.url}" + (f" {model}" if model else "")
        given = self.options.revision
        made = content_hash([None if given else self.url, self.dialect, self._fields])[:16]
        self.revision = f"{given} {made}" if given else made
        self.unseen = () if given else ("the weights behind the service",)
        promised: Scale = "raw" if self.options.extra.get("raw_scores") else spoken.scale
        self.scale: Scale = self.options.scale or promised
        self.order_free = self.options.order_free
        self.max_window = self.options.max_documents
        self.default_window = self.options.width or self.options.max_documents
        self.surface = Surface()

    def __repr__(self) -> str:
        return f"RerankScorer({self.url!r}, {self.options!r})"

    @property
    def http(self) -> HttpOptions:
        """How the service is asked."""
        return self._caller.options

    def close(self) -> None:
        """Give the connections back; the scorer cannot be asked any more."""
        self._caller.close()

    def score(self, shown: Sequence[Shown]) -> list[Scored]:
        """Score each Shown, the requests of all of them side by side.

        Raises:
            ScorerError: the service refuses or is not there, speaks another dialect, or
                gives a score outside a "unit" scale; a window is over `max_documents`.
            BudgetError: the budget does not reach.
        """
        for item in shown:
            require_width(item, self.max_window, "max_documents is")
        bodies = [body for item in shown for body in self._bodies(item)]
        answers = iter(self._caller.post(self._path, bodies))
        return [
            self._gathered(item, [next(answers) for _ in item.presentation.windows]) for item in shown
        ]

    def _made_fields(self) -> dict[str, Any]:
        """Return the fields of every request that do not depend on the slate."""
        spoken, options = DIALECTS[self.dialect], self.options
        switch: Mapping[str, Any] = {}
        if options.truncate is not None:
            if not spoken.truncate:
                able = [name for name, dialect in DIALECTS.items() if dialect.truncate]
                raise UsageError(
                    f"dialect {self.dialect!r} has no truncate switch; {', '.join(able)} have one. "
                    "Name the service's own field in extra."
                )
            switch = spoken.truncate[options.truncate]
        ours = {"query", "model", spoken.candidates, spoken.limit or "query", *switch}
        require_fields(options.extra, frozenset(ours))
        fields: dict[str, Any] = {**spoken.extra, **options.extra, **switch}
        return fields if options.model is None else {"model": options.model, **fields}

    def _bodies(self, item: Shown) -> Iterator[dict[str, Any]]:
        for texts in window_texts(item):
            yield {**request(DIALECTS[self.dialect], item.slate.query, texts), **self._fields}

    def _gathered(self, item: Shown, answers: Sequence[Answer]) -> Scored:
        scores: list[FloatArray] = []
        failures: list[str] = []
        for window, answer in zip(item.presentation.windows, answers, strict=True):
            read = answer.failure or self._read(item, answer.body, len(window))
            if isinstance(read, str):
                failures.append(read)
                read = np.full(len(window), np.nan)
            scores.append(read)
        more = f" (and {len(failures) - 1} more windows)" if len(failures) > 1 else ""
        return Scored(
            item.presentation.to_canonical(scores),
            prompts=len(answers),
            tokens=sum(reported_tokens(answer.body) or 0 for answer in answers),
            failure=failures[0] + more if failures else None,
        )

    def _read(self, item: Shown, body: Any, n: int) -> FloatArray | str:
        """Return the scores of one window, or why there are none."""
        try:
            scores = read_scores(self.dialect, body, n)
        except ShapeError as error:
            raise ScorerError(f"{self.name}: {error}") from None
        except InputError as error:
            return str(error)
        if self.scale == "unit" and (scores.min() < 0 or scores.max() > 1):
            raise ScorerError(
                f"{self.name}, slate {item.slate.id!r}: scores from {scores.min():g} to "
                f'{scores.max():g} are outside [0, 1], the scale "unit". Open it with scale="raw".'
            )
        return scores


def open_rerank(
    url: str,
    *,
    dialect: str | None = None,
    model: str | None = None,
    width: int | None = None,
    max_documents: int | None = None,
    truncate: bool | None = None,
    extra: Mapping[str, Any] = MappingProxyType({}),
    key_variable: str | None = None,
    order_free: bool = False,
    scale: Scale | None = None,
    name: str | None = None,
    revision: str | None = None,
    concurrency: int = 8,
    retries: int = 4,
    pause: float = 1.0,
    timeout: float = 60.0,
    budget_prompts: int | None = None,
    budget_tokens: int | None = None,
) -> RerankScorer:
    """Return the scorer of a rerank service.

    Args:
        url: the endpoint, as http://host:port/v1/rerank; a bare http://host:port gets
            the dialect's own path. Without a dialect, /v2/rerank is taken for "cohere",
            /reranking for "mixedbread", any other /rerank and no path for "jina".
        dialect, model, width, max_documents, truncate, extra, key_variable, order_free,
            scale, name, revision: see `RerankOptions`.
        concurrency, retries, pause, timeout, budget_prompts, budget_tokens: see
            `http.HttpOptions`.

    Raises:
        UsageError: no address, or an option that does not fit.
    """
    asked = RerankOptions(
        dialect, model, width, max_documents, truncate, extra, key_variable, order_free, scale,
        name, revision,
    )  # fmt: skip
    http = HttpOptions(concurrency, retries, pause, timeout, budget_prompts, budget_tokens)
    return RerankScorer(url, asked, http)


def _split(url: str) -> tuple[str, str]:
    """Return an address as (scheme and host, path)."""
    address = httpx.URL(checked_address(url))
    path = address.raw_path.decode("ascii").rstrip("/")
    return str(address.copy_with(raw_path=b"/")).rstrip("/"), path
