"""How a verb's arguments and options are named in its help."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

# Kind of a value, as typer names it: what the help calls it.
_KINDS = {"int": "N", "float": "NUMBER", "path": "PATH"}
_OWN = {
    **dict.fromkeys(("scorer", "reader"), "SPEC"),
    **dict.fromkeys(("rule", "design", "measure", "rubric", "markers", "visibility"), "NAME"),
}


class Verb(TyperCommand):
    """A verb whose help calls values by words such as N, PATH or NAME, not by Python types."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for one in self.params:
            if one.param_type_name == "argument":
                _name_argument(one)
            elif one.metavar is None and not getattr(one, "is_flag", False):
                one.metavar = _metavar(one)


def _name_argument(argument: Any) -> None:
    """Show an argument as its name in capitals, without its Python type."""
    word = str(argument.metavar or argument.name).rstrip(".").upper()
    argument.metavar = f"{word}..." if argument.nargs != 1 else word
    argument.get_usage_pieces = lambda _: [argument.metavar]
    argument.display_type_rich = lambda ctx: ""


def _metavar(option: Any) -> str:
    """Return what the help calls the value of an option that has no word of its own."""
    # Older typer keeps the kind as click does.
    described = getattr(option, "type_descriptor", None) or option.type
    kind = str(getattr(described, "annotation", getattr(described, "name", ""))).lower()
    found = next((word for part, word in _KINDS.items() if part in kind), "TEXT")
    return _OWN.get(str(option.name), found)
