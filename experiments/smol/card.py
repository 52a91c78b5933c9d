"""The model card of a shipped scorer, from what its scorer.json says."""

from __future__ import annotations

ARMS = {
    "single": "single-order: every slate in its canonical windows, each shown once",
    "across": "OC-SFT with companion mixing: two views of a slate, re-cut into other windows, whose "
    "scores are drawn together (lambda {value})",
    "within": "OC-SFT: two orders of each window, whose scores are drawn together (lambda {value})",
}
DATA = """\
| data | licence |
|---|---|
| MedQuAD questions and answers | CC BY 4.0 |
| Natural Questions (oracle passages) | CC BY-SA |
| SelQA | Apache-2.0 |
| XQuAD, English | CC BY-SA 4.0 |"""
MEASURES = (("served", "nDCG@10 served"), ("shuffled", "shuffled"), ("psi", "tau-PSI"),
            ("overlap", "overlap, 80% quantile"), ("residual", "order sd over spread"))  # fmt: skip


def card(name: str, record: dict, note: str = "") -> str:
    """The card as Markdown; `note` opens it."""
    parts = [head(name, record, note), training(record), form(record), measured(record), limits(name)]
    return "\n\n".join(parts) + "\n"


def head(name: str, record: dict, note: str) -> str:
    base, kept = record["base"], record["difference"]
    moved = kept["fidelity"]
    lines = ["---", "license: apache-2.0", "base_model: HuggingFaceTB/SmolLM2-135M-Instruct",
             "pipeline_tag: text-classification", "tags: [evenhand, reranking, llm-as-a-judge]", "---",
             "", f"# {name}", ""]  # fmt: skip
    lines += [note, ""] if note else []
    return "\n".join([
        *lines,
        f"A grader of passages in windows, kept as a difference to {base['name']} (licence "
        f"{base['licence']}), which evenhand fetches: `evenhand audit slates.jsonl --scorer {name}`, "
        f'or `evenhand.open_scorer("{name}")`.',
        "",
        f"- base: {base['name']}, revision {base['revision']}",
        f"- difference: rank {kept['rank']}, {kept['dtype']} with float16 scales by rank, "
        f"{kept['bytes']:,} bytes",
        f"- what int8 changes: {moved['scores']} scores of {moved['slates']} bundled slates move by "
        f"{moved['mean']:.5f} on average and {moved['largest']:.5f} at most (scores are in [0, 1])",
        "- built by `experiments/smol/build.py`; how to build it from nothing stands beside it",
    ])  # fmt: skip


def training(record: dict) -> str:
    said = record["training"]
    if not said:
        return "## Training\n\nNot stated."
    kind, _, value = said["arm"].partition("-")
    what = ARMS.get(kind, said["arm"]).format(value=value)
    steps = [
        "1. A grader was taught: all weights of the base, on questions and pseudo-queries of the texts "
        "below, labels from the cosine of a bi-encoder (all-MiniLM-L6-v2) and gold; every window was "
        "shown once, in a random order.",
        "2. What that changed was cut to a low rank.",
    ]
    if kind != "stage1":
        steps.append(adapted(said, what))
    seen = "No query, run or grade of the collections below was seen, nor any of their texts."
    return "\n".join(["## Training", "", *steps, "", seen, "", DATA])


def adapted(said: dict, what: str) -> str:
    orders = "one random order" if said["orders"] == 1 else f"{said['orders']} random orders"
    return (
        f"3. A LoRA adapter of rank {said['rank']} was trained on the cut, {said['steps']} steps, "
        f"labels of the uncut grader under {orders} of each slate: {what}."
    )


def form(record: dict) -> str:
    surface, rubric = record["surface"], record["rubric"]
    levels = [f"  - {grade}: {text}" for grade, text in enumerate(rubric["levels"])]
    return "\n".join([
        "## Prompt",
        "",
        "Scores hold for prompts of this form, which `scorer.json` keeps and evenhand uses:",
        "",
        f"- rubric {surface['rubric']}: {rubric['task']}",
        *levels,
        f"- markers {surface['markers']} before and after each candidate, skeleton "
        f"{surface['skeleton']}, query {surface['query']} the candidates",
        f"- B {record['width']} candidates a window at most, each cut at "
        f"{record['max_candidate_tokens']} tokens",
        "- threshold: none; it is fitted on scores of your own slates",
    ])  # fmt: skip


def measured(record: dict) -> str:
    if not record["measures"]:
        return "## Measured\n\nNothing yet."
    alone = (record["training"] or {}).get("arm") == "stage1"
    rounding = "the cut and the rounding to int8" if alone else "the rounding to int8"
    lines = [
        "## Measured",
        "",
        f"Before {rounding}: BM25's top 100, B = 10, means over slates, M = 10 random orders.",
        "",
        f"| collection | slates | {' | '.join(title for _, title in MEASURES)} |",
        "|---" * (2 + len(MEASURES)) + "|",
    ]
    for name, one in record["measures"].items():
        cells = " | ".join(f"{one[key]:.3f}" for key, _ in MEASURES)
        lines.append(f"| {name} | {one['slates']} | {cells} |")
    return "\n".join(lines)


def limits(name: str) -> str:
    twin = "It is the twin of `evenhand-smol`, to compare with." if name.endswith("-single") else ""
    return "\n".join([
        "## Intended use",
        "",
        "A first, free scorer to try evenhand with, and research on how scores depend on "
        f"presentation. {twin}".rstrip(),
        "",
        "## Limits",
        "",
        "- A model of 135 M parameters: larger rerankers rank better. Stable scores need not be right.",
        "- English passages and questions; other languages, rubrics and long texts are unknown ground.",
        "- Scores are on a scale of their own: a threshold of another scorer means nothing here.",
        "- Not for decisions about people without somebody who checks them.",
    ])  # fmt: skip
