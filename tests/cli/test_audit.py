import json
import sys

import pytest

from evenhand.score.toy import Toy
from evenhand.types import Scored
from servers import Reply, Service


def test_the_table_says_what_was_measured(run, slates_file):
    ended = run("audit", slates_file(), "--scorer", "toy:slot_bias=.5", "--rows", 4)
    assert ended.code == 0
    for words in ("toy:slot_bias=0.5", "nDCG@10, served", "tauPSI", "noise floor", "random rows M 4"):
        assert words in ended.out


def test_json_is_strict_and_holds_the_numbers(run, slates_file):
    # Position alone, 2 candidates: tau-PSI over both orders is .5 (see the toy's docs).
    ended = run(
        "audit", slates_file(size=2), "--scorer", "toy:relevance=position", "--rows", 2, "--json"
    )

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    (result,) = json.loads(ended.out, parse_constant=refuse)["results"]
    assert result["stability"]["tauPSI"]["mean"] == 0.5
    assert result["counts"]["slates"] == 3


def test_settings_reach_the_run(run, slates_file):
    ended = run(
        "audit", slates_file(5, 6), "--scorer", "toy:slot_bias=.5", "--rows", 3, "--width", 2,
        "--rule", "interleaved", "--design", "order", "--seed", 7, "--limit", 2,
        "--threshold", 0.4, "--measure", "P@3", "--json",
    )  # fmt: skip
    (result,) = json.loads(ended.out)["results"]
    settings = result["settings"]
    assert (settings["rows"], settings["width"], settings["rule"]) == (3, 2, "interleaved")
    assert (settings["design"], settings["seed"]) == ("order", 7)
    assert result["slate_ids"] == ["q0", "q1"]
    assert result["threshold"]["folds"] == [0.4]
    assert "P@3" in result["served"]


def test_a_finished_run_is_not_scored_again_and_other_settings_are_4(run, slates_file, tmp_path):
    words = ("audit", slates_file(), "--scorer", "toy:noise=.1", "--out", tmp_path / "run", "--rows")
    assert run(*words, 4).code == 0
    before = (tmp_path / "run" / "scores.parquet").read_bytes()
    again = run(*words, 4)
    assert again.code == 0
    assert "3 of 3 slates scored by an earlier call; nothing was left to score" in again.err
    assert (tmp_path / "run" / "scores.parquet").read_bytes() == before
    refused = run(*words, 5)
    assert refused.code == 4
    assert "rows" in refused.err


def test_reports_are_written_where_asked(run, slates_file, tmp_path):
    pytest.importorskip("plotly")
    html, markdown = tmp_path / "a" / "r.html", tmp_path / "b" / "r.md"
    ended = run(
        "audit", slates_file(), "--scorer", "toy", "--rows", 3, "--html", html, "--markdown", markdown
    )
    assert ended.code == 0
    assert html.read_text("utf-8").startswith("<!doctype html>")
    assert markdown.read_text("utf-8").startswith("# Presentation audit")
    assert str(html) in ended.err


def test_one_candidate_slates_measure_nothing(run, slates_file):
    ended = run("audit", slates_file(size=1), "--scorer", "toy", "--rows", 3)
    assert (ended.code, ended.out) == (5, "")


def test_a_backend_that_raises_is_6(run, slates_file, monkeypatch):
    import evenhand

    class Broken:
        def __init__(self):
            self.inner = evenhand.open_scorer("toy")

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def score(self, shown):
            raise RuntimeError("the backend is on fire")

    broken = Broken()
    monkeypatch.setattr("evenhand.score.open_scorer", lambda spec, **options: broken)
    ended = run("audit", slates_file(), "--scorer", "toy")
    assert (ended.code, ended.out) == (6, "")
    assert "the backend is on fire" in ended.err


def test_rows_without_scores_are_7_and_the_table_stands(run, slates_file, monkeypatch):
    import evenhand

    def half(query, texts):
        if query == "query 1":
            raise ValueError("no answer")
        return [float(len(text)) - i for i, text in enumerate(texts)]

    monkeypatch.setattr("evenhand.score.open_scorer", lambda spec, **options: evenhand.scorer(half))
    ended = run("audit", slates_file(), "--scorer", "mine", "--rows", 3)
    assert ended.code == 7
    assert "tauPSI" in ended.out
    assert "failed rows" in ended.out


def test_a_missing_file_is_4_and_lists_what_would_do(run, tmp_path):
    ended = run("audit", tmp_path / "none.jsonl", "--scorer", "toy")
    assert (ended.code, ended.out) == (4, "")
    assert "'demo'" in ended.err


@pytest.mark.parametrize("words", [("--rows", 1), ("--design", "companions")])
def test_what_no_slate_has_two_rows_of_is_5_with_what_to_do(run, slates_file, tmp_path, words):
    ended = run("audit", slates_file(), "--scorer", "toy", "--out", tmp_path / "run", *words)
    assert (ended.code, ended.out) == (5, "")
    assert "--rows 10" in ended.err or "--width" in ended.err
    # What was scored is kept.
    assert (tmp_path / "run" / "scores.parquet").exists()


def test_part_size_reaches_the_run(run, slates_file, tmp_path):
    words = ("audit", slates_file(), "--scorer", "toy", "--rows", 2, "--part-size")
    assert run(*words, 2, "--out", tmp_path / "run").code == 0
    assert json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))["part_size"] == 2
    assert run(*words, 0).code == 2


def test_report_shows_what_the_audit_showed(run, slates_file, tmp_path):
    words = ("--threshold", 0.4, "--measure", "P@3", "--out", tmp_path / "run")
    shown = run("audit", slates_file(5, 6), "--scorer", "toy:slot_bias=.5", "--rows", 3, *words)
    assert run("report", tmp_path / "run").out == shown.out
    assert "P@3" in shown.out
    other = run("report", tmp_path / "run", "--threshold", 0.3)
    assert "threshold 0.300 (fixed)" in " ".join(other.out.split())


def test_help_lists_rubrics_and_markers(run):
    from evenhand.present.surface import MARKER_SCHEMES
    from evenhand.present.texts import RUBRICS

    told = run("audit", "--help").out
    for name in (*MARKER_SCHEMES, *(name for name in RUBRICS if "/" not in name)):
        assert name in told


def test_a_scorer_that_failed_on_everything_is_6_in_every_study(
    run, slates_file, tmp_path, monkeypatch
):
    def nothing(self, shown):
        return [Scored.failed(len(one.slate), "out of memory") for one in shown]

    monkeypatch.setattr(Toy, "score", nothing)
    given = (slates_file(), "--scorer", "toy")
    kept = tmp_path / "kept"
    ended = [
        run("audit", *given, "--out", kept),
        run("audit", *given, "--channels", "order"),
        run("decompose", *given, "--width", 3),
        run("worst", *given),
        run("report", kept),
        run("advise", kept),
        run("compare", kept, kept),
    ]
    assert [one.code for one in ended] == [6] * 7
    for one in ended:
        assert (one.out, "the first failure: out of memory" in one.err) == ("", True)


@pytest.fixture
def trained(monkeypatch):
    """A function (trained rubric and width) -> the settings of an audit of "hotpotqa_dev500"."""
    from types import SimpleNamespace

    from evenhand.cli.declared import as_declared
    from evenhand.types import Surface

    def settings(form, *, width=None, rubric=None, shown="relevance"):
        scorer = SimpleNamespace(
            name="mine", default_window=20, channels={"rubric"}, surface=Surface(rubric=shown),
            trained=form and SimpleNamespace(surface=Surface(rubric=form[0]), width=form[1]),
        )  # fmt: skip
        behind = SimpleNamespace(**{**vars(scorer), "trained": None}, inner=scorer)
        del behind.trained
        first, second = (as_declared("hotpotqa_dev500", one, width, rubric) for one in (scorer, behind))
        assert first == second
        return first

    return settings


def test_a_declared_collection_brings_its_rubric_and_width(trained, capsys):
    found = trained(None)
    assert (found["surface"].rubric, found["width"]) == ("answer_support", 10)
    assert "surface" not in trained(None, rubric="relevance")
    assert capsys.readouterr().err == ""


def test_a_trained_scorer_keeps_the_rubric_of_its_training_and_this_is_told(trained, capsys):
    found = trained(("relevance", 10))
    assert found == {"width": 10}
    # Once as it is, once behind a remedy.
    said = capsys.readouterr().err.splitlines()
    assert said == 2 * [
        "note: mine was trained on the rubric relevance and is shown it; hotpotqa_dev500 declares "
        "answer_support (--rubric answer_support shows that)"
    ]


def test_what_was_asked_for_or_is_the_same_needs_no_note(trained, capsys):
    assert trained(("relevance", 10), rubric="answer_support", shown="answer_support") == {"width": 10}
    assert trained(("answer_support", 10), shown="answer_support") == {"width": 10}
    assert trained(("answer_support", 4), shown="answer_support", width=3) == {}
    assert capsys.readouterr().err == ""


def test_another_width_than_that_of_the_training_is_told(trained, capsys):
    assert trained(("answer_support", 4), shown="answer_support") == {"width": 10}
    said = capsys.readouterr().err.splitlines()[0]
    assert "was trained at B 4 and is shown B 10, as hotpotqa_dev500 declares (--width 4" in said


def test_the_command_line_tells_of_retries(run, slates_file):
    with Service(lambda asked: Reply({}, status=429)) as service:
        ended = run(
            "audit", slates_file(8, 3), "--scorer", f"rerank:{service.url}/v2/rerank",
            "--set", "retries=1", "--set", "pause=0.01",
        )  # fmt: skip
    assert (ended.code, ended.out) == (6, "")
    assert "evenhand: retrying: 429 (1 request)" in ended.err
    assert "the first 5 requests to" in ended.err


def test_how_ray_works_is_said_with_it(run, slates_file):
    ended = run("audit", slates_file(), "--scorer", "toy", "--ray-workers", 2, "--ray-gpus", 1)
    assert ended.code == 2
    assert "--ray-workers and --ray-gpus say how --ray works; add --ray" in ended.err
    ended = run("audit", slates_file(), "--scorer", "toy", "--ray", "--ray-workers", 0)
    assert ended.code == 2
    assert "workers must be at least 1" in ended.err


def test_ray_is_an_extra(run, slates_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.data", None)
    ended = run("audit", slates_file(), "--scorer", "toy", "--ray")
    assert ended.code == 3
    assert "evenhand[ray]" in ended.err


@pytest.mark.slow
def test_two_workers_on_ray_audit_as_one_process_does(process, slates_file, tmp_path):
    pytest.importorskip("ray.data")
    words = (
        "audit",
        slates_file(5),
        "--scorer",
        "toy:slot_bias=0.3",
        "--remedy",
        "average:2",
        "--json",
    )
    one = process(*words, "--out", tmp_path / "one")
    two = process(*words, "--out", tmp_path / "two", "--ray", "--ray-workers", 2, "--part-size", 4)
    assert two.code == one.code == 0, two.err
    assert "2 workers on Ray" in two.err
    for name in ("scores.parquet", "rows.parquet", "manifest.json", "summary.json"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name


@pytest.mark.slow
def test_channels_are_scored_on_ray_too(process, slates_file, tmp_path):
    pytest.importorskip("ray.data")
    words = ("audit", slates_file(3), "--scorer", "toy:slot_bias=0.3", "--channels", "order,window")
    one = process(*words, "--width", 2)
    two = process(*words, "--width", 2, "--ray", "--ray-workers", 2)
    assert (one.code, one.out) == (two.code, two.out)
