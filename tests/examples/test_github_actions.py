"""The workflow file for users is the one that the docs show."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_it_is_the_block_of_the_docs():
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert (ROOT / "examples" / "github-actions.yml").read_text(encoding="utf-8") in blocks
