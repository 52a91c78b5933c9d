import json

import pytest


def test_the_table_shows_the_worst_beside_the_usual(run, slates_file):
    ended = run(
        "worst", slates_file(12, 4), "--scorer", "toy:relevance=position", "--objective", "kendall"
    )
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert "worst order found" in lines[1]
    # Reversed, in all slates alike; over all orders the mean is .5.
    assert lines[1].endswith("1.000 [1.000, 1.000]")
    assert lines[3].endswith("0.500 [0.500, 0.500]")
    assert "worst order certain in 12 of 12 slates" in ended.out
    assert "the 10 slates with the worst orders" in ended.out
    assert "by 3 2 1 0" in ended.out


def test_json_and_settings(run, slates_file):
    ended = run(
        "worst", slates_file(3, 8), "--scorer", "toy", "--set", "slot_bias=1.0", "--budget", 60,
        "--width", 4, "--threshold", 0.0, "--seed", 3, "--limit", 2, "--json",
    )  # fmt: skip
    assert ended.code == 0
    record = json.loads(ended.out)
    assert record["settings"]["objective"] == "overlap"
    assert record["settings"]["seed"] == 3
    assert [one["threshold"] for one in record["slates"]] == [0.0, 0.0]
    assert all(one["prompts"] <= 60 for one in record["slates"])
    assert record["value"]["mean"] >= record["random_mean"]["mean"]


@pytest.mark.parametrize(
    "words", [("--objective", "tau"), ("--budget", 3), ("--threshold", "high"), ("--rule", "odd")]
)
def test_wrong_use_is_2(run, slates_file, words):
    assert run("worst", slates_file(), "--scorer", "toy:slot_bias=.2", *words).code == 2


def test_slates_that_cannot_be_searched_are_7_or_5(run, slates_file, tmp_path):
    both = tmp_path / "both.jsonl"
    one = slates_file(1, 1, name="one.jsonl").read_text("utf-8").replace('"q0"', '"single"')
    both.write_text(slates_file(1, 3, name="three.jsonl").read_text("utf-8") + one, encoding="utf-8")
    ended = run("worst", both, "--scorer", "toy:slot_bias=.2", "--objective", "kendall")
    assert ended.code == 7
    assert "1 slate could not be searched" in ended.err
    assert run("worst", tmp_path / "one.jsonl", "--scorer", "toy", "--objective", "kendall").code == 5


def test_a_threshold_that_tells_nothing_apart_is_refused_before_the_search(run, slates_file):
    for threshold, said in (("nan", "must be a finite number"), ("99", "outside the observed scores")):
        ended = run("worst", slates_file(2, 4), "--scorer", "toy", "--threshold", threshold)
        assert ended.code == 2
        assert said in ended.err


def test_a_folder_keeps_the_answers_and_refuses_another_study(run, slates_file, tmp_path):
    words = ("worst", slates_file(2, 4), "--scorer", "toy:slot_bias=1.0", "--out", tmp_path / "w")
    first = run(*words, "--json")
    assert first.code == 0
    assert "records:" in first.err
    kept = json.loads((tmp_path / "w" / "result.json").read_text("ascii"))
    assert kept["settings"]["surface_texts"]
    again = run(*words, "--json")
    assert (again.code, again.out) == (0, first.out)
    other = run(*words, "--seed", 1)
    assert other.code == 4
    assert "settings.seed: 0 in the folder, 1 now" in other.err
