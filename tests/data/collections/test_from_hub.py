"""Fetching from hub repositories, through `datasets` on files as upstream writes them."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenhand.data.collections import fetch, open_collection, verify
from evenhand.data.collections.from_hub import seeded
from evenhand.errors import InputError

pytest.importorskip("datasets", reason="the extra data is not installed")


def manifest(folder):
    return json.loads((folder / "fetched.json").read_text("utf-8"))


def test_hotpotqa(tmp_path, mirror):
    folder = fetch("hotpotqa", tmp_path, mirror=mirror)
    slates = list(open_collection("hotpotqa", tmp_path))
    # Five rows; one has eight paragraphs, one three supporting ones.
    assert [slate.id for slate in slates] == ["q0", "q1", "q2"]
    assert [len(slate) for slate in slates] == [10, 10, 10]
    assert slates[0].answers == ("the q0",)
    assert slates[0].ids == tuple(f"q0-{i}" for i in range(10))
    assert slates[0].candidates[0].text == "First of q0 title 0. Second."
    assert {key for key, grade in slates[0].grades.items() if grade} == {"q0-0", "q0-1"}
    assert manifest(folder)["left_out"] == {"no ten paragraphs of which two support": 2}


def test_2wiki_has_nested_lists_as_text_and_seeded_slots(tmp_path, mirror):
    fetch("2wiki", tmp_path, mirror=mirror)
    slates = list(open_collection("2wiki", tmp_path))
    assert [slate.id for slate in slates] == ["q0", "q1", "q2"]
    in_order = tuple(f"q0-{i}" for i in range(10))
    assert slates[0].ids != in_order
    assert sorted(slates[0].ids) == sorted(in_order)
    # The paragraphs stand in other slots in other slates.
    assert len({tuple(key.rpartition("-")[2] for key in slate.ids) for slate in slates}) == 3


def test_musique_has_ten_paragraphs_and_aliases(tmp_path, mirror):
    fetch("musique", tmp_path, mirror=mirror)
    (slate,) = open_collection("musique", tmp_path)
    assert slate.id == "2hop__1_2"
    assert len(slate) == 10
    assert sum(slate.grades.values()) == 2
    assert slate.answers == ("Ann", "Anne")


def test_a_training_part_goes_over_its_files(tmp_path, mirror):
    folder = fetch("hotpotqa_train", tmp_path, mirror=mirror)
    ids = [slate.id for slate in open_collection("hotpotqa_train", tmp_path)]
    assert ids == ["t00", "t01", "t02", "t10", "t11", "t12"]
    assert len(manifest(folder)["source"]["files"]) == 2


def test_rewardbench2_puts_the_right_one_in_seeded_slots(tmp_path, mirror):
    fetch("rewardbench2", tmp_path, mirror=mirror)
    (slate,) = open_collection("rewardbench2", tmp_path)
    assert slate.id == "rb2-7"
    assert {one.text: slate.grades[one.id] for one in slate.candidates} == {
        "good": 1, "b": 0, "c": 0, "d": 0,
    }  # fmt: skip


def test_gold_that_comes_first_upstream_is_in_every_slot(tmp_path):
    path = tmp_path / "mirror/allenai/reward-bench-2/data/test-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    rows = [
        {"id": str(i), "prompt": "p", "chosen": ["good"], "rejected": ["b", "c", "d"], "subset": "Math"}
        for i in range(400)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    fetch("rewardbench2", tmp_path, mirror=tmp_path / "mirror")
    slots = Counter(
        [one.text for one in slate.candidates].index("good")
        for slate in open_collection("rewardbench2", tmp_path)
    )
    # 100 a slot, sd sqrt(400 x 1/4 x 3/4) = 8.7; five sd = 43.
    assert sum(slots.values()) == 400
    assert all(abs(slots[slot] - 100) < 43 for slot in range(4))


def test_rm_bench_is_an_array_of_objects(tmp_path, mirror):
    fetch("rm_bench_full", tmp_path, mirror=mirror)
    (slate,) = open_collection("rm_bench_full", tmp_path)
    right = {one.text for one in slate.candidates if slate.grades[one.id]}
    assert right == {"2", "It is 2.", "# 2"}


@pytest.mark.parametrize("name", ["ppe_math", "ppe_mmlu_pro"])
def test_ppe(tmp_path, mirror, name):
    folder = fetch(name, tmp_path, mirror=mirror)
    (slate,) = open_collection(name, tmp_path)
    assert slate.id == "ppe-m/1"
    assert Counter(slate.grades.values()) == {1: 4, 0: 4}
    assert manifest(folder)["left_out"] == {"no right or no wrong response": 1}


def test_ultrafeedback_cuts_scores_and_leaves_out_what_has_none(tmp_path, mirror):
    folder = fetch("ultrafeedback", tmp_path, mirror=mirror)
    slates = {slate.id: slate for slate in open_collection("ultrafeedback", tmp_path)}
    assert set(slates) == {"uf-evol_instruct-0", "uf-sharegpt-1"}
    first = slates["uf-evol_instruct-0"]
    # 3.9 4.0 7.99 8.0 reach 0, 1, 2 and 3 of the cuts 4, 6, 8; response i is answer i.
    grades = {one.text[-1]: first.grades[one.id] for one in first.candidates}
    assert grades == {"0": 0, "1": 1, "2": 2, "3": 3}
    second = slates["uf-sharegpt-1"]
    assert Counter(second.grades.values()) == Counter([3, 2, 1, 0])  # 10, 6, 5.5, 1
    assert manifest(folder)["left_out"] == {"no four responses with a score": 2}


def test_nectar_leaves_out_training_prompts_and_its_own_repeats(tmp_path, mirror):
    with pytest.raises(InputError, match="evenhand data fetch ultrafeedback first"):
        fetch("nectar", tmp_path, mirror=mirror)
    fetch("ultrafeedback", tmp_path, mirror=mirror)
    folder = fetch("nectar", tmp_path, mirror=mirror)
    slates = {slate.query: slate for slate in open_collection("nectar", tmp_path)}
    assert set(slates) == {"Name a river!", "Tell a joke"}
    grades = slates["Tell a joke"].grades
    best = next(one for one in slates["Tell a joke"].candidates if grades[one.id] == 3)
    assert best.text == "Tell a joke 1"  # the text of rank 1
    assert Counter(grades.values()) == {3: 1, 2: 2, 1: 2, 0: 2}
    assert manifest(folder)["left_out"] == {
        "a prompt of the training data": 1,
        "a prompt that came before": 1,
        "no seven responses of ranks 1 to 7": 1,
    }


def test_bright_drops_excluded_texts_and_repeated_ids(tmp_path, bright):
    pytest.importorskip("bm25s", reason="the extra data is not installed")
    folder = fetch("bright_pony", tmp_path, mirror=bright)
    slates = {slate.id: slate for slate in open_collection("bright_pony", tmp_path)}
    # Both questions share the word sea with both texts; the first must not see b#2.
    assert slates["0"].ids == ("sea/a_1.txt",)
    assert set(slates["1"].ids) == {"sea/a_1.txt", "sea/b#2.txt"}
    assert slates["0"].grades == {"sea/a_1.txt": 1}
    assert slates["1"].candidates[0].id == "sea/b#2.txt"
    assert manifest(folder)["left_out"] == {
        "an id again with another text, the first was kept": 1,
        "an id with its text again": 1,
    }


def test_the_same_files_give_the_same_bytes(tmp_path, mirror):
    folders = [fetch("hotpotqa", tmp_path / name, mirror=mirror) for name in ("a", "b")]
    first, second = (manifest(folder)["files"] for folder in folders)
    assert first == second
    with gzip.open(folders[0] / "qa.jsonl.gz", "rt", encoding="utf-8") as handle:
        assert len(handle.readlines()) == 3


def test_a_column_that_is_gone_names_file_and_row(tmp_path, mirror):
    bench = mirror / "THU-KEG/RM-Bench/total_dataset.json"
    bench.write_text(json.dumps([{"id": "1", "prompt": "p", "chosen": ["a"]}]))
    with pytest.raises(InputError, match=r"total_dataset.json: row 0 has not the form .*rejected"):
        fetch("rm_bench_full", tmp_path, mirror=mirror)
    assert not (tmp_path / "rm_bench_full").exists()


def test_a_fetch_that_was_cut_goes_on_after_the_last_whole_file(tmp_path, mirror):
    whole = mirror / "hotpotqa/hotpot_qa/distractor/train-00001-of-00002.parquet"
    kept = whole.read_bytes()
    whole.write_bytes(kept[: len(kept) // 2].ljust(len(kept), b"\0"))
    told = []
    with pytest.raises(InputError, match=r"train-00001-of-00002.parquet: cannot be read"):
        fetch("hotpotqa_train", tmp_path, mirror=mirror, say=told.append)
    assert not (tmp_path / "hotpotqa_train").exists()
    whole.write_bytes(kept)
    again = []
    fetch("hotpotqa_train", tmp_path, mirror=mirror, say=again.append)
    assert [line.rpartition("/")[2] for line in told] == [
        "train-00000-of-00002.parquet",
        "train-00001-of-00002.parquet",
    ]
    assert [line.rpartition("/")[2] for line in again] == ["train-00001-of-00002.parquet"]
    assert verify("hotpotqa_train", tmp_path).slates == 6


def test_enough_records_end_the_reading(tmp_path, mirror, monkeypatch):
    import dataclasses

    from evenhand.data.collections import COLLECTIONS, Take

    declared = COLLECTIONS["hotpotqa_train"]
    origin = dataclasses.replace(declared.origin, take=Take(2))
    monkeypatch.setitem(COLLECTIONS, "hotpotqa_train", dataclasses.replace(declared, origin=origin))
    told = []
    fetch("hotpotqa_train", tmp_path, mirror=mirror, say=told.append)
    assert [slate.id for slate in open_collection("hotpotqa_train", tmp_path)] == ["t00", "t01"]
    assert len(told) == 1  # the second file was not read


def test_a_seeded_sample_is_a_part_of_a_larger_one_in_order():
    held = {f"k{i}": i for i in range(100)}
    small, large = seeded("name", held, 10), seeded("name", held, 30)
    assert len(small) == 10
    assert set(small) < set(large)
    assert small == sorted(small)
    assert seeded("other", held, 10) != small
    assert seeded("name", held, 200) == list(range(100))
