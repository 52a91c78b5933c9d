import json

import pytest

from evenhand.decide.stored import NAME, StoredThreshold, read_threshold, write_threshold
from evenhand.errors import InputError, UsageError

STORED = StoredThreshold(0.4375, "rev+1", "advisor", "floor 0.8")


def test_there_and_back(tmp_path):
    path = write_threshold(tmp_path, STORED)
    assert path == tmp_path / NAME
    assert read_threshold(tmp_path, "rev+1") == STORED
    assert read_threshold(path, "rev+1") == STORED
    other = write_threshold(tmp_path / "new" / "mine.json", STORED)
    assert read_threshold(other, "rev+1") == STORED


def test_another_revision_is_refused(tmp_path):
    write_threshold(tmp_path, STORED)
    with pytest.raises(UsageError, match=r"belongs to scorer revision 'rev\+1'.*'rev\+2'"):
        read_threshold(tmp_path, "rev+2")


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"threshold": None},
        {"threshold": True},
        {"threshold": "0.5"},
        {"revision": ""},
        {"more": 1},
    ],
)
def test_what_is_no_threshold_is_refused(tmp_path, change):
    path = write_threshold(tmp_path, STORED)
    record = {**json.loads(path.read_text()), **change}
    path.write_text(json.dumps(record))
    with pytest.raises(InputError):
        read_threshold(path, "rev+1")


def test_missing_and_torn_files(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_threshold(tmp_path / "none.json", "r")
    (tmp_path / NAME).write_text('{"format": 1, "thresh')
    with pytest.raises(InputError, match="JSON"):
        read_threshold(tmp_path, "r")


def test_nonsense_is_not_stored():
    with pytest.raises(UsageError, match="finite"):
        StoredThreshold(float("nan"), "r", "f1")
    with pytest.raises(UsageError, match="revision"):
        StoredThreshold(0.5, "", "f1")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: StoredThreshold("0.5", "r", "f1"), "a stored threshold must be a finite number"),
        (lambda: StoredThreshold(None, "r", "f1"), "a stored threshold must be a finite number"),
        (lambda: StoredThreshold(0.5, 3, "f1"), "revision of a stored threshold must be a text, got 3"),
        (lambda: StoredThreshold(0.5, "r", None), "rule of a stored threshold must be a text"),
        (lambda: write_threshold("x", None), "a StoredThreshold is needed, got None"),
        (lambda: write_threshold(3, STORED), "path of a threshold is needed, got 3"),
        (lambda: read_threshold(None, "r"), "path of a threshold is needed, got None"),
    ],
)
def test_wrong_kinds_are_refused_by_name(call, said):
    with pytest.raises(UsageError, match=said):
        call()
