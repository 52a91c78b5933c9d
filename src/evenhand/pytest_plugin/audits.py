"""The fixture `audit_scorer`: audits of one test, their figures and their bounds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand import __version__
from evenhand.data import load_slates
from evenhand.data.demo import demo_slates
from evenhand.errors import UsageError
from evenhand.gate import GateSettings, Verdict, judge
from evenhand.gate.options import Options, joined, read_options
from evenhand.pytest_plugin.figures import failure, figures_of
from evenhand.pytest_plugin.settings import BOUNDS, MARKER, marked, require_known
from evenhand.records.manifest import plain
from evenhand.remedy import apply
from evenhand.report.result import Result, audit, require_askable
from evenhand.score import open_scorer
from evenhand.score import scorer as wrap
from evenhand.seeds import content_hash
from evenhand.study.rows.kept import slates_hash
from evenhand.study.rows.run import describe
from evenhand.types import Scorer, Slate

DEMO = "demo"
# Characters of a folder's name that come from its test.
_NAME = 80


class AuditScorer:
    """Runs audits for one test and records their figures."""

    def __init__(
        self,
        request: pytest.FixtureRequest,
        defaults: Mapping[str, Any],
        cache: Path | None,
        opened: dict[str, Any],
    ) -> None:
        """Audit for a test.

        Args:
            request: of the fixture.
            defaults: settings of the whole run of pytest.
            cache: folder of kept runs; None = each run stays in its test's own folder.
            opened: scorers by name that earlier tests opened; added to.
        """
        self._request, self._item = request, request.node
        self._defaults, self._cache, self._opened = defaults, cache, opened
        # An audit that breaks off leaves a folder, and no figures.
        self._begun = self._audits = 0
        self._numbers: dict[Path, int] = {}

    def __call__(
        self,
        scorer: Scorer | str | Callable[..., Any],
        slates: Iterable[Slate] | str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Result:
        """Audit a scorer and return the result; bounds that are set must be kept.

        A setting comes from the call, else from the test's closest marker, the command
        line, the ini file, or is that of `evenhand.audit`.

        Args:
            scorer: a name as `evenhand.open_scorer` takes it, opened once in a run of
                pytest; a scorer; or a function f(query, texts).
            slates: slates, a path from pytest's root folder, or "demo"; None = those of
                the marker or the ini file.
            settings: of `evenhand.audit` (rows, width, seed, ...), and bounds as `check` takes.

        Raises:
            UsageError: a setting is unknown, or there are no slates.
            AssertionError: a bound is not kept.
            EvenhandError: as `evenhand.audit`, and where nothing was measured.
        """
        __tracebackhide__ = True
        require_known(settings, "audit_scorer")
        given = {**self._defaults, **marked(self._item), **settings}
        named = given.pop("slates", None)
        bounds = {name: given.pop(name) for name in sorted(given.keys() & BOUNDS)}
        asked = _asked(bounds) if bounds else None
        shown = self._slates(named if slates is None else slates)
        opened = self._open(scorer)
        self._begun += 1
        out = self._folder(opened, shown, given)
        reused = {"reused": True} if (out / "scores.parquet").exists() else {}
        result = audit(opened, shown, out=out, **given)
        self._audits += 1
        self._numbers[out] = self._audits
        self._record(result, figures_of(result.analysis) | reused)
        if asked is not None:
            self._judged(result, asked)
        return result

    def check(self, result: Result, **bounds: Any) -> Verdict:
        """Hold a result against bounds, by the gate, and return its verdict.

        Args:
            result: of an audit.
            bounds: settings of `evenhand gate` as keywords: max_tau_psi=0.12,
                min_overlap=0.8, require="nDCG@10>=0.4", on="mean", and so on.

        Raises:
            UsageError: a bound is unknown, or none is given; `result` is none of an audit.
            AssertionError: the verdict is not "passed"; each bound is told with its numbers.
        """
        __tracebackhide__ = True
        require_known(bounds, "check", BOUNDS)
        if not isinstance(result, Result):
            raise UsageError(f"check takes the result of an audit, got {type(result).__name__}")
        return self._judged(result, _asked(bounds))

    def _judged(self, result: Result, settings: GateSettings) -> Verdict:
        __tracebackhide__ = True
        verdict = judge([result.path], settings)
        self._record(result, {"verdict": verdict.outcome.word})
        if not verdict.passed:
            raise AssertionError(failure(verdict.runs[0]))
        return verdict

    def _record(self, result: Result, figures: Mapping[str, Any]) -> None:
        number = self._numbers.get(result.path)
        if number is not None:
            # Not by `record_property`, which warns where JUnit files are of the usual family.
            named = [(f"{MARKER}.{number}.{name}", value) for name, value in figures.items()]
            self._item.user_properties.extend(named)

    def _slates(self, given: Any) -> Any:
        __tracebackhide__ = True
        if given is None:
            raise UsageError(
                "no slates: give them to audit_scorer or to @pytest.mark.evenhand(slates=...), or name "
                "them by evenhand_slates in pytest's settings"
            )
        if isinstance(given, str) and given == DEMO:
            return demo_slates()
        if isinstance(given, (str, os.PathLike)):
            return list(load_slates(self._request.config.rootpath / given))
        # A stream is read twice where a run is looked up in the cache.
        return list(given) if isinstance(given, Iterable) and not isinstance(given, Mapping) else given

    def _open(self, given: Any) -> Any:
        if not isinstance(given, str):
            return given if isinstance(given, (Scorer, type)) else wrap(given)
        if given not in self._opened:
            self._opened[given] = open_scorer(given)
        return self._opened[given]

    def _folder(self, scorer: Any, slates: Any, settings: Mapping[str, Any]) -> Path:
        """Return the folder of a run: in the cache one for each content, else one of the test."""
        if self._cache is None:
            place: Path = self._request.getfixturevalue("tmp_path")
            return place / f"evenhand-{self._begun}"
        require_askable(scorer, slates, settings.get("threshold"), settings.get("measures"))
        content = {name: value for name, value in settings.items() if name not in _READ_ONLY}
        remedies = content.pop("remedies", ())
        content["scorer"] = describe(apply(scorer, remedies, seed=settings.get("seed", 0)))
        content |= {"slates": slates_hash(slates), "version": __version__}
        name = re.sub(r"[^\w.-]+", "-", self._item.nodeid)[-_NAME:].strip("-.")
        return self._cache / f"{name}-{content_hash(plain(content))[:12]}"


def _asked(bounds: Mapping[str, Any]) -> GateSettings:
    __tracebackhide__ = True
    return joined(Options(), read_options(bounds, lambda name: name.replace("-", "_")))


# Settings that change what is read off a run, not the run.
_READ_ONLY = frozenset({"measures", "threshold"})
