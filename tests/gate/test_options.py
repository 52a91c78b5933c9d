from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.errors import UsageError
from evenhand.gate.options import KNOWN, Options, joined, placed, read_options


def read(**values):
    return read_options(
        {name.replace("_", "-"): value for name, value in values.items()}, "[t] {}".format
    )


def test_names_known():
    assert KNOWN == (
        "baseline",
        "junit",
        "level",
        "max-drop",
        "max-missing",
        "max-pair-flip",
        "max-rise",
        "max-tau-psi",
        "min-ndcg",
        "min-overlap",
        "min-slates",
        "on",
        "require",
        "strict",
        "threshold",
        "vary",
    )


def test_criteria_of_all_kinds():
    found = read(
        max_tau_psi=0.12,
        require=["Overlap(t=0.5)>=0.8"],
        max_drop={"nDCG@10": 0.01},
        max_rise="tauPSI=0.02",
        min_ndcg=None,
    )
    assert [str(one) for one in found.criteria] == [
        "tauPSI <= 0.12",
        "Overlap(t=0.5) >= 0.8",
        "drop of nDCG@10, served <= 0.01",
        "rise of tauPSI <= 0.02",
    ]
    assert found.others == {}


def test_the_other_settings():
    found = read(
        baseline="main", on="mean", level=0.9, threshold=1, max_missing=0, min_slates=5, strict=True,
        vary=["width"], junit="g.xml",
    )  # fmt: skip
    assert found.others == {
        "baselines": (Path("main"),),
        "on": "mean",
        "level": 0.9,
        "threshold": 1.0,
        "max_missing": 0.0,
        "min_slates": 5,
        "strict": True,
        "vary": ("width",),
        "junit": Path("g.xml"),
    }


def test_underscores_are_hyphens():
    assert read_options({"max_tau_psi": 0.1}, str) == read_options({"max-tau-psi": 0.1}, str)
    with pytest.raises(UsageError, match="max-tau-psi is set twice"):
        read_options({"max_tau_psi": 0.1, "max-tau-psi": 0.1}, str)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max-tau-psy": 1}, "unknown setting .t. max-tau-psy; known are baseline, junit, "),
        ({"max-tau-psi": "0.1"}, r"\[t\] max-tau-psi: the bound must be a finite number, got '0.1'"),
        ({"max-tau-psi": True}, "must be a finite number, got True"),
        ({"max-tau-psi": 12}, r"\[t\] max-tau-psi: tauPSI lies between 0 and 1"),
        ({"require": "tauPSO<=1"}, r"\[t\] require: unknown measure 'tauPSO'"),
        ({"require": [1]}, r"\[t\] require: it must be a text or a list of texts, got \[1\]"),
        ({"max-drop": {"nDCG@10": "x"}}, r"\[t\] max-drop: the bound of nDCG@10 must be a finite"),
        ({"max-drop": 0.1}, r"\[t\] max-drop: it must be a text or a list"),
        ({"max-rise": ["tauPSI"]}, r"\[t\] max-rise: takes MEASURE=NUMBER"),
        ({"on": "median"}, r"unknown \[t\] on 'median'; known are \['bound', 'mean'\]"),
        ({"level": 1.0}, r"\[t\] level must lie between 0 and 1, got 1.0"),
        ({"threshold": "high"}, r"\[t\] threshold must be a finite number"),
        ({"max-missing": 1}, r"\[t\] max-missing is a share under 1, got 1"),
        ({"min-slates": 0}, r"\[t\] min-slates must be at least 1"),
        ({"strict": "yes"}, r"\[t\] strict must be true or false, got 'yes'"),
        ({"vary": 3}, r"\[t\] vary must be a text or a list of texts"),
        ({"junit": ""}, r"\[t\] junit must name a file"),
        ({"baseline": {}}, r"\[t\] baseline must be a text or a list"),
        (
            {"max-tau-psi": 0.1, "require": ["tauPSI<=0.2"]},
            "'tauPSI <= 0.1' and 'tauPSI <= 0.2' bound one thing twice",
        ),
    ],
)
def test_what_is_refused(values, message):
    with pytest.raises(UsageError, match=message):
        read_options(values, "[t] {}".format)


def test_the_command_line_wins_by_what_it_speaks_of():
    under = read(max_tau_psi=0.12, min_overlap=0.8, on="mean", level=0.9)
    over = read(require=["tauPSI<=0.2", "PairFlip<=.5"], on="bound")
    found = joined(under, over)
    assert [str(one) for one in found.criteria] == [
        "tauPSI <= 0.2",
        "Overlap >= 0.8",
        "PairFlip <= 0.5",
    ]
    assert (found.on, found.level) == ("bound", 0.9)


def test_the_two_sides_of_one_measure_are_two_criteria():
    found = joined(read(require=["Retained>=0.1"]), read(require=["Retained<=0.6"]))
    assert len(found.criteria) == 2


def test_nothing_asked_is_refused():
    with pytest.raises(UsageError, match="nothing to judge: give a criterion, --max-tau-psi"):
        joined(Options(), Options())


def test_paths_of_a_file_are_taken_from_its_folder(tmp_path):
    found = placed(read(baseline=["main", "/b"], junit="out/g.xml", max_tau_psi=0.1), tmp_path)
    assert found.others["baselines"] == (tmp_path / "main", Path("/b"))
    assert found.others["junit"] == tmp_path / "out" / "g.xml"
    assert placed(Options(), tmp_path) == Options()
