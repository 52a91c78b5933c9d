import json

import pytest

from evenhand.cli.demo import TOYS, models
from evenhand.score import open_scorer


def test_the_demo_without_a_model_prints_a_table_and_writes_the_page(run, tmp_path):
    pytest.importorskip("plotly")
    ended = run("demo", "--no-model", "--slates", 2, "--rows", 3, "--out", tmp_path)
    assert ended.code == 0
    assert "2 bundled slates, canonical order + M = 3 random presentations" in ended.out
    assert (tmp_path / "report.html").stat().st_size > 1_000_000
    assert len(list(tmp_path.glob("*-2x3"))) == len(TOYS)


def test_the_demo_audits_the_base_and_what_training_makes_of_it(run, tmp_path, monkeypatch):
    pytest.importorskip("plotly")
    asked = []

    def stand_in(spec, **options):
        asked.append((spec, options))
        return open_scorer("toy")

    monkeypatch.setattr("evenhand.score.open_scorer", stand_in)
    ended = run("demo", "--slates", 1, "--rows", 2, "--out", tmp_path, "--json")
    assert ended.code == 0
    assert asked == list(models().values())
    assert len(json.loads(ended.out)["results"]) == 5


def test_every_grader_of_the_demo_is_shown_the_form_of_the_training():
    columns = models()
    assert [spec for spec, _ in columns.values()] == [
        "smollm2-135m", "evenhand-smol-single", "evenhand-smol", "evenhand-smol", "ql:smollm2-135m",
    ]  # fmt: skip
    shown = {"width": 10, "max_candidate_tokens": 64, "markers": "single", "enclose": True,
             "query": "around", "visibility": "sequential"}  # fmt: skip
    assert columns["base"][1].items() >= shown.items()
    assert columns["isolated"][1] == {"visibility": "isolated"}


def test_more_slates_than_are_bundled_is_wrong_use(run, tmp_path):
    ended = run("demo", "--no-model", "--slates", 10_000, "--out", tmp_path)
    assert (ended.code, ended.out) == (2, "")


def test_a_second_demo_with_other_settings_does_not_meet_the_first(run, tmp_path):
    pytest.importorskip("plotly")
    for rows in (2, 3, 2):
        assert run("demo", "--no-model", "--slates", 1, "--rows", rows, "--out", tmp_path).code == 0
