"""Where a service is, the key it wants, and what is added to its requests: checked."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import httpx

from evenhand.errors import UsageError

KEY_VARIABLE, URL_VARIABLE = "OPENAI_API_KEY", "OPENAI_BASE_URL"


def key_headers(
    variable: str | None,
    default: str | None = None,
    *,
    header: str = "Authorization",
    before: str = "Bearer ",
) -> dict[str, str]:
    """Return the header that carries the key of an environment variable.

    Args:
        variable: the variable that was asked for by name, or None.
        default: the variable to look at otherwise; no key is sent when it is None or unset.
        header: name of the header. before: what stands before the key in it.

    Raises:
        UsageError: the variable asked for is not set, or its value cannot be a header.
    """
    if variable is not None and not isinstance(variable, str):
        raise UsageError(f"key_variable is the name of an environment variable, got {variable!r}")
    name = default if variable is None else variable
    key = os.environ.get(name, "").strip() if name else ""
    if not key:
        if variable is None:
            return {}
        raise UsageError(
            f"the environment variable {name!r} is empty or not set; put the key there (key_variable "
            "is the name of the variable, not the key)"
        )
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"the value of {name} holds characters that no key has; check it")
    return {header: before + key}


def checked_address(url: str) -> str:
    """Return an address without trailing slash.

    Raises:
        UsageError: it is no http address, or holds a user, query or fragment, which
            would carry secrets into names and records.
    """
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise UsageError(f"a service needs an address such as http://host:port/v1, got {url!r}")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise UsageError(
            f"the address of {parsed.host} holds a user, a query or a fragment; give it without. "
            "A key goes into an environment variable."
        )
    return url.rstrip("/")


def endpoint_address(base_url: str | None) -> str:
    """Return the address of an OpenAI-compatible endpoint, up to and without the path of a call.

    Args:
        base_url: as given; None or "" = the variable OPENAI_BASE_URL.

    Raises:
        UsageError: neither is there, or it is no address; see `checked_address`.
    """
    url = base_url or os.environ.get(URL_VARIABLE)
    if not url:
        raise UsageError(
            f"an endpoint needs an address; give base_url=http://host:port/v1 or set {URL_VARIABLE}"
        )
    return checked_address(url)


def require_fields(extra: Mapping[str, Any], taken: frozenset[str] = frozenset()) -> None:
    """Refuse further fields of a request that are none.

    Args:
        extra: values by field. taken: fields that are not free.

    Raises:
        UsageError: extra is no mapping of texts to JSON values, or holds one of these.
    """
    try:
        plain = isinstance(extra, Mapping) and bool(json.dumps(dict(extra), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        plain = False
    if not plain or not all(isinstance(key, str) for key in extra):
        raise UsageError(f"extra must be a dict of plain values by field, got {extra!r}")
    if taken & extra.keys():
        raise UsageError(f"extra names {sorted(taken & extra.keys())}, which evenhand sets itself")
