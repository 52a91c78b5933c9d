import itertools

from evenhand.study.rows.batched import batched


def test_a_stream_comes_in_lists_of_one_length_but_for_the_last():
    assert list(batched("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(batched([], 3)) == []


def test_no_more_is_read_than_was_asked_for():
    stream = itertools.count()
    assert next(batched(stream, 3)) == [0, 1, 2]
    assert next(stream) == 3
