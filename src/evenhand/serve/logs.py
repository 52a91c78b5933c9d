"""One line of JSON for each request and event; no text of a request unless asked for."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any

NAME = "evenhand.serve"
# So many causes of an error are named.
_DEEPEST = 5


class _Lines(logging.Handler):
    """Writes records as JSON lines to the standard error of the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        facts = getattr(record, "facts", {"event": record.name, "message": record.getMessage()})
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {"time": f"{stamp}.{int(record.msecs):03d}Z", "level": record.levelname.lower(), **facts}
        try:
            print(json.dumps(line, ensure_ascii=True, default=str), file=sys.stderr, flush=True)
        except (OSError, ValueError):  # there is nobody to tell, or standard error is closed
            return


def set_up() -> None:
    """Send the server's own log and that of uvicorn to standard error as JSON lines."""
    for name, level in ((NAME, logging.INFO), ("uvicorn.error", logging.WARNING)):
        log = logging.getLogger(name)
        log.handlers = [_Lines()]
        log.setLevel(level)
        log.propagate = False


def say(event: str, *, level: int = logging.INFO, **facts: Any) -> None:
    """Log an event with plain facts."""
    logging.getLogger(NAME).log(level, event, extra={"facts": {"event": event, **facts}})


def fault(error: BaseException, *, texts: bool) -> dict[str, Any]:
    """Return where an unexpected error came from; its message may quote texts.

    Args:
        texts: whether texts may be logged.
    """
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    found: dict[str, Any] = {"error": type(error).__name__, "places": places[-8:]}
    return {**found, "message": str(error)} if texts else found


def cause(error: BaseException, *, texts: bool) -> dict[str, Any]:
    """Return the kinds of an error and of what it came from; its words may quote texts.

    Args:
        texts: whether texts may be logged.
    """
    at = error
    kinds: list[str] = []
    while len(kinds) < _DEEPEST:
        kinds.append(type(at).__name__)
        below = at.__cause__ or at.__context__
        if below is None:
            break
        at = below
    found: dict[str, Any] = {"error": kinds[0], "causes": kinds[1:]}
    return {**found, "message": str(error)} if texts else found
