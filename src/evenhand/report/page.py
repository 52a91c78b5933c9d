"""The shell of an HTML page: templates, Plotly's script and what may run, in one file."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.errors import MissingExtraError
from evenhand.report import figures
from evenhand.report.bars import key_of
from evenhand.report.clean import one_line, script_json
from evenhand.report.digits import NONE, count, number
from evenhand.report.words import describe

if TYPE_CHECKING:
    import jinja2


def require_drawing() -> None:
    """Refuse before anything is read when pages cannot be made.

    Raises:
        MissingExtraError: plotly or jinja2 is not installed.
    """
    figures.graph_objects()
    _environment()


def fill(name: str, drawn: Mapping[str, figures.Figure], **values: Any) -> str:
    """Return a page: a template of this folder with its figures and values.

    Args:
        name: of the template.
        drawn: figures by name; each is drawn where the page has "plot-NAME".
        values: what the template reads; text in them is escaped.

    Raises:
        MissingExtraError: plotly or jinja2 is not installed.
    """
    plotly, script = figures.plotly_script(), _resource("page.js")
    specs = {key: json.loads(figure.to_json()) for key, figure in drawn.items()}
    page: str = (
        _environment()
        .get_template(name)
        .render(
            plotly=plotly,
            script=script,
            script_hashes=" ".join(_csp_hash(text) for text in (plotly, script)),
            specs=script_json(json.dumps(specs, ensure_ascii=True)),
            style=_resource("page.css"),
            keys={key: key_of(figure) for key, figure in drawn.items()},
            **values,
        )
    )
    return page


def _resource(name: str) -> str:
    return importlib.resources.files("evenhand.report").joinpath(name).read_text("utf-8")


def _environment() -> jinja2.Environment:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "report") from None
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number, count=count, clean=one_line, percent=_percent, breakable=_breakable
    )
    environment.globals.update(describe=describe)
    return environment


def _breakable(name: str) -> str:
    """Return a name, escaped, that may break after a comma, slash, colon or underscore."""
    import markupsafe

    escaped = str(markupsafe.escape(one_line(name)))
    for mark in ",/:_":
        escaped = escaped.replace(mark, mark + "<wbr>")
    return markupsafe.Markup(escaped)


def _csp_hash(script: str) -> str:
    """Return the source expression that lets this script, and no other, run."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if math.isfinite(share) else NONE
