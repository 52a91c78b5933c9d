import sys

import pytest

from evenhand.errors import MissingExtraError
from evenhand.report.page import fill, require_drawing


def test_what_is_missing_is_named_before_anything_is_read(monkeypatch):
    for module in ("jinja2", "plotly"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            patch.setitem(sys.modules, f"{module}.graph_objects", None)
            with pytest.raises(MissingExtraError, match=module):
                require_drawing()


def test_a_value_that_the_page_needs_and_lacks_is_an_error():
    jinja2 = pytest.importorskip("jinja2")
    pytest.importorskip("plotly")
    with pytest.raises(jinja2.UndefinedError):
        fill("page.html.j2", {}, title="no more")
