import json

import pytest

from evenhand.cli.demo import MODELS, TOYS
from evenhand.score import open_scorer


def test_the_demo_without_a_model_prints_a_table_and_writes_the_page(run, tmp_path):
    pytest.importorskip("plotly")
    ended = run("demo", "--no-model", "--slates", 2, "--rows", 3, "--out", tmp_path)
    assert ended.code == 0
    assert "2 bundled slates, canonical order + M = 3 random presentations" in ended.out
    assert (tmp_path / "report.html").stat().st_size > 1_000_000


def test_the_demo_audits_one_model_three_ways_and_a_toy(run, tmp_path, monkeypatch):
    pytest.importorskip("plotly")
    asked = []

    def stand_in(spec, **options):
        asked.append((spec, options))
        return open_scorer("toy")

    monkeypatch.setattr("evenhand.score.open_scorer", stand_in)
    ended = run("demo", "--slates", 1, "--rows", 2, "--out", tmp_path, "--json")
    assert ended.code == 0
    assert asked == [*MODELS.values(), *TOYS.values()]
    assert len(json.loads(ended.out)["results"]) == 4


def test_more_slates_than_are_bundled_is_wrong_use(run, tmp_path):
    ended = run("demo", "--no-model", "--slates", 10_000, "--out", tmp_path)
    assert (ended.code, ended.out) == (2, "")


def test_a_second_demo_with_other_settings_does_not_meet_the_first(run, tmp_path):
    pytest.importorskip("plotly")
    for rows in (2, 3, 2):
        assert run("demo", "--no-model", "--slates", 1, "--rows", rows, "--out", tmp_path).code == 0
