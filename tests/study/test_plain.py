import json
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.study.plain import plain


@dataclass(frozen=True, slots=True)
class Pair:
    a: float
    b: object


def test_everything_becomes_json():
    value = Pair(
        float("nan"), {"x": np.array([1.0, np.inf]), "y": (np.int64(2), None, True), "z": {"b", "a"}}
    )
    expected = {"a": None, "b": {"x": [1.0, None], "y": [2, None, True], "z": ["a", "b"]}}
    assert plain(value) == expected
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == expected
    assert plain(MappingProxyType({1: np.float64("nan")})) == {"1": None}


def test_what_has_no_form_is_refused():
    with pytest.raises(UsageError, match="object has no JSON form"):
        plain([object()])
    with pytest.raises(UsageError, match="type has no JSON form"):
        plain(Pair)
