"""Names for clients: those of the scorer without folders and addresses of the server's side."""

from __future__ import annotations

import os
import re
from pathlib import Path

_SCHEMES = re.compile(r"((?:[a-z]+:)*)(.*)", re.DOTALL)
_ADDRESS = re.compile(r":?https?://\S+")


def public(name: str) -> str:
    """Return a scorer's name with the last part of each local path, and without addresses.

    "hf:/data/models/mine+runs/x/scorer" is "hf:mine+scorer"; a hub id stays as it is. After
    one local path every further part is taken for one: its '+' may be the path's own.
    """
    match = _SCHEMES.fullmatch(_ADDRESS.sub("", name))
    assert match is not None  # it matches any text
    parts, local = [], False
    for part in match[2].split("+"):
        local = local or _is_local(part)
        parts.append(Path(part).name if local else part)
    return match[1] + "+".join(parts)


def secrets(*names: str) -> dict[str, str]:
    """Return private -> public name for those that differ, the longest first; adapters apart too."""
    found = {name: public(name) for name in names}
    for name in names:
        body = name.partition(":")[2] or name
        found |= {part: public(part) for part in body.split("+") if _is_local(part)}
    return {name: found[name] for name in sorted(found, key=len, reverse=True) if found[name] != name}


def _is_local(text: str) -> bool:
    if os.path.isabs(text) or text.startswith((".", "~")):
        return True
    return any(mark in text for mark in "/\\") and len(text) < 4096 and Path(text).exists()
