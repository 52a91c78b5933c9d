import pytest

from evenhand.errors import UsageError
from evenhand.score.services.address import (
    checked_address,
    endpoint_address,
    key_headers,
    require_fields,
)


def test_where_a_key_comes_from(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    assert key_headers(None) == {}
    assert key_headers(None, "MY_KEY") == {}
    with pytest.raises(UsageError, match="'MY_KEY' is empty"):
        key_headers("MY_KEY")
    with pytest.raises(UsageError, match="name of an environment variable"):
        key_headers(3)
    monkeypatch.setenv("MY_KEY", "abc")
    assert key_headers(None, "MY_KEY") == {"Authorization": "Bearer abc"}
    assert key_headers("MY_KEY", header="Api-Key", before="") == {"Api-Key": "abc"}
    monkeypatch.setenv("MY_KEY", "a\nbc")
    with pytest.raises(UsageError, match="MY_KEY holds characters") as caught:
        key_headers("MY_KEY")
    assert "bc" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "host:80", "ftp://host", "http://", "http://host:port", None, 3])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(UsageError, match="needs an address"):
        checked_address(url)


@pytest.mark.parametrize(
    "url", ["http://me:s3cret@host", "http://host/x?key=s3cret", "http://host#s3cret"]
)
def test_an_address_holds_no_secret(url):
    with pytest.raises(UsageError, match="host") as caught:
        checked_address(url)
    assert "s3cret" not in str(caught.value)
    assert checked_address("http://host:80/v1/") == "http://host:80/v1"


def test_an_endpoint_is_named_or_in_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://there/v1/")
    assert endpoint_address(None) == "http://there/v1"
    assert endpoint_address("http://here/v1") == "http://here/v1"
    monkeypatch.delenv("OPENAI_BASE_URL")
    for nothing in (None, ""):
        with pytest.raises(UsageError, match="give base_url=.* or set OPENAI_BASE_URL"):
            endpoint_address(nothing)
    with pytest.raises(UsageError, match="got 3"):
        endpoint_address(3)


@pytest.mark.parametrize("extra", [None, 5, "a=3", [1], {3: 1}, {"a": {1}}, {"a": float("nan")}])
def test_fields_that_are_none(extra):
    with pytest.raises(UsageError, match="extra must be a dict of plain values by field"):
        require_fields(extra)


def test_fields_that_are_taken():
    require_fields({})
    require_fields({"a": [1, None]}, frozenset({"b"}))
    with pytest.raises(UsageError, match=r"extra names \['b', 'c'\], which evenhand sets itself"):
        require_fields({"c": 1, "a": 2, "b": 3}, frozenset({"b", "c"}))
