"""Settings: refused before a model is opened, by the name of what is wrong."""

import pytest

from evenhand.errors import UsageError
from evenhand.serve.settings import Limits, Serving, key_from, settled_threshold


@pytest.mark.parametrize(
    "name", ["queue", "batch", "body", "documents", "characters", "orders", "scores"]
)
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_counts_are_whole_numbers_of_at_least_1(name, value):
    with pytest.raises(UsageError, match=f"{name} must be at least 1"):
        Limits(**{name: value})


@pytest.mark.parametrize("name", ["timeout", "drain", "reading"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), True, "5"])
def test_times_are_seconds(name, value):
    with pytest.raises(UsageError, match=f"{name} must be above 0"):
        Limits(**{name: value})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"remedies": ("averige:4",)}, "unknown remedy 'averige'"),
        ({"remedies": ("average:4", "average:2")}, "named 2 times"),
        ({"threshold": float("nan")}, "threshold must be a finite number"),
        ({"threshold": 0.5, "remedies": ("adaptive:threshold=0.4",)}, "adaptive:threshold=0.5"),
        ({"threshold": 0.5, "remedies": ("adaptive:best",)}, "not the decision"),
        ({"width": 0}, "width must be at least 1"),
        ({"rule": "sideways"}, "unknown window rule 'sideways'"),
        ({"uncertain_at": 1.0}, "uncertain_at must lie between 0 and 1"),
        ({"key": ""}, "the key is empty"),
        ({"key": "\u00e4"}, "the key must be printable ASCII without spaces"),
        ({"key": "a b"}, "the key must be printable ASCII without spaces"),
        ({"names": ("a", "")}, "a name of the model is empty"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(given, said):
    with pytest.raises(UsageError, match=said):
        Serving(**given)


def test_an_adaptive_remedy_brings_its_threshold():
    assert Serving(remedies=("interleave", "adaptive:threshold=0.4")).threshold == 0.4
    assert Serving(remedies=("adaptive:best",)).threshold is None
    assert settled_threshold(("average:4",)) is None


def test_the_key_comes_from_a_variable_and_is_not_shown(monkeypatch):
    monkeypatch.setenv("SERVE_KEY", " s3cret ")
    assert key_from("SERVE_KEY") == "s3cret"
    assert key_from(None) is None
    assert "s3cret" not in repr(Serving(key="s3cret"))


@pytest.mark.parametrize(("value", "said"), [("", "holds no key"), ("a b", "ASCII"), ("ä", "ASCII")])
def test_a_key_that_cannot_be_sent_is_refused(monkeypatch, value, said):
    monkeypatch.setenv("SERVE_KEY", value)
    with pytest.raises(UsageError, match=said):
        key_from("SERVE_KEY")
