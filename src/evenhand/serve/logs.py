"""One line of JSON for each request and event; no text of a request unless asked for."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any

NAME = "evenhand.serve"


class _Lines(logging.Handler):
    """Writes records as JSON lines to the standard error of the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        facts = getattr(record, "facts", {"event": record.name, "message": record.getMessage()})
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {"time": f"{stamp}.{int(record.msecs):03d}Z", "level": record.levelname.lower(), **facts}
        try:
            print(json.dumps(line, ensure_ascii=True, default=str), file=sys.stderr, flush=True)
        except OSError:  # there is nobody to tell
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
