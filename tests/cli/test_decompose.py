import json

import pytest

TOY = "toy:relevance=hash,slot_bias=.3,coupling=.5,noise=.05"


def test_the_table_tells_the_channels_apart(run, slates_file):
    ended = run("decompose", slates_file(4, 6), "--scorer", TOY, "--width", 3)
    assert ended.code == 0
    for words in (
        "C 5, R 3, 2 repeats, B 3",
        "companions",
        "order in window",
        "noise",
        "nested estimate",
    ):
        assert words in ended.out
    assert "alone and beside others" not in ended.out


def test_alone_adds_the_width_table(run, slates_file):
    ended = run("decompose", slates_file(4, 6), "--scorer", TOY, "--width", 3, "--limit", 3, "--alone")
    # The slates of the file hold the same texts, so nobody can lend to another.
    assert ended.code == 2
    assert "need more slates" in ended.err
    ended = run("decompose", "demo", "--scorer", TOY, "--width", 3, "--limit", 3, "--alone")
    assert ended.code == 0
    for words in ("place in the form", "length of the prompt", "what companions say", "stand-ins are"):
        assert words in ended.out


def test_json_is_strict_and_complete(run, slates_file):
    words = ("--partitions", 3, "--orders", 2, "--seed", 4, "--json")
    ended = run("decompose", slates_file(2, 4), "--scorer", "toy", "--set", "slot_bias=.5", *words)

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    record = json.loads(ended.out, parse_constant=refuse)
    assert record["width"] is None
    found = record["decomposition"]
    assert found["settings"]["partitions"] == 3
    assert found["settings"]["seed"] == 4
    # One window, no noise: the order inside it is all there is.
    assert found["crossed"]["order_share"]["mean"] == pytest.approx(1, abs=0.25)
    assert found["crossed"]["noise"]["mean"] == 0
    assert found["one_window"] == 2


def test_nothing_that_moves_shows_as_no_share(run, slates_file):
    ended = run("decompose", slates_file(2, 4), "--scorer", "toy", "--width", 2)
    assert ended.code == 0
    assert "nan" not in ended.out
    assert "–" in ended.out


def test_wrong_use_is_2(run, slates_file):
    assert run("decompose", slates_file(), "--scorer", TOY, "--partitions", 1).code == 2
    assert run("decompose", slates_file(), "--scorer", TOY, "--depth", 3).code == 2


def test_alone_with_too_few_slates_is_told_before_anything_is_scored(run, slates_file):
    ended = run("decompose", slates_file(1, 4), "--scorer", TOY, "--alone")
    assert (ended.code, ended.out) == (2, "")
    assert "need more slates" in " ".join(ended.err.split())
    assert "scoring" not in ended.err


def test_a_folder_keeps_the_answers_also_for_what_is_added_later(run, tmp_path):
    out = tmp_path / "d"
    words = ("decompose", "demo", "--scorer", TOY, "--width", 3, "--limit", 3, "--out", out)
    assert run(*words).code == 0
    lines = (out / "answers.jsonl").read_bytes()
    assert json.loads((out / "result.json").read_text("ascii"))["width"] is None
    assert run(*words).code == 0
    assert (out / "answers.jsonl").read_bytes() == lines
    assert run(*words, "--alone").code == 0
    # What had been answered stands as it was; only the reading alone is new.
    assert (out / "answers.jsonl").read_bytes().startswith(lines)
    found = json.loads((out / "result.json").read_text("ascii"))
    assert found["width"]["settings"]["surface_texts"]
    assert found["decomposition"]["settings"]["surface_texts"]
    assert run(*words, "--orders", 2).code == 4


def test_the_residual_left_of_a_reference_is_told(run, slates_file, tmp_path):
    given = (slates_file(), "--width", 3, "--scorer")
    assert run("decompose", *given, "toy:noise=0.2", "--out", tmp_path / "base").code == 0
    against = ("--reference", tmp_path / "base")
    ended = run("decompose", *given, "toy:noise=0.1", *against)
    assert ended.code == 0
    # Half the noise: a quarter of the variance.
    assert "residual variance over that of toy:noise=0.2: 0.250 (nested" in ended.out
    found = json.loads(run("decompose", *given, "toy:noise=0.1", *against, "--json").out)["reference"]
    assert found["residual_share"] == pytest.approx(0.25)
    refused = run("decompose", *given, "toy:noise=0.1", *against, "--seed", 1)
    assert (refused.code, "seed: 0 there, 1 here" in refused.err) == (2, True)


def test_companions_that_cannot_vary_have_no_share(run, slates_file):
    words = ("decompose", slates_file(4, 6), "--scorer", TOY)
    [row] = [line for line in run(*words).out.splitlines() if line.startswith("companions")]
    assert row.split(maxsplit=3) == ["companions", "–", "–", "(no companions vary; use --width)"]
    assert "no companions vary" not in run(*words, "--width", 3).out


def test_a_share_estimated_below_0_is_printed_as_it_is(run, slates_file):
    # Nothing but noise: companions and order are 0, and estimated below it as often as above.
    words = ("decompose", slates_file(4, 6), "--scorer", "toy:noise=0.5", "--width", 3)
    crossed = json.loads(run(*words, "--json").out)["decomposition"]["crossed"]
    shown = run(*words).out
    for name, label in (("companions", "companions"), ("order", "order in window")):
        share = crossed[f"{name}_share"]
        [row] = [line for line in shown.splitlines() if line.startswith(label)]
        assert row[22:].startswith(f"{share['mean']:.3f} [{share['low']:.3f}, {share['high']:.3f}]")
    assert min(crossed["companions_share"]["low"], crossed["order_share"]["low"]) < 0
    assert "may leave [0, 1]" in shown
