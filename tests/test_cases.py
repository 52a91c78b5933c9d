"""Cases of the case list that only show when a whole audit is run; each test names its case."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import evenhand
from evenhand.measure.decision import overlap
from evenhand.types import Candidate, Slate


def slate(name, scores, grades=None):
    """A slate whose texts are the raw scores of its candidates."""
    candidates = tuple(Candidate(f"c{i}", str(score)) for i, score in enumerate(scores))
    return Slate(name, "query", candidates, grades)


def softmax(query, texts):
    raw = np.exp([float(text) for text in texts])
    return raw / raw.sum()


def min_max(query, texts):
    raw = np.array([float(text) for text in texts])
    spread = np.ptp(raw)
    return (raw - raw.min()) / spread if spread else np.zeros(len(raw))


def random_rows(result):
    """The (M, n) scores of the random rows of the first slate."""
    return next(iter(result.folder.recorded())).matrix.random


@pytest.mark.parametrize(("name", "moves"), [("order", False), ("companions", True)])
def test_c2_normalising_over_the_window_is_told_by_the_companions_channel(name, moves):
    # Windows {0, 1} and {2, 4}. Order keeps them, so 1 always has e / (1 + e) = .731; among other
    # companions it has e / (e + e^2) = .269 or e / (e + e^4) = .047.
    result = evenhand.audit(
        evenhand.scorer(softmax), [slate("q", [0, 1, 2, 4])], design=name, width=2, rows=9
    )
    seen = set(np.round(random_rows(result)[:, 1], 3).tolist())
    assert seen <= ({0.731, 0.269, 0.047} if moves else {0.731})
    assert (len(seen) > 1) == moves


def test_c3_min_max_is_blind_to_order_and_moves_with_one_replacement():
    before, after = slate("q", [5, 4, 1]), slate("q", [5, 4, 4.5])
    result = evenhand.audit(evenhand.scorer(min_max), [before], rows=6)
    assert result.analysis.stability["tauPSI"].mean == 0
    # 5, 4, 1 -> 1, .75, 0; with 4.5 for 1 -> 1, 0, .5. Kept at .7: both, then the first alone: 1/2.
    other = evenhand.audit(evenhand.scorer(min_max), [after], rows=6)
    shared = np.stack([random_rows(one)[0, :2] for one in (result, other)])
    assert shared.tolist() == [[1, 0.75], [1, 0]]
    assert overlap(shared >= 0.7) == 0.5


@pytest.mark.parametrize(
    ("width", "rule", "sizes"),
    [
        (3, "contiguous", [3, 3, 1]),
        (4, "contiguous", [4, 3]),
        (3, "interleaved", [3, 2, 2]),
        (4, "interleaved", [4, 3]),
    ],
)
def test_c4_width_and_rule_are_recorded_and_the_tail_follows_the_rule(width, rule, sizes):
    result = evenhand.audit(
        evenhand.open_scorer("toy:slot_bias=.3"),
        [slate("q", range(7))],
        rows=3,
        width=width,
        rule=rule,
    )
    settings = result.analysis.settings
    assert (settings["width"], settings["rule"]) == (width, rule)
    for line in range(5):
        rows = result.frame().to_pylist()
        windows = [row["window"] for row in rows if row["row"] == line]
        assert [windows.count(window) for window in range(len(sizes))] == sizes
    assert str(width) in result.table()


def test_c6_the_hash_seed_of_the_process_changes_no_byte(tmp_path):
    code = (
        "import sys, evenhand; from evenhand.types import Candidate, Slate\n"
        "some = tuple(Candidate(f'c{i}', 't') for i in range(6))\n"
        "made = [Slate(f'q{q}', 'x', some) for q in (1, 2)]\n"
        "evenhand.audit(evenhand.open_scorer('toy:noise=.2'), made, rows=4, out=sys.argv[1])"
    )
    found = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, str(out)], env=environment, check=True, timeout=120)
        found.append((out / "scores.parquet").read_bytes())
    assert found[0] == found[1]


def test_c7_a_slate_keeps_its_rows_when_another_is_dropped():
    q1, q2, q3 = (slate(name, range(8)) for name in ("q1", "q2", "q3"))
    toy = evenhand.open_scorer("toy:slot_bias=.3")

    def orders(slates):
        result = evenhand.audit(toy, slates, rows=4)
        return {
            record.slate.id: [shown.order for shown in record.matrix.plan.presentations]
            for record in result.folder.recorded()
        }

    whole, without = orders([q1, q2, q3]), orders([q1, q3])
    assert whole["q3"] == without["q3"]
    assert whole["q1"][1:] != whole["q3"][1:]
    assert whole["q1"][0] == tuple(range(8))


def test_c9_identical_texts_make_no_flips():
    # Both x score 2 and y 1: whichever x stands first, the pair is tied in every row.
    twins = Slate(
        "q", "query", tuple(Candidate(key, text) for key, text in zip("abc", "xxy", strict=True))
    )
    honest = evenhand.scorer(lambda query, texts: [float(text == "x") + 1 for text in texts])
    result = evenhand.audit(honest, [twins], rows=6)
    decisions = result.analysis.decisions
    assert decisions["Top1Flip"].mean == decisions["PairFlip"].mean == 0
    assert result.analysis.counts["equal_texts"] == 1
    assert "equal_texts" in {finding.code for finding in result.findings}


def test_c18_an_unknown_option_is_refused_by_name_everywhere():
    from evenhand.errors import UsageError

    some = [slate("q", range(3))]
    with pytest.raises(UsageError, match="loudness"):
        evenhand.open_scorer("toy", loudness=3)
    with pytest.raises(UsageError, match=r"Vibes.*tauPSI"):
        evenhand.audit(evenhand.open_scorer("toy"), some, measures=["Vibes"])
    with pytest.raises(TypeError, match="loudness"):
        evenhand.audit(evenhand.open_scorer("toy"), some, loudness=3)
    with pytest.raises(UsageError, match="loudness"):
        evenhand.load_slates(".", loudness=3)


def test_c25_a_judged_query_without_candidates_counts_zero():
    # q1 ranks its one relevant candidate first: nDCG 1. q2 was not retrieved: 0. The mean is .5.
    slates = [slate("q1", [3, 1, 2], {"c0": 1}), Slate("q2", "query", (), {"z": 1})]
    best = evenhand.scorer(lambda query, texts: [float(text) for text in texts])
    analysis = evenhand.audit(best, slates, rows=3).analysis
    assert analysis.served["nDCG@10"].mean == 0.5
    assert analysis.counts["empty_slates"] == 1


def test_c27_empty_texts_are_counted_and_leave_the_others_alone():
    texts = ("root A", "", "   ", "root D")
    blank = Slate("q", "query", tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts)))
    lengths = evenhand.scorer(lambda query, given: [float(len(text)) for text in given])
    result = evenhand.audit(lengths, [blank, Slate("none", "query", ())], rows=3)
    assert (random_rows(result) == [6, 0, 3, 6]).all()
    assert result.analysis.counts["empty_texts"] == 2
    assert result.analysis.counts["empty_slates"] == 1


def test_c29_a_run_is_told_from_another_and_a_finished_one_is_left_alone(tmp_path):
    from evenhand.errors import ResumeError

    toy, some = evenhand.open_scorer("toy:slot_bias=.3"), [slate("q", range(5))]
    evenhand.audit(toy, some, rows=3, out=tmp_path / "run")
    before = (tmp_path / "run" / "scores.parquet").read_bytes()

    class Never:
        def __getattr__(self, name):
            return getattr(toy, name)

        def score(self, shown):
            raise AssertionError("a finished run is scored again")

    evenhand.audit(Never(), some, rows=3, out=tmp_path / "run")
    assert (tmp_path / "run" / "scores.parquet").read_bytes() == before
    with pytest.raises(ResumeError, match=r"rows: 3 in the folder, 4 now"):
        evenhand.audit(toy, some, rows=4, out=tmp_path / "run")


def test_sizes_of_every_kind_stand_in_one_run():
    sizes = (0, 1, 2, 3, 12)
    slates = [slate(f"q{n}", range(n)) for n in sizes]
    result = evenhand.audit(evenhand.open_scorer("toy:slot_bias=.5"), slates, rows=3, width=5)
    tau = result.analysis.stability["tauPSI"]
    assert (tau.n, tau.undefined) == (3, 2)
    # rows: all n! + canonical + repeat for n <= 2 (1, 1, 2 of them), else 3 + 2
    assert result.analysis.counts["rows"] == 3 + 3 + 4 + 5 + 5
    assert result.frame().num_rows == 0 * 3 + 1 * 3 + 2 * 4 + 3 * 5 + 12 * 5
