"""A request that is not answered: its status, and a body that every client can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Status -> one word for the kind of refusal, as clients of the OpenAI form read it.
KINDS: Mapping[int, str] = {
    400: "bad_json",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid_request",
    429: "queue_full",
    500: "internal_error",
    502: "scorer_failed",
    503: "draining",
    504: "timeout",
}

_LONGEST = 800


class RefusalError(Exception):
    """A request that is answered with an error status.

    Attributes:
        status: of the answer. message: what came, what is needed, what to do; never the
            text of a document. field: of the body, that is to blame. retry: seconds
            after which another try makes sense.
    """

    def __init__(
        self, status: int, message: str, *, field: str | None = None, retry: int | None = None
    ) -> None:
        # A name in a request that is refused may be as long as the request.
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]} ..."
        super().__init__(message)
        self.status = status
        self.message = message
        self.field = field
        self.retry = retry

    @property
    def headers(self) -> dict[str, str]:
        """Headers that go with the status."""
        headers = {} if self.retry is None else {"Retry-After": str(self.retry)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        # The rest of the body, or of the connection, is not waited for.
        if self.status in (408, 413, 503):
            headers["Connection"] = "close"
        return headers


def error_body(status: int, message: str, field: str | None = None) -> dict[str, Any]:
    """Return the JSON of a refusal, under the keys that Cohere, Jina and vLLM clients read."""
    kind = KINDS.get(status, "error")
    error = {"message": message, "type": kind, "param": field, "code": status}
    return {"message": message, "detail": message, "error": error}
