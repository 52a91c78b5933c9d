import gc
import tempfile

import numpy as np
import pytest

import evenhand
from evenhand.errors import InputError, ResumeError, UsageError
from evenhand.report.result import Result, audit, write_html, write_text
from evenhand.types import Candidate, Slate


def slates(count=3, size=4):
    return [
        Slate(
            f"q{q}",
            f"query {q}",
            tuple(Candidate(f"c{i}", f"text {i}") for i in range(size)),
            {f"c{i}": i % 4 for i in range(size)},
        )
        for q in range(count)
    ]


def test_an_audit_of_a_position_only_scorer_by_hand(tmp_path):
    # The score is 1 - position/2: two candidates have 2! = 2 orders, both are drawn, and
    # each pair of different rows swaps the one pair of candidates. Over all 4 pairs of
    # rows, each with itself included, tau-PSI is (0 + 1 + 1 + 0) / 4 = .5.
    scorer = evenhand.open_scorer("toy:relevance=position")
    result = audit(scorer, slates(size=2), rows=4, out=tmp_path / "run")
    assert result.analysis.stability["tauPSI"].mean == 0.5
    assert result.analysis.floor["tauPSI"].mean == 0.0
    assert result.path == tmp_path / "run"


def test_a_result_opened_from_its_folder_says_the_same(tmp_path):
    scorer = evenhand.open_scorer("toy:slot_bias=0.4")
    made = audit(scorer, slates(), rows=4, out=tmp_path / "run")
    opened = Result(tmp_path / "run")
    assert opened.table() == made.table()
    assert opened.findings == made.analysis.findings
    assert opened.to_markdown(tmp_path / "deep" / "r.md") == (tmp_path / "deep" / "r.md").read_text(
        "utf-8"
    )


def test_the_frame_holds_every_score(tmp_path):
    scorer = evenhand.open_scorer("toy:slot_bias=0.4")
    frame = audit(scorer, slates(), rows=4, out=tmp_path / "run").frame()
    # 3 slates x (canonical + 4 random + repeat) x 4 candidates.
    assert frame.num_rows == 3 * 6 * 4
    first = frame.slice(0, 4).to_pydict()
    assert first["candidate"] == ["c0", "c1", "c2", "c3"]
    assert set(first["kind"]) == {"canonical"}


def test_missing_scores_are_counted_and_stay_missing(tmp_path):
    def half(query, texts):
        return [float("nan") if text == "text 0" else len(query) + float(text[-1]) for text in texts]

    result = audit(evenhand.scorer(half), slates(), rows=4, out=tmp_path / "run")
    # One candidate of each of 3 slates in 6 rows.
    assert result.analysis.counts["missing_scores"] == 18
    scores = np.array(result.frame().column("score").to_pylist(), dtype=np.float64)
    assert np.isnan(scores).sum() == 18


def test_without_a_folder_the_run_lives_as_long_as_its_result():
    result = audit(evenhand.open_scorer("toy"), slates(), rows=2)
    path = result.path
    assert (path / "scores.parquet").exists()
    del result
    gc.collect()
    assert not path.exists()


def test_a_failed_audit_leaves_no_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(UsageError):
        audit(evenhand.open_scorer("toy"), slates(), rows=0)
    with pytest.raises(InputError, match="q0"):
        audit(evenhand.open_scorer("toy"), slates() + slates(), rows=2)
    assert list(tmp_path.iterdir()) == []


def test_a_fixed_threshold_is_used_and_a_senseless_one_refused(tmp_path):
    scorer = evenhand.open_scorer("toy:slot_bias=0.4")
    result = audit(scorer, slates(), rows=4, out=tmp_path / "run", threshold=0.5)
    assert result.analysis.threshold.rule == "fixed"
    assert result.analysis.threshold.folds == (0.5,)
    with pytest.raises(UsageError, match="outside the observed scores"):
        _ = Result(tmp_path / "run", threshold=99.0).analysis


def test_a_senseless_threshold_of_an_audit_does_not_stick(tmp_path):
    scorer = evenhand.open_scorer("toy:slot_bias=0.4")
    with pytest.raises(UsageError, match="outside the observed scores"):
        audit(scorer, slates(), rows=4, out=tmp_path / "run", threshold=99.0)
    assert Result(tmp_path / "run").analysis.threshold.rule == "f1"
    audit(scorer, slates(), rows=4, out=tmp_path / "run", threshold=0.5)
    with pytest.raises(UsageError, match="outside the observed scores"):
        audit(scorer, slates(), rows=4, out=tmp_path / "run", threshold=99.0)
    assert Result(tmp_path / "run").threshold == 0.5


def test_further_measures_are_added(tmp_path):
    scorer = evenhand.open_scorer("toy:slot_bias=0.4")
    result = audit(scorer, slates(), rows=4, out=tmp_path / "run", measures=["P@2"])
    assert "P@2" in result.analysis.served


def test_a_run_opened_again_shows_what_the_audit_showed(tmp_path):
    scorer = evenhand.open_scorer("toy:slot_bias=0.4")
    made = audit(scorer, slates(), rows=4, out=tmp_path / "run", threshold=0.5, measures=["P@2"])
    opened = Result(tmp_path / "run")
    assert (opened.threshold, opened.measures) == (0.5, ("P@2",))
    assert opened.table() == made.table()
    other = Result(tmp_path / "run", threshold=0.4, measures=["P@1"])
    assert other.analysis.threshold.folds == (0.4,)
    assert "P@1" in other.analysis.served
    assert "P@2" not in other.analysis.served
    audit(scorer, slates(), rows=4, out=tmp_path / "run")
    assert Result(tmp_path / "run").threshold is None


def test_a_stopped_run_loses_at_most_four_slates(tmp_path):
    seen = []
    audit(
        evenhand.open_scorer("toy"), slates(9), rows=2, out=tmp_path / "run",
        progress=lambda done, total: seen.append(done),
    )  # fmt: skip
    assert seen == [0, 4, 8, 9]


def test_width_and_surface_default_to_the_scorer(tmp_path):
    class Narrow:
        """A toy that is used two at a time."""

        def __init__(self, inner):
            self.inner = inner

        default_window = 2

        def __getattr__(self, name):
            return getattr(self.inner, name)

    scorer = Narrow(evenhand.open_scorer("toy:slot_bias=0.4"))
    result = audit(scorer, slates(), rows=4, out=tmp_path / "run")
    assert result.analysis.settings["width"] == 2
    other = audit(scorer, slates(), rows=4, width=3, out=tmp_path / "other")
    assert other.analysis.settings["width"] == 3


def test_other_settings_in_the_same_folder_are_refused_by_name(tmp_path):
    scorer = evenhand.open_scorer("toy:slot_bias=0.4")
    audit(scorer, slates(), rows=4, out=tmp_path / "run")
    with pytest.raises(ResumeError, match="rows"):
        audit(scorer, slates(), rows=5, out=tmp_path / "run")


def test_progress_ends_at_the_number_of_slates(tmp_path):
    seen = []
    audit(
        evenhand.open_scorer("toy"), slates(5), rows=2, out=tmp_path / "run", part_size=2,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen == [(0, 5), (2, 5), (4, 5), (5, 5)]


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(ResumeError):
        Result(tmp_path)


def test_several_results_share_one_page(tmp_path):
    pytest.importorskip("plotly")
    results = [
        audit(evenhand.open_scorer(spec), slates(), rows=4, out=tmp_path / str(i))
        for i, spec in enumerate(("toy", "toy:slot_bias=0.4"))
    ]
    page = write_html(results, tmp_path / "page.html").read_text("utf-8")
    assert 'id="result-0"' in page
    assert 'id="result-1"' in page


TOY = evenhand.open_scorer("toy")
ONE = slates()[0]


@pytest.mark.parametrize(
    ("scorer", "given", "settings", "says"),
    [
        ("toy", [], {}, "open_scorer"),
        (None, [], {}, "a scorer is needed, got NoneType"),
        (lambda query, texts: [0.0], [], {}, r"wrap a function .* evenhand\.scorer"),
        (TOY, ONE, {}, "put one slate in a list"),
        (TOY, None, {}, "iterable of Slate is needed, got NoneType"),
        (TOY, "demo", {}, "got str"),
        (TOY, [ONE], {"measures": ["Vibes"]}, r"Vibes.*tauPSI"),
        (TOY, [ONE], {"measures": "tauPSI"}, "must be a list of names"),
        (TOY, [ONE], {"threshold": "high"}, "must be a finite number"),
    ],
)
def test_what_could_only_fail_after_scoring_is_refused_before(tmp_path, scorer, given, settings, says):
    with pytest.raises(UsageError, match=says):
        audit(scorer, given, out=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_a_report_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "report.md"):
        with pytest.raises(UsageError, match="the report cannot be written"):
            write_text(path, "text")


def test_the_records_of_an_unnamed_run_live_as_long_as_they_are_held():
    folder = audit(evenhand.open_scorer("toy"), slates(), rows=2).folder
    gc.collect()
    assert len(list(folder.recorded())) == len(slates())
    path = folder.path
    del folder
    gc.collect()
    assert not path.exists()


def test_an_audit_of_membership_shows_pool_psi_with_its_floor(tmp_path):
    scorer = evenhand.open_scorer("toy:slot_bias=0.4,noise=0.3")
    result = audit(scorer, slates(), rows=4, design="membership", out=tmp_path / "run")
    found = result.analysis
    for name in ("PoolPSI", "PoolPSI(kind='replaced')", "PoolPSI(kind='dropped')"):
        assert found.stability[name].n > 0
        # A noisy scorer ranks the same presentation in two ways.
        assert 0 < found.floor[name].mean < 1
    page = result.table()
    assert "Pool-PSI" in page
    # Pool-PSI has its floor right below it.
    lines = page.splitlines()
    at = next(i for i, line in enumerate(lines) if "Pool-PSI" in line)
    assert "noise floor" in lines[at + 1]
