from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evenhand.measure.paired import Paired, PairedOptions
from evenhand.report.compare import (
    cells,
    method_lines,
    probability,
    to_dict,
    to_markdown,
    to_text,
)
from evenhand.study.against.compare import Compared, Comparison, System

NAN = float("nan")
FOUND = Paired(
    mean_a=0.25,
    mean_b=0.125,
    difference=-0.125,
    low=-0.2,
    high=-0.05,
    level=0.95,
    p_bootstrap=0.002,
    p_permutation=0.00001,
    exact=False,
    p=0.002,
    test="bootstrap",
    dz=-1.5,
    rank_biserial=-0.9,
    detectable=0.04,
    n=40,
    missing=0,
    resampled="slates",
)
ROW = Comparison("base", "other", "tauPSI", FOUND, 3, 0.004, (0.01, 0.02))
NOTHING = replace(
    FOUND,
    low=NAN,
    high=NAN,
    p=NAN,
    p_bootstrap=NAN,
    p_permutation=NAN,
    detectable=NAN,
    missing=2,
    test="",
    resampled="",
    withheld="why not",
)
WITHHELD = Comparison("base", "other", "Overlap", NOTHING, 0, NAN, (NAN, NAN))


@pytest.fixture
def compared():
    return Compared(
        systems=(
            System("base", ("toy",), (("runs/a",),)),
            System("other", ("toy:x",), (("runs/b", "runs/c"),)),
        ),
        rows=(ROW, WITHHELD),
        family=1,
        slates=(42,),
        settings={"rows": 10, "width": None, "rule": "contiguous", "design": "reorder", "seed": 0},
        differing=("seed: 0, 1",),
        matched=False,
        notes=("Overlap of base and other: no p-value, why not",),
        missing_scores=2,
        options=PairedOptions(),
    )


def test_cells():
    assert cells(ROW) == (
        "tauPSI",
        "0.250",
        "0.125",
        "-0.125 [-0.200, -0.050]",
        "0.0020",
        "0.0040",
        "<.0001",
        "-1.50",
        "-0.90",
        "40, 3 undefined",
        "0.040",
        "0.010 / 0.020",
        "differs",
    )
    assert cells(WITHHELD)[3:7] == ("-0.125", "–", "–", "–")
    assert cells(WITHHELD)[9] == "40, 2 missing"
    assert cells(WITHHELD)[-1] == "withheld"


def test_gains_have_a_sign_and_zero_has_none():
    gain = replace(ROW, paired=replace(FOUND, difference=0.125, exact=True))
    assert cells(gain)[3].startswith("+0.125 ")
    assert cells(gain)[6] == "<.0001 exact"
    assert cells(replace(ROW, paired=replace(FOUND, difference=0.0001)))[3].startswith("0.000 ")


def test_what_is_said():
    assert cells(replace(ROW, adjusted=0.2))[-1] == "no difference shown"
    assert cells(replace(ROW, floors=(0.0, 0.3)))[-1] == "within the noise floor"


def test_a_p_value_is_never_0():
    assert [probability(p) for p in (1.0, 0.04999, 0.0001, 0.00009, NAN)] == [
        "1.0000",
        "0.0500",
        "0.0001",
        "<.0001",
        "–",
    ]


def test_text_has_numbers_settings_and_notes(compared):
    page = to_text(compared)
    assert "other against base (difference = other - base)" in page
    assert "-0.125 [-0.200, -0.050]" in page
    assert "base: toy; runs/a" in page
    assert "other: toy:x; runs/b, runs/c" in page
    # The seeds differ, so no single one is printed.
    assert "slates 42; random rows M 10; window width B whole slate; " in page
    assert "window rule contiguous; design reorder\n" in page
    assert "the runs differ in seed: 0, 1" in page
    assert "resampled: slates." in page
    assert "Holm: corrected over 1 comparison;" in page
    assert "note Overlap of base and other: no p-value, why not" in page


def test_a_narrow_page_keeps_what_decides(compared):
    head = to_text(compared, width=120)
    assert "rank-biserial" not in head
    assert "p, Holm" in head
    assert "noise" in head


def test_markdown_is_inert(compared):
    page = to_markdown(replace(compared, rows=(replace(ROW, other="<b>|x"),)))
    assert "## \\<b\\>\\|x against base" in page
    assert "| tauPSI | 0.250 | 0.125 |" in page


def test_json_is_strict_and_whole(compared):
    found = json.loads(json.dumps(to_dict(compared), allow_nan=False))
    one, two = found["comparisons"]
    assert (one["difference"], one["p_holm"], one["noise_floor"]) == (-0.125, 0.004, [0.01, 0.02])
    assert (one["verdict"], one["exceeds_noise"], one["undefined"]) == ("differs", True, 3)
    assert (two["p"], two["p_holm"], two["noise_floor"]) == (None, None, [None, None])
    assert (two["withheld"], two["verdict"]) == ("why not", "withheld")
    assert found["systems"][1]["runs"] == [["runs/b", "runs/c"]]
    assert found["options"] == {
        "draws": 20000,
        "seed": 0,
        "level": 0.95,
        "power": 0.8,
        "max_missing": 0.0,
    }


def test_it_is_said_which_test_p_is_and_that_the_interval_is_not_corrected(compared):
    lines = "\n".join(method_lines(compared))
    assert "Interval: 95% of one comparison, not corrected for their number; percentile" in lines
    assert "p: two-sided, of the draws of the interval. p, Holm: corrected over 1 comparison;" in lines
    exact = replace(ROW, paired=replace(FOUND, test="permutation", exact=True))
    lines = "\n".join(method_lines(replace(compared, rows=(exact,), family=2)))
    assert (
        "p: the exact permutation (sign-flip) test, which is another test than the interval." in lines
    )
    assert "corrected over 2 comparisons;" in lines
    both = "\n".join(method_lines(replace(compared, rows=(ROW, exact))))
    assert (
        "of the draws of the interval; the exact permutation (sign-flip) test where at most 16" in both
    )
    assert "p: none." in "\n".join(method_lines(replace(compared, rows=(WITHHELD,))))


def test_why_nothing_is_detectable_is_in_the_json(compared):
    few = replace(ROW, paired=replace(FOUND, detectable=NAN, undetectable="too few"))
    [found] = to_dict(replace(compared, rows=(few,)))["comparisons"]
    assert (found["detectable"], found["undetectable"]) == (None, "too few")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 150, 190])
def test_no_page_cuts_a_number(compared, width):
    page = to_text(compared, width=width)
    assert "…" not in page
    for number in ("-0.125 [-0.200, -0.050]", "0.0040", "0.010 / 0.020", "40, 3 undefined"):
        assert number in page


def test_a_page_too_narrow_for_the_table_has_a_block_for_each_measure(compared):
    lines = to_text(compared, width=80).splitlines()
    start = lines.index("tauPSI")
    assert lines[0] == "other against base (difference = other - base)"
    assert lines[start + 3].split(maxsplit=1) == ["difference", "-0.125 [-0.200, -0.050]"]
    assert "Overlap" in lines
    assert not any("┃" in line for line in lines)
