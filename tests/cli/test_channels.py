import json

import pytest

WORDS = ("--scorer", "toy:slot_bias=.5", "--rows", 3, "--width", 2)


def test_one_table_with_a_row_a_channel(run, slates_file, tmp_path):
    out, markdown = tmp_path / "runs", tmp_path / "r.md"
    ended = run(
        "audit", slates_file(size=5), *WORDS, "--channels", "order,companions,window,membership",
        "--out", out, "--markdown", markdown,
    )  # fmt: skip
    assert ended.code == 0
    rows = [line.split("│")[1].strip() for line in ended.out.splitlines() if line.startswith("│")]
    assert rows == ["order", "companions", "window", "membership"]
    assert "(first_slot)" in ended.out
    assert sorted(path.name for path in out.iterdir()) == sorted(rows)
    assert markdown.read_text("utf-8").startswith("# Channel audit")
    # Each is a run like any other.
    assert run("report", out / "order").code == 0


def test_json_holds_every_channel(run, slates_file):
    ended = run("audit", slates_file(size=5), *WORDS, "--channels", "order,membership", "--json")
    document = json.loads(ended.out)
    assert list(document["channels"]) == ["order", "membership"]
    assert document["channels"]["order"]["values"]["tauPSI"]["mean"] > 0


def test_a_page_of_all_channels(run, slates_file, tmp_path):
    pytest.importorskip("plotly")
    html = tmp_path / "r.html"
    ended = run("audit", slates_file(size=5), *WORDS, "--channels", "order,window", "--html", html)
    assert ended.code == 0
    page = html.read_text("utf-8")
    assert "Which kind of scorer this is" in page
    assert 'id="plot-channels-tau"' in page
    assert "<h2><bdi>window</bdi></h2>" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--channels", "order,rubric"), "toy:slot_bias=0.5 does not honour the channel rubric"),
        (("--channels", "ordr"), "unknown channels: 'ordr'; known are order"),
        (("--channels", "order", "--design", "order"), "exclude each other"),
    ],
)
def test_wrong_channels_are_2_before_scoring(run, slates_file, words, said):
    ended = run("audit", slates_file(size=5), *WORDS, *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "scoring" not in ended.err


def test_what_can_only_fail_later_is_refused_before_scoring(run, slates_file, tmp_path):
    for words in (("--measure", "nope"), ("--threshold", "nan")):
        out = tmp_path / words[1]
        ended = run(
            "audit", slates_file(2, 4), "--scorer", "toy", "--channels", "order", "--out", out, *words
        )
        assert ended.code == 2
        assert not out.exists()
