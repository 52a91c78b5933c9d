"""The model card of a trained scorer, written from what `scorer.json` says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.train.licence import UNKNOWN

CARD = "README.md"
_MEASURES = (
    ("served", "quality served ({measure}, canonical order)"),
    ("shuffled", "quality shuffled ({measure}, mean over random orders)"),
    ("psi", "tau-PSI (0 = no order moves a pair)"),
    ("overlap", "overlap of the sets above the 80% quantile"),
    ("spread", "score spread within a slate"),
    ("residual", "order sd over it"),
    ("missing", "missing scores"),
)


def card(record: Mapping[str, Any]) -> str:
    """Return the card of a scorer as Markdown.

    Args:
        record: what `scorer.json` holds. A "merged" in it says that the adapter is part of
            the weights.
    """
    parts = [_head(record), _form(record), _data(record), _measured(record), _use(), _loading(record)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _is_adapter(record: Mapping[str, Any]) -> bool:
    return record["training"]["settings"]["weights"]["method"] == "lora" and not record.get("merged")


def _head(record: Mapping[str, Any]) -> list[str]:
    base, adapter = record["base"], _is_adapter(record)
    settings, version = record["training"]["settings"], record["evenhand"]
    what = "A PEFT adapter" if adapter else "Weights of a model"
    name = str(base["name"]).removeprefix("hf:").partition("+")[0].partition("@")[0]
    front = ["---", f"library_name: {'peft' if adapter else 'transformers'}"]
    if "/" in name:
        front.append(f"base_model: {name}")
    return [
        *front,
        "pipeline_tag: text-classification",
        "tags: [evenhand, reranking, llm-as-a-judge]",
        "---",
        "",
        f"# A scorer on {base['name']}",
        "",
        f"{what} that grades candidates in windows, trained with evenhand {version} to give a "
        "candidate the same score however it is shown.",
        "",
        f"- base: {base['name']}, revision {base['revision']}",
        f"- licence of the base: {base.get('licence', UNKNOWN)}",
        f"- training: {_objective(settings)}; {record['training']['steps']} steps of "
        f"{settings['run']['windows']} windows, seed {settings['run']['seed']}",
    ]


def _objective(settings: Mapping[str, Any]) -> str:
    views, objective = settings["views"], settings["objective"]
    said = [f"{views['count']} view{'s' * (views['count'] != 1)} of a slate, {views['mix']}"]
    said += [f"label on {objective['anchor']}"]
    said += [f"{name} {objective[name]:g}" for name in ("consistency", "jaccard") if objective[name]]
    said += [f"consistency of {name} {weight:g}" for name, weight in objective["channels"]]
    return ", ".join(said)


def _form(record: Mapping[str, Any]) -> list[str]:
    surface, rubric = record["surface"], record["rubric"]
    levels = [f"  - {grade}: {text}" for grade, text in enumerate(rubric["levels"])]
    return [
        "## Prompt",
        "",
        "Scores hold for prompts of this form, which `scorer.json` keeps:",
        "",
        f"- rubric {surface['rubric']}: {rubric['task']}",
        *levels,
        f"- markers {surface['markers']}, skeleton {surface['skeleton']}, query {surface['query']} the "
        "candidates",
        f"- visibility {surface['visibility']}",
        f"- B {record['width']} candidates a window at most, each cut at "
        f"{record['max_candidate_tokens']} tokens",
        f"- threshold: {_threshold(record)}",
    ]


def _threshold(record: Mapping[str, Any]) -> str:
    if record.get("threshold") is None:
        return "none; it belongs to one scorer and one task, and is fitted on scores of your own slates"
    return (
        f"{record['threshold']} ({record.get('threshold_tuned') or 'how it was tuned is not stated'})"
    )


def _data(record: Mapping[str, Any]) -> list[str]:
    training = record["training"]
    labels: Mapping[str, Any] = training.get("labels") or {}
    teacher = (labels.get("teacher") or {}).get("name", "not stated")
    orders = ", ".join(map(str, labels.get("orders", ())))
    said = f"Labels: {teacher}" + (f", mean over {orders} orders of a slate" if orders else "") + "."
    sources: Sequence[Mapping[str, Any]] = training["settings"].get("data", ())
    if not sources:
        return ["## Data", "", said, "", "Sources and their licences: not stated."]
    rows = [
        f"| {_cell(one['name'])} | {_cell(one['licence'] or 'not stated')} | "
        f"{_cell(one['source'] or 'not stated')} |"
        for one in sources
    ]
    return ["## Data", "", said, "", "| data | licence | source |", "|---|---|---|", *rows]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _measured(record: Mapping[str, Any]) -> list[str]:
    measures, looked = record.get("measures"), record.get("measured_on") or {}
    if not measures:
        return ["## Measured", "", "Nothing: the training looked at no held-out slates."]
    slates, m, b, seed = (looked.get(name, "?") for name in ("slates", "rows", "width", "seed"))
    said = (
        f"On {slates} held-out slates (n), M {m} random orders of each, B {b}, seed {seed}, at the end "
        "of the training:"
    )
    quality = looked.get("measure", "quality")
    rows = [
        f"| {title.format(measure=quality)} | {_number(name, measures[name])} |"
        for name, title in _MEASURES
        if name in measures
    ]
    after = (
        "Means over slates. Where trainings were chosen by these slates, others look worse. "
        "`evenhand audit` gives intervals and the noise floor on slates of your own."
    )
    return ["## Measured", "", said, "", "| measure | mean |", "|---|---|", *rows, "", after]


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.0f}" if name == "missing" else f"{value:.4f}"


def _use() -> list[str]:
    return [
        "## Intended use",
        "",
        "Grading and reranking candidates of one query, of the kind it was trained on, and research on "
        "how scores depend on presentation.",
        "",
        "## Limits",
        "",
        "- Stable scores are no correct scores: what moves with order is less, what is wrong stays.",
        "- Nothing is known of other rubrics, languages, markers, or windows wider than B.",
        "- Scores are on a scale of their own: a threshold of another scorer means nothing here.",
        "- Not for decisions about people without somebody who checks them.",
        "- The licences of the base and of the data hold for what is made with them.",
    ]


def _plain_name(base: str) -> str:
    name = base.removeprefix("hf:").partition("@")[0]
    return name if "/" in name else f"path/to/{name.removeprefix('gguf:')}"


def _loading(record: Mapping[str, Any]) -> list[str]:
    base = record["base"]["name"]
    if not _is_adapter(record):
        spec, plain = "hf:path/to/this/folder", [
            "from transformers import AutoModelForCausalLM, AutoTokenizer",
            "",
            'model = AutoModelForCausalLM.from_pretrained("path/to/this/folder")',
            'tokenizer = AutoTokenizer.from_pretrained("path/to/this/folder")',
        ]  # fmt: skip
    else:
        spec, plain = f"{base}+path/to/this/folder", [
            "from peft import PeftModel",
            "from transformers import AutoModelForCausalLM",
            "",
            f'base = AutoModelForCausalLM.from_pretrained("{_plain_name(base)}")',
            'model = PeftModel.from_pretrained(base, "path/to/this/folder")',
        ]  # fmt: skip
    return [
        "## Loading",
        "",
        "```python",
        "from evenhand.score import open_scorer",
        "",
        f'scorer = open_scorer("{spec}")',
        "```",
        "",
        "or without evenhand's prompts:" if not _is_adapter(record) else "or with PEFT alone:",
        "",
        "```python",
        *plain,
        "```",
    ]
