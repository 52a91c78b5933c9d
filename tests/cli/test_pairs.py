import json

import pyarrow.parquet as pq
import pytest

import evenhand
from evenhand.types import Candidate, Slate


@pytest.fixture
def folder(tmp_path):
    """A function that audits slates of texts by their length; "down" has no score."""

    def make(*slates, name="run"):
        given = [
            Slate(
                f"q{i}", f"query {i}", tuple(Candidate(f"c{j}", text) for j, text in enumerate(texts))
            )
            for i, texts in enumerate(slates)
        ]

        def length(query, texts):
            return [float("nan") if text == "down" else len(text) / 10 for text in texts]

        scorer = evenhand.scorer(length, revision="length")
        evenhand.audit(scorer, given, rows=4, out=tmp_path / name)
        return tmp_path / name

    return make


def test_pairs_counts_and_file(run, folder, tmp_path):
    out = tmp_path / "pairs.jsonl"
    ended = run("pairs", folder(["a", "abc", "ab"], ["x", "y"], ["one"]), "--out", out)
    assert (ended.code, ended.err) == (0, f"pairs: {out}\n")
    assert ended.out.splitlines() == [
        "1 pair of 3 slates in 1 run: best and worst of the mean over random rows",
        # The tie reverses in half of the rows: (0 + .5) / 2.
        "flip probability  0.000 on average, 0.250 before any pair was dropped; at most 0.1 is kept",
        "dropped           1 fewer than two candidates",
        "                  1 best and worst score equal",
    ]
    (line,) = out.read_text().splitlines()
    assert json.loads(line)["chosen"] == [{"role": "assistant", "content": "abc"}]


def test_options_and_json(run, folder, tmp_path):
    out = tmp_path / "pairs.parquet"
    words = ("pairs", folder(["a", "abc"], ["ab", "a"]), "--out", out, "--json", "--by", "canonical")
    ended = run(*words, "--form", "standard", "--template", r"Q: {query}\nA:\t", "--weights",
                "--details", "--min-gap", 0.15, "--max-flip", 0)  # fmt: skip
    assert ended.code == 0
    found = json.loads(ended.out)["pairs"]
    assert found["form"] == {
        "form": "standard", "template": "Q: {query}\nA:\t", "weights": True, "details": True
    }  # fmt: skip
    assert (found["kept"], found["slates"], found["dropped"]["gap"]) == (1, 2, 1)
    assert found["rule"] == {"by": "canonical", "max_flip": 0.0, "min_gap": 0.15}
    assert (found["out"], found["flip_kept"]) == (str(out), 0.0)
    (line,) = pq.read_table(out).to_pylist()
    assert (line["prompt"], line["chosen"], line["rejected"]) == ("Q: query 0\nA:\t", "abc", "a")
    assert (line["weight"], line["slate"], line["rows"]) == (1.0, "q0", 2)


def test_several_runs(run, folder, tmp_path):
    out = tmp_path / "pairs.jsonl"
    runs = folder(["a", "abc"], name="one"), folder(["a", "abc"], ["x", "xy"], name="two")
    ended = run("pairs", *runs, "--out", out)
    assert ended.out.splitlines()[0].startswith("2 pairs of 3 slates in 2 runs")
    assert "1 the same pair was there already" in ended.out
    assert len(out.read_text().splitlines()) == 2


def test_missing_scores_end_with_7_and_keep_the_others(run, folder, tmp_path):
    out = tmp_path / "pairs.jsonl"
    ended = run("pairs", folder(["a", "abc"], ["down", "ab"]), "--out", out)
    assert ended.code == 7
    assert ended.err.endswith("evenhand: 1 slate with missing scores left out (exit 7)\n")
    assert len(out.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("slates", "code", "message"),
    [
        ([["x", "y"]], 5, "no pair is left of 1 slate: 1 best and worst score equal"),
        ([["down", "down", "x"]], 6, "no pair is left of 1 slate: 1 missing scores"),
    ],
)
def test_nothing_left_writes_no_file(run, folder, tmp_path, slates, code, message):
    out = tmp_path / "pairs.jsonl"
    # A slate beside it that has a score lets the audit itself end well.
    ended = run("pairs", folder(*slates), "--out", out)
    assert ended.code == code
    assert message in ended.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--out", "pairs.txt"), 2, "must end in .jsonl or .parquet"),
        (("--out", "there.jsonl"), 4, "is there already"),
        (("--out", "there.jsonl/pairs.jsonl"), 2, "no file can be made there"),
        (("--max-flip", 0.7), 2, "max_flip must lie between 0 and 0.5"),
        (("--min-gap", -1), 2, "min_gap must be at least 0"),
        (("--by", "median"), 2, "known are ['canonical', 'mean']"),
        (("--form", "chat"), 2, "known are ['conversational', 'standard']"),
        (("--template", "no place"), 2, "the template needs {query}"),
        (("nowhere",), 4, "nowhere: does not exist"),
    ],
)
def test_wrong_use_is_refused_before_a_run_is_read(run, tmp_path, monkeypatch, words, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.jsonl").write_text("mine")
    runs = () if words == ("nowhere",) else ("absent",)
    ended = run("pairs", *runs, "--out", "pairs.jsonl", *words)
    assert ended.code == code, ended.err
    assert message in ended.err
    assert not (tmp_path / "pairs.jsonl").exists()


def test_no_run_is_wrong_use(run, tmp_path):
    assert run("pairs", "--out", tmp_path / "pairs.jsonl").code == 2
