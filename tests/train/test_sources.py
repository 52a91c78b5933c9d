"""The [data] section of a training's settings."""

from __future__ import annotations

import pytest

from evenhand.data.collections import COLLECTIONS
from evenhand.errors import UsageError
from evenhand.train.sources import Source, sources_from


def test_one_table_a_source():
    found = sources_from({"mine": {"licence": "MIT", "source": "our own"}, "theirs": {}})
    assert found == (Source("mine", "MIT", "our own"), Source("theirs", None, None))


def test_a_declared_collection_is_as_declared_unless_it_is_said_otherwise():
    declared = COLLECTIONS["noveleval"]
    first, second = sources_from({"noveleval": {}, "cran": {"licence": "ours"}})
    assert first == Source("noveleval", declared.licence, declared.source)
    assert second == Source("cran", "ours", COLLECTIONS["cran"].source)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mine": "MIT"}, r"data\.mine is a table"),
        (
            {"mine": {"license": "MIT"}},
            r"unknown settings \['license'\] in data\.mine; known are \['lic",
        ),
        ({"mine": {"name": "other"}}, r"unknown settings \['name'\]"),
        ({"mine": {"licence": 3}}, r"data\.mine\.licence is a text, got 3"),
        ({"mine": {"licence": " "}}, "leave out what is not known"),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        sources_from(settings)
