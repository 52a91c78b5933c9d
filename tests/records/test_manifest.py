import json

import numpy as np
import pytest

from evenhand.errors import ResumeError, UsageError
from evenhand.records import manifest
from evenhand.types import Surface


def test_settings_become_plain_values():
    given = {"a": (1, 2), "b": frozenset({"y", "x"}), "c": np.float64(0.5), "d": Surface(), "e": np.nan}
    plain = manifest.plain(given)
    assert plain["a"] == [1, 2]
    assert plain["b"] == ["x", "y"]
    assert plain["c"] == 0.5
    assert plain["d"]["rubric"] == "relevance"
    assert plain["e"] == "nan"
    assert json.loads(json.dumps(plain)) == plain


def test_a_setting_that_is_no_data_is_refused():
    with pytest.raises(UsageError, match="plain data"):
        manifest.plain({"f": print})


def test_each_difference_is_named_with_both_values():
    before = {"rows": 10, "scorer": {"name": "toy", "revision": "a"}, "old": None}
    now = {"rows": 20, "scorer": {"name": "toy", "revision": "b"}, "new": 1}
    assert manifest.differences(before, now) == [
        "new: '(not set)' in the folder, 1 now",
        "old: None in the folder, '(not set)' now",
        "rows: 10 in the folder, 20 now",
        "scorer.revision: 'a' in the folder, 'b' now",
    ]
    assert manifest.differences(before, dict(before)) == []


def test_true_is_not_one():
    assert manifest.differences({"repeat": True}, {"repeat": 1}) == [
        "repeat: True in the folder, 1 now"
    ]


SOUND = {
    "format": manifest.FORMAT, "n_slates": 3, "part_size": 2, "settings": {}, "slates_hash": "h",
    "versions": {},
}  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [{"settings": []}, {"n_slates": None}, {"n_slates": -1}, {"part_size": 0}, {"versions": "1"}],
)
def test_values_that_no_run_writes_are_damage(tmp_path, damage):
    manifest.write(tmp_path, {**SOUND, **damage})
    with pytest.raises(ResumeError, match=f"damaged: .*{next(iter(damage))}"):
        manifest.read(tmp_path)


def test_versions_name_what_is_loaded():
    assert {"evenhand", "python", "numpy"} <= manifest.versions().keys()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no run here"),
        ("{", "cannot be read"),
        ("[]", "missing"),
        ('{"settings": {}}', "missing"),
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path, content, says):
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ResumeError, match=says):
        manifest.read(tmp_path)


def test_another_format_is_refused(tmp_path):
    keys = ("n_slates", "part_size", "settings", "slates_hash", "versions")
    manifest.write(tmp_path, {"format": 99, **dict.fromkeys(keys, 0)})
    with pytest.raises(ResumeError, match="99"):
        manifest.read(tmp_path)


def test_a_lone_surrogate_survives(tmp_path):
    written = {**SOUND, "settings": {"text": "\ud800"}}
    manifest.write(tmp_path, written)
    assert manifest.read(tmp_path) == written
