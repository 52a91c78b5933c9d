"""The page in a real browser: drawn, offline, silent, and deaf to what texts say."""

from urllib.parse import urlsplit

import pytest

import evenhand
from evenhand.types import Candidate, Slate

pytest.importorskip("plotly", reason="plotly comes with the report extra")

ATTACK = (
    '</script><script>window.hacked = "script"</script>',
    '<img src="http://example.invalid/x.png" onerror="window.hacked = \'image\'">',
    '" onmouseover="window.hacked = 1" style="color:red',
    "{{ 7 * 7 }} ${alert(1)} javascript:alert(1)",
    "nul \x00, lone \ud800, \u202eright to left\u202c שלום עולם, \u2028 and ]]>",
    "[3] Grades: 0 <|im_end|> <b>bold</b> &amp; &lt;",
)


def attacked(q):
    return Slate(
        f'q{q}"><script>window.hacked = "id"</script>',
        f"query {q} {ATTACK[q % len(ATTACK)]}",
        tuple(Candidate(f"c{i}<i>", text, title=ATTACK[0]) for i, text in enumerate(ATTACK)),
        {f"c{i}<i>": i % 4 for i in range(len(ATTACK))},
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report on two scorers over slates whose every text is an attack."""
    from evenhand.report.result import write_html

    folder = tmp_path_factory.mktemp("page")
    slates = [attacked(q) for q in range(6)]
    results = [
        evenhand.audit(evenhand.open_scorer(spec), slates, rows=5, out=folder / str(i), threshold=0.4)
        for i, spec in enumerate(("toy:slot_bias=0.7,noise=0.1", "toy:slot_bias=0.2"))
    ]
    return write_html(results, folder / "page.html").as_uri()


@pytest.fixture
def opened(browser, page):
    browser.messages.clear()
    browser.requests.clear()
    browser.open(page)
    return browser


def test_every_figure_is_drawn_without_network_or_console_message(opened, page):
    # One distribution, and for each of two results the slots and the thresholds.
    drawn = (
        "[...document.querySelectorAll('.plot')].filter(p => p.querySelector('svg .cartesianlayer'))"
    )
    assert opened.run(f"{drawn}.length") == 5
    assert opened.messages == []
    # The only requests are the file itself and data the page holds, such as its empty icon.
    assert [url for url in opened.requests if urlsplit(url).scheme not in ("data", "blob")] == [page]


def test_a_click_opens_the_drill_down(opened):
    first = "#list-result-0 details.slate"
    assert opened.run(f"document.querySelector('{first}').open") is False
    opened.click(f"{first} > summary")
    assert opened.run(f"document.querySelector('{first}').open") is True
    body = opened.run(f"document.querySelector('{first} .body').innerText")
    assert "Score min" in body
    assert opened.run(f"document.querySelector('{first} table.moved').offsetHeight") > 0


def test_no_text_acts_even_when_all_is_open_and_pointed_at(opened):
    opened.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    opened.run(
        "document.querySelectorAll('.chip, [title], li').forEach("
        "e => e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})))"
    )
    assert opened.run("typeof window.hacked") == "undefined"
    assert opened.run("document.querySelectorAll('img, script').length") == 3  # the page's own scripts
    assert opened.run("document.body.innerText.includes('<script>window.hacked')") is True
    assert opened.messages == []


def test_a_script_put_in_from_outside_does_not_run(opened):
    # What escaping keeps out, the content policy would stop as well.
    opened.run(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 3';"
        "document.body.append(s); })()"
    )
    assert opened.run("typeof window.hacked") == "undefined"


def test_the_filter_finds_and_the_box_leaves_only_what_changes(opened):
    count = (
        "[...document.querySelectorAll('#list-result-0 details.slate')].filter(d => !d.hidden).length"
    )
    type_in = (
        "(() => {{ const box = document.querySelector('[data-list=list-result-0] input[type=search]');"
        "box.value = {!r}; box.dispatchEvent(new Event('input')); }})()"
    )
    assert opened.run(count) == 6
    opened.run(type_in.format("QUERY 3"))
    assert opened.run(count) == 1
    opened.run(type_in.format("nowhere to be found"))
    assert opened.run(count) == 0
    assert (
        opened.run("document.querySelector('[data-list=list-result-0] output').textContent")
        == "0 slates"
    )
    opened.run(type_in.format(""))
    changing = "#list-result-0 details.slate:not([data-moved='0'])"
    expected = opened.run(f'document.querySelectorAll("{changing}").length')
    opened.click("[data-list=list-result-0] input[type=checkbox]")
    assert opened.run(count) == expected > 0


def test_pointing_at_a_candidate_lights_it_in_both_presentations(opened):
    lit = opened.run(
        "(() => { const item = document.querySelector('.slope li');"
        "item.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));"
        "return [...document.querySelectorAll('.slope .on')].map(e => e.tagName).sort().join(); })()"
    )
    assert lit == "LI,LI,path"


def test_nothing_sticks_out_on_a_narrow_screen(opened):
    opened.resize(480)
    try:
        assert opened.run("window.innerWidth") == 480
        assert opened.run("document.documentElement.scrollWidth") <= 480
    finally:
        opened.resize(1280)


def test_the_page_of_a_channel_study_is_drawn_and_silent(browser, tmp_path):
    from evenhand.report.channels import audit_channels

    slates = [attacked(q) for q in range(4)]
    toy = evenhand.open_scorer("toy:slot_bias=0.7")
    done = audit_channels(toy, slates, ("order", "window"), rows=3, width=3, threshold=0.4)
    page = done.to_html(tmp_path / "channels.html").as_uri()
    browser.messages.clear()
    browser.open(page)
    # Two of the channels, one distribution, and two for each of the two runs.
    drawn = (
        "[...document.querySelectorAll('.plot')].filter(p => p.querySelector('svg .cartesianlayer'))"
    )
    assert browser.run(f"{drawn}.length") == 7
    assert browser.run("typeof window.hacked") == "undefined"
    assert browser.messages == []
    browser.resize(480)
    try:
        assert browser.run("document.documentElement.scrollWidth") <= 480
    finally:
        browser.resize(1280)
