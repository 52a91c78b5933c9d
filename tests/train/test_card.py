"""The model card: every fact of the record that a reader needs, and none made up."""

from __future__ import annotations

import copy
from dataclasses import asdict, replace

import pytest

pytest.importorskip("torch")

from evenhand.present.texts import RUBRICS
from evenhand.train.card import card
from evenhand.train.settings import Training, Weights
from evenhand.train.sources import Source
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Surface

SURFACE = Surface(rubric="answer_support", markers="letters", visibility="parallel")
SETTINGS = Training(
    base="hf:org/base@v1",
    views=Views(widths=(8,), surface=SURFACE),
    objective=Objective(consistency=4.0),
    weights=Weights(method="lora"),
    data=(Source("mine", "CC BY 4.0", "https://example.org"), Source("a|b")),
)
RECORD = {
    "evenhand": "9.9.9",
    "base": {"name": "hf:org/base@v1", "revision": "c0ffee", "dtype": "float32", "licence": "mit"},
    "surface": asdict(SURFACE),
    "rubric": asdict(RUBRICS["answer_support"]),
    "width": 8,
    "max_candidate_tokens": 64,
    "threshold": None,
    "training": {
        "settings": asdict(SETTINGS),
        "steps": 220,
        "labels": {"teacher": {"name": "big"}, "orders": [10]},
    },
    "measures": {"served": 0.61234, "shuffled": 0.6, "psi": 0.05, "overlap": 0.9, "spread": 0.2,
                 "residual": None, "missing": 3.0},
    "measured_on": {"slates": 40, "rows": 5, "width": 8, "measure": "nDCG@10", "seed": 7},
}  # fmt: skip


def test_it_says_what_the_record_holds():
    text = card(RECORD)
    for fact in (
        "base_model: org/base\n",
        "library_name: peft",
        "trained with evenhand 9.9.9",
        "revision c0ffee",
        "licence of the base: mit",
        "2 views of a slate, across, label on first, consistency 4; 220 steps of 64 windows, seed 0",
        f"rubric answer_support: {RUBRICS['answer_support'].task}",
        f"  - 3: {RUBRICS['answer_support'].levels[3]}",
        "markers letters",
        "visibility parallel",
        "B 8 candidates a window",
        "cut at 64 tokens",
        "threshold: none",
        "Labels: big, mean over 10 orders of a slate.",
        "| mine | CC BY 4.0 | https://example.org |",
        r"| a\|b | not stated | not stated |",
        "On 40 held-out slates (n), M 5 random orders of each, B 8, seed 7",
        "| quality served (nDCG@10, canonical order) | 0.6123 |",
        "| tau-PSI (0 = no order moves a pair) | 0.0500 |",
        "| overlap of the sets above the 80% quantile | 0.9000 |",
        "| score spread within a slate | 0.2000 |",
        "| order sd over it | undefined |",
        "| missing scores | 3 |",
        "## Intended use",
        "## Limits",
        'open_scorer("hf:org/base@v1+path/to/this/folder")',
        'PeftModel.from_pretrained(base, "path/to/this/folder")',
        'AutoModelForCausalLM.from_pretrained("org/base")',
    ):
        assert fact in text, fact


def test_nothing_is_made_up():
    record = copy.deepcopy(RECORD)
    record["base"] = {"name": "smollm2-135m", "revision": "r", "dtype": "float32"}
    record["measures"], record["measured_on"] = None, {}
    record["training"]["labels"] = {}
    record["training"]["settings"]["data"] = []
    text = card(record)
    assert "licence of the base: unknown, check" in text
    assert "Nothing: the training looked at no held-out slates." in text
    assert "Labels: not stated." in text
    assert "Sources and their licences: not stated." in text
    assert "base_model" not in text
    assert "| measure |" not in text


def test_weights_and_merged_adapters_are_opened_as_folders():
    full = {**RECORD, "training": {**RECORD["training"],
            "settings": asdict(replace(SETTINGS, weights=Weights(method="full")))}}  # fmt: skip
    for record in (full, {**RECORD, "merged": {"from": "hf:org/base"}}):
        text = card(record)
        assert 'open_scorer("hf:path/to/this/folder")' in text
        assert "PeftModel" not in text
        assert "library_name: transformers" in text
        assert "Weights of a model" in text


def test_a_threshold_stands_with_how_it_was_tuned():
    text = card({**RECORD, "threshold": 0.37, "threshold_tuned": "two folds of 40 slates"})
    assert "threshold: 0.37 (two folds of 40 slates)" in text
