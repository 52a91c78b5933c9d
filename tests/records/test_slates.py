import hashlib

import pytest

from evenhand.errors import InputError, ResumeError
from evenhand.records import slates as slate_files
from evenhand.types import Candidate, Slate

ODD = Slate(
    "s\u05d0", "lone \ud800 nul \x00", (Candidate("c\n1", "\udfff [3]\r\n"),), {"z": 1, "c\n1": 0}
)


def some(*ids: str) -> list[Slate]:
    return [Slate(key, "q", (Candidate("c", "t"),)) for key in ids]


def test_odd_texts_come_back_and_the_hash_is_that_of_the_file(tmp_path):
    path = tmp_path / "slates.jsonl"
    summary = slate_files.write_slates(path, iter([ODD, *some("b")]))
    assert list(slate_files.read_slates(path)) == [ODD, *some("b")]
    assert summary.count == 2
    assert summary.hash == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_order_of_the_grades_does_not_matter():
    turned = Slate(ODD.id, ODD.query, ODD.candidates, {"c\n1": 0, "z": 1})
    assert slate_files.to_line(turned) == slate_files.to_line(ODD)


def test_an_id_that_comes_twice_is_refused_with_both_places(tmp_path):
    with pytest.raises(InputError, match=r"'a' comes twice \(slates 0 and 2"):
        slate_files.write_slates(tmp_path / "f", some("a", "b", "a"))


def test_what_is_no_slate_is_refused(tmp_path):
    with pytest.raises(InputError, match="item 0 of the slates is a str"):
        slate_files.write_slates(tmp_path / "f", ["a"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (some("a", "c"), "slate 1 (from 0): id 'b' in the folder, 'c' now"),
        (some("a"), "slate 1 (from 0): the input ends here"),
        (some("a", "b", "c"), "slate 2 (from 0): the folder has no more slates"),
        (
            [*some("a"), Slate("b", "other", (Candidate("c", "t"),))],
            "slate 1 (from 0): 'b' differs in query",
        ),
    ],
)
def test_the_first_difference_is_named(tmp_path, given, says):
    path = tmp_path / "f"
    summary = slate_files.write_slates(path, some("a", "b"))
    (found,) = slate_files.slate_differences(path, given, summary.hash)
    assert says in found


def test_equal_slates_do_not_differ_and_a_changed_file_is_damage(tmp_path):
    path = tmp_path / "f"
    summary = slate_files.write_slates(path, some("a", "b"))
    assert slate_files.slate_differences(path, some("a", "b"), summary.hash) == []
    path.write_bytes(path.read_bytes().replace(b'"q"', b'"r"', 1))
    with pytest.raises(ResumeError, match="changed or damaged"):
        slate_files.slate_differences(path, some("a", "b"), summary.hash)


def test_parts_begin_where_the_offsets_say(tmp_path):
    path = tmp_path / "f"
    slates = some("a", "bb", "ccc", "d", "e")
    slate_files.write_slates(path, slates)
    offsets = slate_files.part_offsets(path, 2)
    assert [list(slate_files.read_slates(path, start, 2)) for start in offsets] == [
        slates[:2],
        slates[2:4],
        slates[4:],
    ]


def test_a_slate_is_found_by_its_whole_id(tmp_path):
    path = tmp_path / "f"
    slate_files.write_slates(path, [*some("a", "aa", 'a", "b'), ODD])
    assert slate_files.find_slate(path, "aa") == some("aa")[0]
    assert slate_files.find_slate(path, 'a", "b') == some('a", "b')[0]
    assert slate_files.find_slate(path, ODD.id) == ODD
    assert slate_files.find_slate(path, "b") is None


def test_a_damaged_line_is_an_error(tmp_path):
    (tmp_path / "f").write_bytes(b'{"id": "a"')
    with pytest.raises(ResumeError, match="damaged slate"):
        list(slate_files.read_slates(tmp_path / "f"))
