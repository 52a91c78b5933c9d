import gzip

import pytest

from evenhand.data import read_json_lines, read_lines
from evenhand.errors import InputError


def put(path, data):
    path.write_bytes(data)
    return path


def test_bom_crlf_and_blank_lines_are_tolerated_and_numbers_stay_true(tmp_path):
    path = put(tmp_path / "a.txt", b"\xef\xbb\xbfone\r\n\r\n  \t\nfour\r\nfive")
    assert list(read_lines(path)) == [(1, "one"), (4, "four"), (5, "five")]


def test_only_a_line_feed_ends_a_line(tmp_path):
    text = "a\x00b\x0b\x0c\x85\u2028\rc"
    path = put(tmp_path / "a.txt", (text + "\nlast").encode())
    assert list(read_lines(path)) == [(1, text), (2, "last")]


def test_a_byte_order_mark_is_removed_at_the_start_alone(tmp_path):
    path = put(tmp_path / "a.txt", b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert list(read_lines(path)) == [(1, "one"), (2, "\ufefftwo")]


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"good\nM\xc3", 2, "ends inside a character"),
        (b"good\nb\xffad\ngood\n", 2, "byte 2 of the line is not UTF-8"),
        ("latin é\n".encode("latin-1"), 1, "byte 7 of the line is not UTF-8"),
        ("text".encode("utf-16"), 1, "UTF-16"),
    ],
)
def test_damaged_bytes_are_an_error_with_their_place(tmp_path, data, line, words):
    path = put(tmp_path / "a.txt", data)
    with pytest.raises(InputError, match=words) as caught:
        list(read_lines(path))
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert f"{path}:{line}:" in str(caught.value)
    assert caught.value.exit_code == 4


def test_gzip_is_read_and_a_cut_or_flipped_one_is_an_error(tmp_path):
    lines = [f"line {number * 7919 % 1000} of text" for number in range(2000)]
    packed = gzip.compress("\n".join(lines).encode())
    assert [line for _, line in read_lines(put(tmp_path / "a.gz", packed))] == lines
    middle = len(packed) // 2
    flipped = packed[:middle] + bytes([packed[middle] ^ 255]) + packed[middle + 1 :]
    for damaged in (packed[: len(packed) // 2], packed[:-4], flipped, b"not packed\n"):
        with pytest.raises(InputError, match="damaged or cut"):
            list(read_lines(put(tmp_path / "b.gz", damaged)))


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        list(read_lines(tmp_path / "none"))
    with pytest.raises(InputError, match="is a folder"):
        list(read_lines(tmp_path))


def test_json_lines_keep_their_numbers(tmp_path):
    path = put(tmp_path / "a.jsonl", b'{"a": 1}\n\n{"a": "\\u0000\\ud800"}\n')
    assert list(read_json_lines(path)) == [(1, {"a": 1}), (3, {"a": "\x00\ud800"})]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"a": 1', "column 8"),  # seven characters, the eighth is missing
        (b'{"a": 1, "b": tru', "damaged or cut"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"a": 1, "b": 2, "a": 3}', r"\['a'\] stand twice"),
        (b"[1, 2]", "must be a JSON object, got list"),
        (b'{"a": ' + b"[" * 100_000, "not "),
        (b'{"a": ' + b"1" * 5000 + b"}", "not usable JSON"),
    ],
)
def test_a_bad_json_line_is_an_error_with_its_place(tmp_path, line, words):
    path = put(tmp_path / "a.jsonl", b'{"ok": 1}\n' + line + b'\n{"ok": 2}\n')
    with pytest.raises(InputError, match=words) as caught:
        list(read_json_lines(path))
    assert caught.value.line == 2
