"""The fixed texts of a prompt, as data; their hash travels with every run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evenhand.present.paraphrases import PARAPHRASES


@dataclass(frozen=True, slots=True)
class Rubric:
    """What is asked of the scorer.

    Attributes:
        system: the instruction that opens the prompt.
        query: what the query is called in the prompt.
        candidate: what the candidates are called, plural.
        task: the sentence that asks for the grades.
        levels: meaning of each grade, lowest grade first.
    """

    system: str
    query: str
    candidate: str
    task: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Wording of the answer form.

    Attributes:
        header: line above the answer lines.
        line: one answer line; holds {marker} and {grade}, the grade last.
    """

    header: str
    line: str


_RUBRICS: dict[str, Rubric] = {
    "relevance": Rubric(
        system=(
            "You judge how well passages answer a search query. Give every passage one whole "
            "number from 0 to 3, each on its own merit. Do not rank and do not explain."
        ),
        query="Query",
        candidate="Passages",
        task="Grade each passage for the query.",
        levels=(
            "useless for the query",
            "touches the subject, gives weak or background information",
            "answers in good part, but not completely",
            "answers directly and completely",
        ),
    ),
    "answer_support": Rubric(
        system=(
            "You judge how much paragraphs help to answer a question. Give every paragraph one "
            "whole number from 0 to 3, each on its own merit. Do not rank and do not explain."
        ),
        query="Question",
        candidate="Paragraphs",
        task="Grade each paragraph by the support it gives to the right answer.",
        levels=(
            "no support for any answer",
            "names something of the question, no support by itself",
            "supports a needed step of the answer",
            "states the answer or the decisive fact",
        ),
    ),
    "response_quality": Rubric(
        system=(
            "You judge responses to a user's request. Give every response one whole number from "
            "0 to 3, each on its own merit. Do not rank and do not explain."
        ),
        query="Request",
        candidate="Responses",
        task="Grade each response for correctness and helpfulness.",
        levels=(
            "wrong, harmful or beside the request",
            "partly right, with serious faults",
            "right for the most part, with small faults",
            "right, complete and clear",
        ),
    ),
    "counter_argument": Rubric(
        system=(
            "You judge passages as replies to an argument. Give every passage one whole number "
            "from 0 to 3, each on its own merit. Do not rank and do not explain."
        ),
        query="Argument",
        candidate="Passages",
        task="Grade each passage by how well it counters the argument.",
        levels=(
            "does not bear on the argument",
            "same subject, no counter to it",
            "counters a part of the argument",
            "counters the argument's main point directly",
        ),
    ),
}

FORM = "Answer in this form, one line each, in the order shown:"


def _worded(name: str) -> dict[str, Rubric]:
    """Return a rubric and its paraphrases; the second wording of "x" is "x/2"."""
    forms = {name: _RUBRICS[name]}
    for number, (system, task, levels) in enumerate(PARAPHRASES.get(name, ()), start=2):
        forms[f"{name}/{number}"] = replace(_RUBRICS[name], system=system, task=task, levels=levels)
    return forms


RUBRICS: dict[str, Rubric] = {
    form: rubric for name in _RUBRICS for form, rubric in _worded(name).items()
}


def wordings(rubric: str) -> tuple[str, ...]:
    """Return the names of all wordings of a rubric, itself included: "x", "x/2", ..."""
    name = rubric.partition("/")[0]
    return tuple(form for form in RUBRICS if form.partition("/")[0] == name)


SKELETONS: dict[str, Skeleton] = {
    "grade": Skeleton(header="Grades:", line="{marker} Grade: {grade}"),
    "score": Skeleton(header="Scores:", line="{marker} Score: {grade}"),
    "bare": Skeleton(header="Answer:", line="{marker}: {grade}"),
}
