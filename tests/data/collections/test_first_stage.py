"""The first stage that is made while fetching."""

from __future__ import annotations

from evenhand.data import read_run
from evenhand.data.collections.first_stage import write_run
from evenhand.data.collections.making import Making
from evenhand.data.collections.registry import collection


def test_a_run_is_read_back_with_ids_that_hold_spaces(tmp_path):
    made = Making("cran", collection("cran"), tmp_path, tmp_path, None, print)
    run = {"q 1": [("a b", 2.5), ("c|#_d", 0.1 + 0.2)]}
    write_run(made, run)
    assert dict(read_run(tmp_path / "runs" / "BM25.trec")) == run
