"""The app: routes, and what each of them answers."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from evenhand.serve import answers, logs, openapi
from evenhand.serve.ask import Question, Reader
from evenhand.serve.entry import Entry, State, to_json
from evenhand.serve.info import facts
from evenhand.serve.intake import GoneError, Intake
from evenhand.serve.metrics import Metrics
from evenhand.serve.refusals import RefusalError, error_body
from evenhand.serve.settings import Serving
from evenhand.serve.shapes import Orders, Rerank, Score, parse
from evenhand.serve.spread import Told
from evenhand.serve.worker import Job, Worker
from evenhand.types import Scored, Scorer

PAGE = Path(__file__).with_name("page.html")
RERANK = ("/rerank", "/v1/rerank", "/v2/rerank")
SCORE = ("/score", "/v1/score")
_CLOSED = 499

B = TypeVar("B", Rerank, Score, Orders)
Answer = dict[str, Any]


class Service:
    """A scorer and what serves it; `app` is the ASGI app.

    Attributes:
        state: whether it drains, and how many requests are open.
        worker: the scoring thread, which `close` ends.
    """

    def __init__(
        self,
        scorer: Scorer,
        serving: Serving | None = None,
        *,
        spec: str | None = None,
        measured: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the app and start the scoring thread.

        Args:
            scorer: the scorer, without the remedies of `serving`.
            serving: the settings. spec: the scorer as it was named; None = its name.
            measured: estimates of a run, for `/info`.

        Raises:
            UsageError: the settings do not fit the scorer.
        """
        self.serving = serving or Serving()
        named = spec if spec is not None else scorer.name
        self.reader = Reader(scorer, self.serving, named)
        self.info = facts(self.reader, named, measured)
        limits = self.serving.limits
        self.worker = Worker(limits.queue, limits.batch, self._on_batch, scores=limits.scores)
        self.metrics = Metrics(lambda: self.worker.waiting)
        self.state = State()
        self._intake = Intake(limits, self.worker, self.metrics)
        self._began = int(time.time())
        self._page, self._policy = _page()
        api = self._api()
        paths = {route.path for route in api.routes if hasattr(route, "path")}
        self.app: ASGIApp = Entry(api, self.state, self.metrics, self.serving.key, lambda: paths)

    def close(self, timeout: float = 5.0) -> bool:
        """End the scoring thread; see `Worker.close`."""
        return self.worker.close(timeout)

    def _on_batch(self, jobs: Sequence[Job]) -> None:
        self.metrics.batch.observe(len(jobs))

    def _api(self) -> FastAPI:
        # Pages of documentation would come from elsewhere; the document itself is ours.
        # A redirect would lead to the host that the request names.
        api = FastAPI(title="evenhand", docs_url=None, redoc_url=None, redirect_slashes=False)
        api.openapi = partial(openapi.describe, api)  # type: ignore[method-assign]
        api.add_exception_handler(HTTPException, _http_error)
        for path in RERANK:
            self._post(api, path, Rerank, partial(self._rerank, path == "/v2/rerank"))
        for path in SCORE:
            self._post(api, path, Score, self._score)
        self._post(api, "/evenhand/orders", Orders, self._orders)
        for path, answer in {
            "/": self._show_page, "/health": self._health, "/info": self._info,
            "/metrics": self._metrics, "/v1/models": self._models,
        }.items():  # fmt: skip
            api.add_api_route(
                path, answer, methods=["GET"], response_class=Response,
                responses=openapi.refusals(post=False), response_model=None,
            )  # fmt: skip
            api.add_api_route(path, answer, methods=["HEAD"], include_in_schema=False)
        return api

    def _post(
        self, api: FastAPI, path: str, kind: type[B], answer: Callable[[Request, B], Awaitable[Answer]]
    ) -> None:
        async def route(request: Request) -> Response:
            return await self._answered(request, kind, answer)

        api.add_api_route(
            path, route, methods=["POST"], response_class=Response, response_model=None,
            responses=openapi.responses_of(kind), openapi_extra=openapi.body_of(kind),
            name=path.strip("/").replace("/", "_"),
        )  # fmt: skip

    async def _answered(
        self, request: Request, kind: type[B], answer: Callable[[Request, B], Awaitable[Answer]]
    ) -> Response:
        try:
            body = parse(kind, await self._intake.body(request), self.serving.limits)
            answered = await answer(request, body)
            own = answered["evenhand"]
            if own["failure"] is not None:
                own["failure"] = self.reader.said(own["failure"])
            return _json(answered)
        except GoneError:
            return Response(status_code=_CLOSED)
        except RefusalError as refusal:
            if refusal.status == 502 and refusal.__cause__ is not None:
                why = logs.cause(refusal.__cause__, texts=self.serving.log_texts)
                logs.say("scorer failed", id=request.state.id, **why)
            refusal.message = self.reader.said(refusal.message)
            return _refused(refusal)
        except Exception as error:
            logs.say("fault", id=request.state.id, **logs.fault(error, texts=self.serving.log_texts))
            return _refused(RefusalError(500, "a fault of the server; its log says where"))

    async def _rerank(self, second: bool, request: Request, body: Rerank) -> Answer:
        question = self.reader.rerank(body)
        (told,) = await self._tell(request, question, body.query)
        # Version 2 of Cohere's API returns no documents; the others do unless told not to.
        wanted = not second if body.return_documents is None else body.return_documents
        return answers.rerank_answer(
            question, told, model=self._called(body.model), top_n=body.top_n, documents=wanted,
            uncertain=self.serving.uncertain_at, version="2" if second else "1",
        )  # fmt: skip

    async def _score(self, request: Request, body: Score) -> Answer:
        question = self.reader.score(body)
        told = await self._tell(request, question, body.text_1)
        model = self._called(body.model)
        return answers.score_answer(question, told, model=model, uncertain=self.serving.uncertain_at)

    async def _orders(self, request: Request, body: Orders) -> Answer:
        question = self.reader.orders(body)
        told = await self._tell(request, question, body.query)
        return answers.orders_answer(question, told, model=self._called(body.model))

    async def _tell(self, request: Request, question: Question, query: str | list[str]) -> list[Told]:
        request.state.facts.update(documents=len(question.documents), rows=len(question.shown))
        if self.serving.log_texts:
            request.state.facts.update(query=query, texts=list(question.documents))
        if not question.documents:
            empty = Told(Scored(np.empty(0)), keep=np.empty(0, dtype=np.bool_))
            return [empty for _ in question.shown]
        job = Job(question.teller, question.shown, question.threshold)
        told = await self._intake.answer(request, job)
        self.metrics.scored(told)
        request.state.facts.update(
            prompts=sum(one.scored.prompts for one in told),
            tokens=sum(one.scored.tokens for one in told),
            missing=sum(int(np.isnan(one.scored.scores).sum()) for one in told),
        )
        return told

    def _called(self, model: str | None) -> str:
        return self.reader.names[0] if model is None else self.reader.said(model)

    async def _health(self) -> Response:
        if self.state.draining or not self.worker.alive:
            return _json({"status": "draining" if self.state.draining else "stopped"}, 503)
        return _json({"status": "ok", "waiting": self.worker.waiting})

    async def _info(self) -> Response:
        return _json(self.info)

    async def _models(self) -> Response:
        listed = [
            {"id": name, "object": "model", "created": self._began, "owned_by": "evenhand"}
            for name in self.reader.names
        ]
        return _json({"object": "list", "data": listed})

    async def _metrics(self) -> Response:
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _show_page(self) -> Response:
        headers = {"Content-Security-Policy": self._policy, "X-Content-Type-Options": "nosniff"}
        return Response(self._page, media_type="text/html; charset=utf-8", headers=headers)


def _page() -> tuple[str, str]:
    """Return the page, and the policy under which nothing but its own script runs."""
    page = PAGE.read_text(encoding="utf-8")

    def allowed(tag: str) -> str:
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
        return f"{tag}-src 'sha256-{digest}'"

    own = "; ".join((allowed("script"), allowed("style")))
    rest = "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return page, f"default-src 'none'; img-src data:; {own}; {rest}"


def _json(value: Any, status: int = 200) -> Response:
    return Response(to_json(value), status_code=status, media_type="application/json")


def _refused(refusal: RefusalError) -> Response:
    body = to_json(error_body(refusal.status, refusal.message, refusal.field))
    return Response(
        body, status_code=refusal.status, media_type="application/json", headers=refusal.headers
    )


async def _http_error(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = {404: "there is no such path", 405: "this path takes another method"}.get(status, "refused")
    headers = getattr(error, "headers", None)
    return Response(
        to_json(error_body(status, said)), status_code=status, media_type="application/json",
        headers=headers,
    )  # fmt: skip
