"""The page on training names every setting with its default, and its whole file can be read."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

pytest.importorskip("torch")

from evenhand.train.settings import Descent, Run, Training, Weights, read_training
from evenhand.train.sources import Source
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Surface

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training.md"
ROW = re.compile(r"^\| (\S+) \| `(\w+)` \| (`.*?`|none) \| .+ \|$", re.MULTILINE)
SECTIONS = {
    "views": Views(),
    "surface": Surface(),
    "objective": Objective(),
    "weights": Weights(),
    "descent": Descent(),
    "run": Run(),
    "data.NAME": Source("any"),
}
# A surface is a section of its own, and a source is named by its table.
ELSEWHERE = {("views", "surface"), ("data.NAME", "name")}


def plain(value):
    """Return a setting as a TOML file would hold it, in tuples."""
    if isinstance(value, list | dict):
        return tuple(value)
    return value


def test_the_table_has_every_setting_with_its_default():
    found = {}
    for section, key, default in ROW.findall(PAGE.read_text(encoding="utf-8")):
        assert (section, key) not in found
        value = None if default == "none" else tomllib.loads(f"x = {default.strip('`')}")["x"]
        found[section, key] = plain(value)
    wanted = {
        (section, item.name): getattr(kind, item.name)
        for section, kind in SECTIONS.items()
        for item in fields(kind)
        if (section, item.name) not in ELSEWHERE
    }
    whole = Training()
    wanted |= {("-", "preset"): None, ("-", "base"): whole.base, ("-", "widths"): whole.widths}
    assert found == wanted


def test_the_whole_file_of_the_page_can_be_read(tmp_path):
    blocks = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    whole = max(blocks, key=len)
    named = {line[1:-1].partition(".")[0] for line in re.findall(r"^\[.*?\]", whole, re.M)}
    assert named == {section.partition(".")[0] for section in SECTIONS}
    for number, block in enumerate(blocks):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        read_training(path)
    read = tmp_path / "whole.toml"
    read.write_text(whole, encoding="utf-8")
    settings = read_training(read)
    assert settings.widths == ((0.5, (5,)), (1.0, (10,)))
    assert (settings.weights.method, settings.run.token_budget) == ("lora", 16384)
