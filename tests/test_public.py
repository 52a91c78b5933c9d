"""The public face: names, their order, and what a wrong name is told."""

import re
import tomllib
from pathlib import Path

import pytest

import evenhand

ROOT = Path(__file__).resolve().parents[1]


def test_names_are_sorted_and_unique():
    assert evenhand.__all__ == sorted(set(evenhand.__all__))


@pytest.mark.parametrize("name", evenhand.__all__)
def test_every_name_is_importable_and_documented(name):
    value = getattr(evenhand, name)
    assert value.__name__ == name
    assert value.__doc__


def test_dir_lists_every_public_name():
    assert set(dir(evenhand)) == {*evenhand.__all__, "__version__"}


def test_star_import_gives_exactly_the_public_names():
    space: dict[str, object] = {}
    exec("from evenhand import *", space)
    assert set(space) - {"__builtins__"} == set(evenhand.__all__)


def test_unknown_attribute_lists_the_known_ones():
    with pytest.raises(AttributeError) as caught:
        evenhand.adit  # noqa: B018
    for name in ("adit", *evenhand.__all__):
        assert repr(name) in str(caught.value)


def test_one_version_everywhere():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    logged = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert cited is not None
    assert logged is not None
    assert evenhand.__version__ == declared == cited[1] == logged[1]


def test_every_pin_is_exact_and_covers_every_direct_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", pin) for pin in pins), pins
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(d for e in ("hf", "report", "data", "serve", "docs", "dev") for d in extras[e]),
    ]
    names = {re.match(r"[A-Za-z0-9-]+", item)[0] for item in wanted} - {"evenhand"}
    assert names == {pin.partition("==")[0] for pin in pins}


def test_extra_all_leaves_out_ray_and_what_only_developers_need():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.search(r"\[(.*)\]", extras["optional-dependencies"]["all"][0])
    assert named is not None
    every = set(extras["optional-dependencies"])
    assert set(named[1].split(",")) == every - {"ray", "docs", "dev", "all"}
