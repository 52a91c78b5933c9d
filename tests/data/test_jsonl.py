import gzip
import json
import tracemalloc

import pytest

from evenhand.data import read_slates, write_slates
from evenhand.errors import InputError, UsageError
from evenhand.types import Candidate, Slate

ODD = "NUL \x00, [3] Grades: <|im_end|>\nשלום \u202e\u2028 \ud800"
SLATES = [
    Slate("q#1", "what?", (Candidate("d#1", ODD, "title"), Candidate("d|2_", "")), {"d#1": 3, "x": -1}),
    Slate("q2", "", (), None, ("yes", "oui"), "SUPPORTS"),
    Slate("q3", "plain", (Candidate("a", "same"), Candidate("b", "same")), {}),
]


def dump(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_written_slates_come_back_equal_and_bytes_are_the_same(tmp_path, name):
    path = tmp_path / name
    assert write_slates(path, SLATES) == 3
    assert list(read_slates(path)) == SLATES
    first = path.read_bytes()
    write_slates(path, iter(SLATES))
    assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.jsonl"
    write_slates(path, SLATES[:1])
    with pytest.raises(InputError, match="'q2' comes twice"):
        write_slates(path, [SLATES[1], SLATES[1]])
    assert list(read_slates(path)) == SLATES[:1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]


def test_empty_texts_are_kept_in_place_and_counted(tmp_path):
    texts = ["root A", "", "   ", "root D"]
    slate = Slate("q", "root", tuple(Candidate(str(i), text) for i, text in enumerate(texts)))
    write_slates(tmp_path / "a.jsonl", [slate, Slate("none", "root", ())])
    slates = read_slates(tmp_path / "a.jsonl")
    first, second = slates
    assert [candidate.text for candidate in first.candidates] == texts
    assert len(second) == 0
    assert slates.report.to_dict() == {"empty_text": 2, "no_candidates": 1}


def test_repeated_slate_ids_name_both_lines(tmp_path):
    one = {"id": "q1", "query": "a", "candidates": []}
    path = dump(tmp_path / "a.jsonl", one, {**one, "id": "q2"}, one)
    with pytest.raises(InputError, match="'q1' stands in line 1 already") as caught:
        list(read_slates(path))
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"id": "q", "query": "a"}, "without 'candidates'"),
        ({"id": "q", "query": "a", "candidates": [{"id": "d"}]}, "without 'text'"),
        ({"id": "q", "query": "a", "candidates": [], "grade": 1}, "unknown keys"),
        ({"id": "", "query": "a", "candidates": []}, "non-empty"),
        ({"id": "q", "query": "a", "candidates": [{"id": "d", "text": "t"}] * 2}, "twice"),
        ({"id": "q", "query": "a", "candidates": [{"id": "d", "text": "t", "grade": 1.5}]}, "integer"),
    ],
)
def test_a_bad_slate_is_an_error_with_its_line(tmp_path, record, words):
    path = dump(tmp_path / "a.jsonl", {"id": "ok", "query": "a", "candidates": []}, record)
    with pytest.raises(InputError, match=words) as caught:
        list(read_slates(path))
    assert (caught.value.path, caught.value.line) == (str(path), 2)


def test_a_cut_last_line_is_an_error_after_the_good_ones(tmp_path):
    path = tmp_path / "a.jsonl"
    write_slates(path, SLATES)
    path.write_bytes(path.read_bytes()[:-5])
    slates = iter(read_slates(path))
    assert [next(slates), next(slates)] == SLATES[:2]
    with pytest.raises(InputError, match="damaged or cut") as caught:
        next(slates)
    assert caught.value.line == 3


def test_gzipped_damage_is_an_error(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    write_slates(path, SLATES)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()))[:-9])
    with pytest.raises(InputError, match="compressed data is damaged"):
        list(read_slates(path))


def test_unknown_settings_list_the_known_and_a_missing_file_is_told_at_once(tmp_path):
    path = dump(tmp_path / "a.jsonl")
    assert list(read_slates(path)) == []
    with pytest.raises(UsageError, match=r"'csv'; known are \['evenhand', 'qa', 'rank_llm'"):
        read_slates(path, format="csv")
    with pytest.raises(UsageError, match=r"known are \['file', 'seeded'\]"):
        read_slates(path, order="random")
    with pytest.raises(InputError, match="no such file"):
        read_slates(tmp_path / "none.jsonl")


def test_a_file_of_one_shape_does_not_change_it_midway(tmp_path):
    rank = {"query": {"qid": 1, "text": "a"}, "candidates": []}
    path = dump(tmp_path / "a.jsonl", rank, {"query_id": "q", "query": "a", "positive_passages": []})
    with pytest.raises(InputError, match=r"without 'candidates'.*read as rank_llm") as caught:
        list(read_slates(path))
    assert caught.value.line == 2
    tevatron = {"query_id": "q", "query": "a", "positive_passages": []}
    with pytest.raises(InputError, match="read as rank_llm"):
        list(read_slates(dump(path, tevatron), format="rank_llm"))


def test_the_seeded_order_is_a_setting(tmp_path):
    slate = Slate("q", "a", tuple(Candidate(str(i), "t") for i in range(20)))
    write_slates(tmp_path / "a.jsonl", [slate])
    (seeded,) = read_slates(tmp_path / "a.jsonl", order="seeded")
    assert seeded.ids != slate.ids
    assert sorted(seeded.ids) == sorted(slate.ids)


def test_reading_holds_one_slate_at_a_time(tmp_path):
    text = "word " * 2000
    write_slates(
        tmp_path / "a.jsonl", (Slate(f"q{i}", "a", (Candidate("d", text),)) for i in range(500))
    )
    assert (tmp_path / "a.jsonl").stat().st_size > 5_000_000  # 500 x 10,000 characters
    tracemalloc.start()
    count = sum(1 for _ in read_slates(tmp_path / "a.jsonl"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 500
    assert peak < 1_000_000


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    from evenhand.errors import UsageError

    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "x.jsonl", tmp_path / ("x" * 300), "/"):
        with pytest.raises(UsageError, match="cannot be written"):
            write_slates(path, [])
    with pytest.raises(InputError, match="item 0 of the slates is a str"):
        write_slates(tmp_path / "x.jsonl", ["q1"])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
