import numpy as np
import pyarrow.parquet as pq

from evenhand.seeds import tie_ranks
from evenhand.study.found.decisions import decision_lines, decision_writer


def test_each_row_gets_both_decisions(kit):
    slate, plan = kit.slate(), kit.plan([(3, 2, 1, 0)], repeat=False)
    lines = decision_lines(
        kit.record(slate, plan, [[0.9, 0.5, 0.1, 0.4], [0.2, np.nan, 0.6, 0.3]]), 0.5
    )
    assert [(one["row"], one["kind"], one["consumer"]) for one in lines] == [
        (0, "canonical", "threshold"),
        (0, "canonical", "preference"),
        (1, "random", "threshold"),
        (1, "random", "preference"),
    ]
    assert [one["retained"] for one in lines[::2]] == [["a", "b"], ["c"]]
    assert [(one["chosen"], one["rejected"]) for one in lines[1::2]] == [("a", "c"), ("c", "a")]


def test_no_scores_no_decision(kit):
    slate, plan = kit.slate(), kit.plan([(3, 2, 1, 0)], repeat=False)
    lines = decision_lines(kit.record(slate, plan, [[np.nan] * 4, [0.2, np.nan, np.nan, np.nan]]), 0.5)
    assert lines[0]["retained"] is None
    assert lines[2]["retained"] == []
    assert "chosen" not in lines[1]
    assert "chosen" not in lines[3]
    empty = decision_lines(kit.record(kit.slate("e", ""), kit.plan([()]), np.empty((3, 0))), 0.5)
    assert empty[0]["retained"] == []


def test_ties_are_broken_by_hash(kit):
    slate, plan = kit.slate(), kit.plan([(3, 2, 1, 0)], repeat=False)
    ranks = dict(zip(slate.ids, tie_ranks(slate.id, slate.ids), strict=True))
    line = decision_lines(kit.record(slate, plan, np.full((2, 4), 0.5)), 0.5)[1]
    assert line["chosen"] == min(ranks, key=ranks.get)
    assert line["rejected"] == max(ranks, key=ranks.get)


def test_the_file_holds_the_lines_of_all_slates(kit, tmp_path):
    plan = kit.plan([(3, 2, 1, 0)], repeat=False)
    records = [kit.record(kit.slate(key), plan, [[0.9, 0.5, 0.1, 0.4]] * 2) for key in "st"]
    with decision_writer(tmp_path) as writer:
        writer.add(records[:1], np.array([0.5]))
        writer.add(records[1:], np.array([0.1]))
    table = pq.read_table(tmp_path / "decisions.parquet").to_pylist()
    assert [one["slate"] for one in table] == ["s"] * 4 + ["t"] * 4
    assert table[4]["retained"] == ["a", "b", "c", "d"]
    assert table[4]["threshold"] == 0.1
    with decision_writer(None) as writer:
        writer.add(records, np.array([0.5, 0.5]))
    assert len(list(tmp_path.iterdir())) == 1
