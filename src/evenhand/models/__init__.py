"""Models: from a spec such as "hf:org/name" to weights, tokenizer and identity.

`evenhand.models.load.load` loads one. Importing this package stays light.
"""

from __future__ import annotations

from evenhand.models.doctor import doctor_lines
from evenhand.models.store import cache_dir

__all__ = ["cache_dir", "doctor_lines"]
