"""The site: it builds without a warning, asks nobody, and its start page can be followed."""

import functools
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def load(path):
    """Return a Python file as a module, whatever folder it is in."""
    found = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def blocks(page, language):
    text = (DOCS / page).read_text(encoding="utf-8")
    return [body for kind, body in BLOCK.findall(text) if kind == language]


def build(config, to):
    pytest.importorskip("material")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(to)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_built_and_nothing_else_of_docs(site):
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    assert built - {Path("404.html")} == pages
    assert [*site.rglob("*.py")] == []


def test_every_page_can_be_reached_from_the_navigation():
    named = re.findall(r"^ .*: ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def test_no_page_asks_another_host_or_tells_where_it_was_built(site):
    loads = re.compile(
        r"""<(?:script|img|iframe)[^>]*src="?(https?:)?//|<link[^>]*href="?(https?:)?//"""
    )
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert loads.search(page) is None, path
        assert "fonts.g" not in page, path
        assert str(ROOT) not in page, path
        assert str(Path.home()) + "/" not in page, path


def test_a_list_is_a_list_and_a_table_a_table(site):
    # Markdown of the site wants an empty line before them where other readers do not.
    for path in site.rglob("*.html"):
        page = re.sub(r"<pre.*?</pre>", "", path.read_text(encoding="utf-8"), flags=re.S)
        assert re.findall(r"^(?:<p>)?(?:- |\d+\. |\| ).*", page, re.M) == [], path


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path):
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path / "mkdocs.yml")
    page = tmp_path / "docs" / "limits.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n[x](concepts.md#no-such-heading)\n")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode != 0
    assert "no-such-heading" in done.stderr


def test_the_tables_of_measures_are_those_of_the_registry():
    script = load(DOCS / "measures_table.py")
    page = (DOCS / "names.md").read_text(encoding="utf-8")
    assert script.filled(page) == page, "run python docs/measures_table.py"
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    from evenhand.measure.registry import MEASURES

    assert sorted(re.match(r"\| `(\w+)`", row)[1] for row in rows) == sorted(MEASURES)
    assert (
        "| `PairFlip` | (best, worst) changes | `kind`: pairwise or modal (pairwise) |  | 0 |" in rows
    )


def test_every_option_of_a_measure_in_the_tables_is_read():
    from evenhand.measure.registry import parse

    page = (DOCS / "names.md").read_text(encoding="utf-8")
    for head, options, cutoff in re.findall(
        r"^\| `(\w+)` \| [^|]* \| ([^|]*) \| ([^|]*) \|", page, re.M
    ):
        end = "@3" if cutoff.strip() == "needed" else ""
        for name, default in re.findall(r"`(\w+)`: [^;|]* \(([^)]+)\)", options):
            value = {"as fitted": "0.5"}.get(default, default)
            text = value if value[0].isdigit() else repr(value)
            assert parse(f"{head}({name}={text}){end}").head == head
        assert parse(head + ("@3" if cutoff.strip() else "")).head == head


# Of the start page: fetch or need a model, a GPU or a service.
MODEL = ("--out runs/smol", "--scorer hf:", "--scorer rerank:")


def lines_of_start():
    text = "".join(blocks("start.md", "sh")).replace("\\\n", " ")
    return [
        line.partition(" #")[0].strip() for line in text.splitlines() if line.startswith("evenhand ")
    ]


def follow(line, folder):
    code = "from evenhand.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *shlex.split(line)[1:]],
        cwd=folder, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return done.stdout


@pytest.fixture
def fresh(tmp_path):
    """A folder in which the slates of the start page were saved as it says."""
    (text,) = blocks("start.md", "json")
    (tmp_path / "mine.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_start_page_can_be_followed(fresh):
    light = [line for line in lines_of_start() if not any(part in line for part in MODEL)]
    assert [line.split()[1] for line in light] == ["doctor", "data", "audit"]
    said = [follow(line, fresh) for line in light]
    assert re.search(r"^slates +3$", said[1], re.M)
    assert "tauPSI" in said[2]
    assert (fresh / "runs" / "toy" / "scores.parquet").exists()


@pytest.mark.slow
def test_the_start_page_can_be_followed_with_the_shipped_model(fresh):
    (line,) = [line for line in lines_of_start() if MODEL[0] in line]
    assert "tauPSI" in follow(line, fresh)
    assert (fresh / "smol.html").stat().st_size > 100_000


def test_the_start_page_explains_what_the_table_prints(fresh):
    table = follow("evenhand audit mine.jsonl --scorer toy:slot_bias=0.4", fresh)
    page = (DOCS / "start.md").read_text(encoding="utf-8").partition("## Read the table")[2]
    for label in ("noise floor", "tauPSI", "retained-set overlap", "top-1 flip", "pair flip"):
        assert label in table
        assert label in page
    assert "warning" in table


@pytest.fixture
def planner(capsys):
    """The names that the page of costs defines."""
    space = {"__name__": "costs"}
    for body in blocks("costs.md", "python"):
        exec(compile(body, "costs.md", "exec"), space)
    capsys.readouterr()
    return space


def test_a_price_is_what_is_then_spent(planner, tmp_path):
    import evenhand
    from evenhand.remedy import apply
    from evenhand.train.silver import label

    slates, price = planner["slates"], planner["price"]
    scorer = evenhand.open_scorer("toy:slot_bias=0.4")
    for one in (scorer, apply(scorer, ["average:4"])):
        cost = evenhand.audit(one, slates, rows=10, width=6).analysis.cost
        prompts, tokens = price(one, slates, 10 + 2, width=6)
        assert prompts == 12 * len(slates) * cost.prompts_per_slate
        # A sixth of the slates: near, not equal.
        assert tokens == pytest.approx(12 * len(slates) * cost.tokens_per_slate, rel=0.1)
    report = label(scorer, slates, tmp_path / "labels", orders=4, width=6)
    assert price(scorer, slates, 4, width=6)[0] == report.prompts


def test_the_formulas_of_prompts(planner):
    slates, price = planner["slates"], planner["price"]
    scorer = planner["scorer"]
    # 30 slates of 12 candidates: W = ceil(12 / 5) = 3; D (M + 2) W = 30 * 12 * 3 = 1,080.
    assert price(scorer, slates, 12, width=5)[0] == 1080
    # W = 1 for a window of the whole slate: 30 * 12 = 360.
    assert price(scorer, slates, 12, width=12)[0] == 360


@pytest.fixture
def served(site):
    """The address of the built site on a server of this test."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_reader_searches_and_nobody_else_is_asked(served, tmp_path):
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None or shutil.which("bash") is None:
        pytest.skip("no Chromium (or bash) on the path; install it to run this test")
    browser = load(ROOT / "tests/report/conftest.py").Browser(binary, str(tmp_path))
    try:
        browser._call("Page.navigate", session=True, url=f"{served}/index.html?q=overlap")
        end = time.monotonic() + 30
        found = "[...document.querySelectorAll('.md-search-result__item h1')].map(e => e.textContent)"
        while not browser.run(found):
            assert time.monotonic() < end, "the search found nothing"
            time.sleep(0.1)
        assert any("Measures" in title for title in browser.run(found))
        asked = [url for url in browser.requests if not url.startswith(("data:", served))]
        assert asked == []
        assert browser.messages == []
    finally:
        browser.close()
