"""The pytest plugin: audits of a scorer inside a test, and their figures in its report.

pytest imports this module in every run of every project that has evenhand installed,
so it loads nothing; what audits need is imported by the first of them.

The figures of an audit are properties of its test, `evenhand.1.tauPSI` and so on for
its first audit. JUnit files show them, workers of pytest-xdist send them, and the
summary at the end of the run is read off them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from evenhand.pytest_plugin.audits import AuditScorer

NAME = "evenhand"
_PROPERTY = re.compile(rf"{NAME}\.(\d+)\.(.+)")
_NUMBERS = ("rows", "seed", "width")
_DEFAULTS = pytest.StashKey[Mapping[str, Any]]()
_CACHE = pytest.StashKey["Path | None"]()
_OPENED = pytest.StashKey[dict[str, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the ini keys."""
    group = parser.getgroup(NAME, "evenhand: audits of scorers")
    group.addoption("--evenhand-rows", type=int, metavar="N", help="M, random rows of an audit.")
    group.addoption("--evenhand-seed", type=int, metavar="N", help="Seed of the random rows.")
    group.addoption(
        "--evenhand-cache",
        metavar="FOLDER",
        help="Keep runs in this folder; an audit that stands there is not scored again.",
    )
    group.addoption("--evenhand-skip", action="store_true", help="Skip tests that audit a scorer.")
    parser.addini("evenhand_rows", "M, random rows of an audit")
    parser.addini("evenhand_seed", "seed of the random rows of an audit")
    parser.addini("evenhand_width", "B, most candidates in a prompt")
    parser.addini("evenhand_slates", "'demo', or a path of slates from the root folder")
    parser.addini("evenhand_cache", "folder of kept runs, from the root folder")


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings of the run, declare the marker, begin to collect figures."""
    config.addinivalue_line(
        "markers",
        f"{NAME}(rows=, width=, seed=, slates=, max_tau_psi=, ...): settings of a test's audits and "
        "bounds that their results must keep; see the fixture audit_scorer",
    )
    found: dict[str, int | str | None] = {name: _number(config, name) for name in _NUMBERS}
    found["slates"] = str(config.getini("evenhand_slates") or "").strip() or None
    config.stash[_DEFAULTS] = {name: value for name, value in found.items() if value is not None}
    config.stash[_CACHE] = _cache(config)
    config.stash[_OPENED] = {}
    config.pluginmanager.register(_Figures(), f"{NAME}-figures")


def _number(config: pytest.Config, name: str) -> int | None:
    """Return a whole number from the command line, or else from the ini file."""
    given = config.getoption(f"{NAME}_{name}", None)
    if given is not None:
        return int(given)
    text = str(config.getini(f"{NAME}_{name}") or "").strip()
    try:
        return int(text) if text else None
    except ValueError:
        raise pytest.UsageError(f"{NAME}_{name} must be a whole number, got {text!r}") from None


def _cache(config: pytest.Config) -> Path | None:
    if given := config.getoption("evenhand_cache"):
        return Path(config.invocation_params.dir, given)
    text = str(config.getini("evenhand_cache") or "").strip()
    return config.rootpath / text if text else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what audits, where that is asked for."""
    if not config.getoption("evenhand_skip"):
        return
    for item in items:
        if _marked(item) or "audit_scorer" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason="--evenhand-skip"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker that says what no audit knows, before the test does anything slow."""
    if not _marked(item):
        return
    from evenhand.errors import UsageError
    from evenhand.pytest_plugin.settings import marked

    fault = ""
    try:
        marked(item)
    except UsageError as error:
        fault = str(error)
    if fault:
        pytest.fail(fault, pytrace=False)


def _marked(item: pytest.Item) -> bool:
    return item.get_closest_marker(NAME) is not None


@pytest.fixture
def audit_scorer(request: pytest.FixtureRequest) -> AuditScorer:
    """Audits of this test, each run by calling it with a scorer and slates."""
    from evenhand.pytest_plugin.audits import AuditScorer

    stash = request.config.stash
    return AuditScorer(request, stash[_DEFAULTS], stash[_CACHE], stash[_OPENED])


class _Figures:
    """Collects the figures of all audits from the reports of their tests, and prints them."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Every phase reports all that is known of its test by then.
        for name, value in report.user_properties:
            if found := _PROPERTY.fullmatch(str(name)):
                key = report.nodeid, int(found[1])
                self._found.setdefault(key, {})[found[2]] = value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._found:
            return
        from evenhand.pytest_plugin.figures import line

        # By name: workers report in any order.
        terminalreporter.write_sep("=", "evenhand: audits of scorers")
        for (nodeid, _), figures in sorted(self._found.items()):
            terminalreporter.write_line(f"{nodeid}  {line(figures)}")
