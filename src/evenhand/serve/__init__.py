"""A scorer behind HTTP, in the shapes that rerank clients speak; needs the extra `serve`."""

from __future__ import annotations

import importlib.util

from evenhand.errors import MissingExtraError

for _module in ("fastapi", "uvicorn", "prometheus_client"):
    if importlib.util.find_spec(_module) is None:
        raise MissingExtraError(_module, "serve")
