import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import evenhand
from evenhand.decide.pairs import REASONS, PairRule
from evenhand.errors import InputError, NothingMeasuredError, ResumeError, ScorerError, UsageError
from evenhand.study.pairs import WHY, PairForm, find_pairs, require_free, why_dropped, write_pairs
from evenhand.types import Candidate, Slate

BEST_FIRST = {"good": 0.9, "fair": 0.5, "bad": 0.1}


def a_slate(name, texts, query=None):
    candidates = tuple(Candidate(f"{name}-{i}", text) for i, text in enumerate(texts))
    return Slate(name, query or f"query of {name}", candidates)


def by_text(query, texts):
    """Grades known texts; "luck" goes by its slot, "down" has no score, "break" breaks."""
    if "break" in texts:
        raise RuntimeError("the server is down")
    known = {**BEST_FIRST, "down": float("nan")}
    return [slot / len(texts) if text.startswith("luck") else known.get(text, 0.3)
            for slot, text in enumerate(texts)]  # fmt: skip


def a_run(folder, *slates, f=by_text, rows=6):
    scorer = evenhand.scorer(f, revision="1")
    evenhand.audit(scorer, slates, rows=rows, out=folder)
    return folder


@pytest.fixture
def run(tmp_path):
    """A run in which slates fall out for each reason but the gap."""
    return a_run(
        tmp_path / "run",
        a_slate("keeps", ["bad", "good", "fair"]),
        a_slate("luck", ["luck 1", "luck 2", "luck 3", "luck 4"]),
        a_slate("alone", ["good"]),
        a_slate("level", ["x", "y"]),
        a_slate("down", ["down", "down", "good"]),
        a_slate("breaks", ["break", "good"]),
        a_slate("gone", ["", "good"]),
        a_slate("again", ["good", "fair", "bad"], query="query of keeps"),
        a_slate("also", ["fair", "bad"]),
    )


def test_every_slate_is_kept_or_counted(run):
    found = find_pairs([run])
    assert [(pair.slate_id, pair.chosen.text, pair.rejected.text) for _, pair in found.pairs] == [
        ("keeps", "good", "bad"),
        ("also", "fair", "bad"),
    ]
    gone = {reason: count for reason, count in found.dropped.items() if count}
    assert gone == {"single": 1, "missing": 2, "tie": 1, "empty": 1, "flip": 1, "repeated": 1}
    assert found.slates == 9 == len(found.pairs) + sum(found.dropped.values())
    assert list(found.dropped) == list(REASONS) == list(WHY)
    assert (found.flip_kept, found.fewer_rows) == (0.0, 0)
    # A pair was found for keeps, again, also, gone (0 each), level (.5) and luck.
    luck = find_pairs([run], PairRule(max_flip=0.5)).pairs[1][1]
    assert luck.slate_id == "luck"
    assert 0.1 < luck.flip < 0.5
    assert found.flip_all == pytest.approx((0.5 + luck.flip) / 6)
    assert why_dropped(found.dropped)[:2] == ["1 fewer than two candidates", "2 missing scores"]


def test_bounds_move_what_is_kept(run):
    wide = find_pairs([run], PairRule(max_flip=0.5))
    assert [pair.slate_id for _, pair in wide.pairs] == ["keeps", "luck", "also"]
    narrow = find_pairs([run], PairRule(min_gap=0.5))
    assert [pair.slate_id for _, pair in narrow.pairs] == ["keeps"]
    # fair against bad is .4; luck goes by its gap, which is asked before its flip.
    assert (narrow.dropped["gap"], narrow.dropped["flip"]) == (2, 0)


def test_several_runs_and_what_they_contradict(tmp_path):
    slate = a_slate("q", ["good", "bad"])
    one = a_run(tmp_path / "one", slate, a_slate("r", ["good", "fair"]))
    other = a_run(tmp_path / "other", slate, f=lambda query, texts: [-len(text) for text in texts])
    third = a_run(tmp_path / "third", a_slate("s", ["fair", "bad"]), slate)
    found = find_pairs([one, other, third])
    # "bad" is shorter than "good": the second run prefers it, so all three are dropped.
    assert [(run, pair.slate_id) for run, pair in found.pairs] == [(str(one), "r"), (str(third), "s")]
    assert found.dropped["contradicted"] == 3
    agree = find_pairs([one, third])
    assert (agree.dropped["repeated"], len(agree.pairs)) == (1, 3)
    assert agree.runs == (str(one), str(third))


def test_rows_that_lack_a_score_are_told(tmp_path):
    calls = iter(range(100))

    def sometimes(query, texts):
        if next(calls) == 3:
            raise RuntimeError("busy")
        return by_text(query, texts)

    found = find_pairs([a_run(tmp_path / "run", a_slate("q", ["good", "fair", "bad"]), f=sometimes)])
    # Canonical, three random rows of which the third breaks, two... : 6 random rows, one lost.
    assert (found.fewer_rows, found.pairs[0][1].rows) == (1, 5)


def test_what_is_refused(tmp_path, run):
    with pytest.raises(UsageError, match="is named twice"):
        find_pairs([run, run.parent / "." / run.name])
    with pytest.raises(UsageError, match="a list of run folders is needed"):
        find_pairs([])
    with pytest.raises(UsageError, match="a list of run folders is needed"):
        find_pairs(str(run))
    with pytest.raises(ResumeError, match="does not exist"):
        find_pairs([run, tmp_path / "nowhere"])
    short = tmp_path / "short"
    # One row alone measures nothing, and is recorded all the same.
    a_run(short, a_slate("q", ["good", "bad"]), rows=1)
    with pytest.raises(UsageError, match="the run has 1 random row, and whether a pair flips"):
        find_pairs([short])


def test_nothing_left_says_why(tmp_path):
    level = a_run(tmp_path / "level", a_slate("q", ["x", "y"]), a_slate("r", ["good"]))
    with pytest.raises(NothingMeasuredError) as ended:
        find_pairs([level])
    assert str(ended.value) == (
        "no pair is left of 2 slates: 1 fewer than two candidates, 1 best and worst score equal"
    )
    down = a_run(tmp_path / "down", a_slate("q", ["down", "down"]), a_slate("r", ["good"]))
    with pytest.raises(ScorerError, match="no pair is left of 2 slates: .*, 1 missing scores"):
        find_pairs([down])


def test_conversational_lines(run, tmp_path):
    path = write_pairs(find_pairs([run]), tmp_path / "new" / "pairs.jsonl")
    first, second = map(json.loads, path.read_text().splitlines())
    assert first == {
        "prompt": [{"role": "user", "content": "query of keeps"}],
        "chosen": [{"role": "assistant", "content": "good"}],
        "rejected": [{"role": "assistant", "content": "bad"}],
    }
    assert second["prompt"][0]["content"] == "query of also"


def test_standard_lines_weights_and_details(run, tmp_path):
    found = find_pairs([run], PairRule(max_flip=0.5))
    form = PairForm("standard", "Q: {query} {x}\nA: ", weights=True, details=True)
    path = write_pairs(found, tmp_path / "pairs.jsonl", form)
    first, luck, _ = map(json.loads, path.read_text().splitlines())
    assert first == {
        "prompt": "Q: query of keeps {x}\nA: ",
        "chosen": "good",
        "rejected": "bad",
        "weight": 1.0,
        "run": str(run),
        "slate": "keeps",
        "chosen_id": "keeps-1",
        "rejected_id": "keeps-0",
        "gap": 0.8,
        "flip": 0.0,
        "rows": 6,
    }
    assert luck["weight"] == 1 - 2 * luck["flip"]
    plain = write_pairs(found, tmp_path / "plain.jsonl", PairForm("standard"))
    assert json.loads(plain.read_text().splitlines()[0])["prompt"] == "query of keeps\n"


@pytest.mark.parametrize("form", ["conversational", "standard"])
def test_parquet_holds_what_the_lines_hold_and_bytes_repeat(run, tmp_path, form):
    found = find_pairs([run], PairRule(max_flip=0.5))
    shape = PairForm(form, weights=True, details=True)
    lines = write_pairs(found, tmp_path / "a.jsonl", shape).read_text().splitlines()
    table = pq.read_table(write_pairs(found, tmp_path / "a.parquet", shape))
    assert table.to_pylist() == [json.loads(line) for line in lines]
    again = find_pairs([run], PairRule(max_flip=0.5))
    for suffix in ("jsonl", "parquet"):
        write_pairs(again, tmp_path / f"b.{suffix}", shape)
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


@pytest.mark.parametrize(("suffix", "kind"), [("jsonl", "json"), ("parquet", "parquet")])
@pytest.mark.parametrize("form", ["conversational", "standard"])
def test_datasets_reads_what_a_trainer_would(run, tmp_path, suffix, kind, form):
    datasets = pytest.importorskip("datasets")
    path = write_pairs(
        find_pairs([run], PairRule(max_flip=0.5)), tmp_path / f"p.{suffix}", PairForm(form)
    )
    read = datasets.load_dataset(
        kind, data_files=str(path), split="train", cache_dir=str(tmp_path / "c")
    )
    assert read.column_names == ["prompt", "chosen", "rejected"]
    (first, *_) = read
    if form == "conversational":
        assert [turn["role"] for turn in first["prompt"] + first["chosen"] + first["rejected"]] == [
            "user", "assistant", "assistant",
        ]  # fmt: skip
    else:
        assert all(isinstance(first[name], str) and first[name] for name in read.column_names)


def test_a_file_is_not_written_over(run, tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("mine")
    with pytest.raises(InputError, match="is there already, and is not written over"):
        write_pairs(find_pairs([run]), path)
    assert path.read_text() == "mine"
    with pytest.raises(UsageError, match=r"must end in \.jsonl or \.parquet"):
        require_free(tmp_path / "pairs.csv")
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(ResumeError, match="cannot be written"):
        write_pairs(find_pairs([run]), tmp_path / "folder" / "pairs.jsonl")


def test_a_lone_surrogate_is_told(tmp_path):
    run = a_run(tmp_path / "run", a_slate("q", ["good", "bad"], query="odd \ud800"))
    with pytest.raises(InputError, match="slate 'q' holds a lone surrogate"):
        write_pairs(find_pairs([run]), tmp_path / "pairs.jsonl")
    assert not (tmp_path / "pairs.jsonl").exists()


def test_forms_that_are_refused():
    with pytest.raises(UsageError, match=r"unknown form of pairs 'chat'; known are \['conversational'"):
        PairForm("chat")
    with pytest.raises(UsageError, match=r"the template needs \{query\}"):
        PairForm(template="Question: {question}")


def test_pairs_are_those_of_the_best_and_worst_candidate_under_a_steady_scorer(tmp_path):
    # Independent of the code above: a random order-free scorer, and numpy's extremes.
    draw = np.random.default_rng(5)
    slates = [a_slate(f"s{i}", [f"{i} {j} {draw.random():.6f}" for j in range(5)]) for i in range(8)]
    run = a_run(tmp_path / "run", *slates, f=lambda query, texts: [float(t.split()[2]) for t in texts])
    for (_, pair), slate in zip(find_pairs([run]).pairs, slates, strict=True):
        values = [float(one.text.split()[2]) for one in slate.candidates]
        assert slate.ids.index(pair.chosen.id) == int(np.argmax(values))
        assert slate.ids.index(pair.rejected.id) == int(np.argmin(values))
        assert pair.flip == 0
