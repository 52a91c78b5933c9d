import pytest

from evenhand.study.analysis import Analysis, Cost, Curve, Finding
from evenhand.study.found.verdict import Verdict, verdict


def analysis(counts, *findings):
    empty = Curve([], {})
    return Analysis(
        {}, {}, (), {}, {}, {}, {}, {}, None, Cost(0, 0), counts,
        tuple(Finding(code, severity, "") for code, severity in findings), {}, empty, empty,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "findings", "strict", "expected"),
    [
        ({"failed_rows": 0}, [], True, Verdict.MEASURED),
        ({"failed_rows": 1}, [], True, Verdict.PARTLY),
        ({"missing_scores": 1}, [], False, Verdict.PARTLY),
        ({}, [("unsteady", "error")], False, Verdict.MEASURED),
        ({"failed_rows": 1}, [("unsteady", "error")], True, Verdict.INCONCLUSIVE),
        ({}, [("unsteady", "warning")], True, Verdict.INCONCLUSIVE),
        ({}, [("unsteady", "note"), ("collapse", "warning")], True, Verdict.MEASURED),
    ],
)
def test_verdict(counts, findings, strict, expected):
    assert verdict(analysis(counts, *findings), strict=strict) is expected


def test_word_and_exit_code_are_one_value():
    assert [(one.word, one.exit_code) for one in Verdict] == [
        ("measured", 0),
        ("partly measured", 7),
        ("inconclusive", 8),
    ]
