"""Presets: settings of whole runs, as a TOML file would hold them.

`paper-*` are those of arXiv:2608.26762: LoRA of rank 16, 64 windows a step, two
orders of a fixed window, the first with the label, one epoch. Their lambda is on our
penalty, sum_i mean (s_i - sbar)^2, which for two views is half of mean (s_1 - s_2)^2.
Lambda rises over 500 steps on passages. On questions and responses, where 500 steps
are more than the whole run, it rises over a tenth. `small` is for models of a few
hundred million weights: all of them trained, on views of the whole slate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.errors import UsageError

Settings = dict[str, Any]

_LORA: Settings = {"method": "lora", "rank": 16, "alpha": 32, "dropout": 0.05}
_DESCENT: Settings = {
    "rate": 2e-4,
    "betas": [0.9, 0.95],
    "decay": 0.01,
    "clip": 1.0,
    "warmup": 0.1,
}
_RUN: Settings = {
    "windows": 64,
    "epochs": 1,
    "half": True,
    "checkpointing": True,
    "save_every": 50,
    "evaluate_every": 100,
}

PRESETS: Mapping[str, Settings] = {
    "paper-passages": {
        "base": "hf:Qwen/Qwen3-4B",
        "views": {"mix": "within", "count": 2, "widths": [20]},
        "surface": {"rubric": "relevance"},
        "objective": {"anchor": "first", "consistency": 5.0},
        "weights": _LORA,
        "descent": {**_DESCENT, "ramp": 500},
        "run": {**_RUN, "max_candidate_tokens": 512},
    },
    "paper-qa": {
        "base": "hf:Qwen/Qwen3-4B",
        "views": {"mix": "within", "count": 2, "widths": [10]},
        "surface": {"rubric": "answer_support"},
        "objective": {"anchor": "first", "consistency": 3.0},
        "weights": _LORA,
        "descent": {**_DESCENT, "ramp": 0.1},
        "run": {**_RUN, "max_candidate_tokens": 512},
    },
    "paper-responses": {
        "base": "hf:Qwen/Qwen3-4B",
        "views": {"mix": "within", "count": 2, "widths": [4]},
        "surface": {"rubric": "response_quality"},
        "objective": {"anchor": "first", "consistency": 1.0},
        "weights": _LORA,
        "descent": {**_DESCENT, "ramp": 0.1},
        "run": {**_RUN, "max_candidate_tokens": 768},
    },
    "small": {
        "base": "smollm2-135m",
        "views": {"mix": "across", "count": 2, "widths": [10]},
        "surface": {"markers": "single", "enclose": True, "query": "around"},
        "objective": {"anchor": "first", "consistency": 4.0},
        "weights": {"method": "full"},
        "descent": {**_DESCENT, "ramp": 0.1},
        "run": {
            "windows": 64,
            "epochs": 1,
            "save_every": 50,
            "evaluate_every": 50,
            "max_candidate_tokens": 64,
        },
    },
}


def preset(name: str) -> Settings:
    """Return the settings of a preset.

    Raises:
        UsageError: an unknown name; lists the known ones.
    """
    if name not in PRESETS:
        raise UsageError(f"unknown preset {name!r}; known are {', '.join(sorted(PRESETS))}")
    return {
        key: dict(value) if isinstance(value, dict) else value for key, value in PRESETS[name].items()
    }


def with_preset(settings: Mapping[str, Any]) -> Settings:
    """Return settings laid over those of the preset they name under "preset".

    A section's own values replace those of the preset one by one, other values whole.
    Without a preset they are returned as they are.

    Raises:
        UsageError: an unknown preset.
    """
    own = dict(settings)
    name = own.pop("preset", None)
    if name is None:
        return own
    if not isinstance(name, str):
        raise UsageError(f"preset is a name, got {name!r}; known are {', '.join(sorted(PRESETS))}")
    merged = preset(name)
    for key, value in own.items():
        held = merged.get(key)
        if isinstance(held, dict) and isinstance(value, Mapping):
            merged[key] = {**held, **value}
        else:
            merged[key] = value
    return merged
