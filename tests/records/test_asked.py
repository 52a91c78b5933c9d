import pytest

from evenhand.errors import ResumeError, UsageError
from evenhand.records.asked import NAME, Asked, read_asked, write_asked


def test_what_was_asked_comes_back(tmp_path):
    assert read_asked(tmp_path) == Asked()
    write_asked(tmp_path, 0.5, ["P@3"])
    assert read_asked(tmp_path) == Asked(0.5, ("P@3",))
    write_asked(tmp_path, None, None)
    assert read_asked(tmp_path) == Asked()
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize("text", ["{", "[]", '{"threshold": "x", "measures": null}', '{"threshold": 1}',
                                  '{"threshold": NaN, "measures": null}',
                                  '{"threshold": null, "measures": "P@3"}'])  # fmt: skip
def test_a_damaged_file_is_told(tmp_path, text):
    (tmp_path / NAME).write_text(text)
    with pytest.raises(ResumeError, match="damaged; delete it"):
        read_asked(tmp_path)


@pytest.mark.parametrize(
    ("threshold", "measures", "said"),
    [
        ("0.5", None, "threshold must be a finite number or None, got '0.5'"),
        (float("nan"), None, "threshold must be a finite number or None, got nan"),
        (True, None, "threshold must be a finite number"),
        (None, "P@3", "measures must be a list of names, got 'P@3'"),
        (None, 3, "measures must be a list of names, got 3"),
    ],
)
def test_what_makes_no_sense_is_not_kept(tmp_path, threshold, measures, said):
    with pytest.raises(UsageError, match=said):
        write_asked(tmp_path, threshold, measures)
    assert list(tmp_path.iterdir()) == []
