"""How a verb's arguments and options are named in its help."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

# Kind of a value, as typer names it: what the help calls it.
_KINDS = {
    "integer": "N",
    "integer range": "N",
    "float": "NUMBER",
    "float range": "NUMBER",
    "path": "PATH",
}
_OWN = {
    **dict.fromkeys(("scorer", "reader"), "SPEC"),
    **dict.fromkeys(("rule", "design", "measure", "rubric", "markers", "visibility"), "NAME"),
}


class Verb(TyperCommand):
    """A verb whose help calls values by words such as N, PATH or NAME, not by Python types."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for one in self.params:
            flag = bool(getattr(one, "is_flag", False)) or bool(getattr(one, "count", False))
            if one.metavar is None and not flag:
                one.metavar = _metavar(one)


def _metavar(parameter: Any) -> str:
    """Return what the help calls the value of a parameter that has no word of its own."""
    if parameter.param_type_name == "argument":
        word = str(parameter.name).upper()
        return f"{word}..." if parameter.nargs != 1 else word
    # Typer before 0.26 keeps the kind as click does.
    described = getattr(parameter, "type", None) or getattr(parameter, "type_descriptor", None)
    kind = str(getattr(described, "name", "text")).lower()
    return _OWN.get(str(parameter.name), _KINDS.get(kind, "TEXT"))
