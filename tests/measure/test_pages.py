"""Every family of measures has a page that says what a reader of a number must know."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "measures.md", *sorted((DOCS / "measures").glob("*.md"))]
TOLD = {
    "the question": ("question",),
    "the formula": ("formula", "share of"),
    "the range": ("range", "0 to 1"),
    "what a trivial scorer gets": ("constant scorer", "constant", "against itself", "order-free"),
    "how it can be gamed": ("gamed",),
    "what stands beside it": ("beside",),
    "the source": ("source", "sources"),
}


def test_each_family_has_its_page():
    families = {"channels", "decisions", "labels", "statistics", "variance", "worst_case"}
    assert families <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.parametrize("what", TOLD)
def test_a_page_tells(page, what):
    text = page.read_text("utf-8").lower()
    assert any(word in text for word in TOLD[what]), f"{page.name} lacks {what}"
