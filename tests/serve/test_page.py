"""The page: nothing from elsewhere, nothing that acts on its own; in a real browser, slow."""

import importlib.util
import re
import shutil
import time
from pathlib import Path

import pytest

TEXTS = (
    "planets form from discs of dust",
    '<img src=x onerror="window.hacked = 1"> and </script><script>window.hacked = 2</script>',
    "a recipe for bread",
    "stars and their discs",
)


def test_the_page_asks_nobody_and_runs_only_its_own_script(serve, lengths):
    answer = serve(lengths).client.get("/")
    page = answer.text
    assert re.findall(r"""(?:src|href)\s*=\s*["']?(?!data:,)[^"'\s>]+""", page) == []
    assert re.findall(r"https?://", page) == []
    assert re.findall(r"\son\w+\s*=", page) == []
    assert re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", page) == []
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


@pytest.fixture
def browser(tmp_path):
    """A headless Chromium, as the tests of the report drive it."""
    binary = (
        shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    )
    if binary is None or shutil.which("bash") is None:
        pytest.skip("no Chromium (or bash) on the path; install it to run this test")
    path = Path(__file__).parents[1] / "report" / "conftest.py"
    found = importlib.util.spec_from_file_location("report_conftest", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    opened = module.Browser(binary, str(tmp_path))
    yield opened
    opened.close()


def wait(browser, script):
    end = time.monotonic() + 30
    while not browser.run(script):
        assert time.monotonic() < end, script
        time.sleep(0.1)


def fill(browser, **values):
    for name, value in values.items():
        browser.run(f"document.getElementById({name!r}).value = {value!r}")


@pytest.mark.slow
def test_a_person_sees_scores_and_flips(serve, browser, monkeypatch):
    running = serve("toy:relevance=slot", key="k")
    browser._call("Page.navigate", session=True, url=running.url)
    wait(browser, "document.readyState === 'complete' && document.getElementById('go') !== null")
    fill(browser, query="how do planets form", texts="\n".join(TEXTS), orders="8", threshold="0.6")
    browser.click("#go")
    wait(browser, "document.getElementById('said').className === 'bad'")
    assert "key" in browser.run("document.getElementById('said').textContent")
    fill(browser, key="k")
    browser.click("#go")
    wait(browser, "document.querySelectorAll('#found tbody tr').length === 4")
    said = browser.run("document.getElementById('said').textContent")
    assert "candidates flip at 0.6" in said
    assert browser.run("document.querySelectorAll('td.other').length") > 0
    assert browser.run("document.querySelectorAll('tr.flips').length") > 0
    assert browser.run("document.querySelectorAll('#found thead th').length") == 5 + 8
    shown = browser.run("document.getElementById('found').innerText")
    assert all(text in shown for text in TEXTS)
    assert browser.run("typeof window.hacked") == "undefined"
    asked = {url.removeprefix(running.url) for url in browser.requests if not url.startswith("data:")}
    assert asked == {"/", "/evenhand/orders"}
    # The refusal of the first try is the only thing the console has to say.
    assert all("401" in message for message in browser.messages)
    fill(browser, remedy="averige")
    browser.click("#go")
    wait(browser, "document.getElementById('said').textContent.includes('unknown remedy')")
