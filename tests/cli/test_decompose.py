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
