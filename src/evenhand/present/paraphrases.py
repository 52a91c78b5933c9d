"""Other wordings of every rubric, as data: same grades, same meaning.

By name of the rubric, one (system, task, levels) a wording, levels lowest first.
What the query and the candidates are called stays.
"""

from __future__ import annotations

Wording = tuple[str, str, tuple[str, str, str, str]]

PARAPHRASES: dict[str, tuple[Wording, ...]] = {
    "relevance": (
        (
            "Your job is to say how good each passage is as an answer to a search query. Every "
            "passage gets a single integer between 0 and 3, independent of the others. Give no "
            "ranking and no reasons.",
            "Say how well each passage serves the query.",
            (
                "of no use for the query",
                "related to the subject, only background or thin information",
                "a good answer in part, something is missing",
                "a direct and full answer",
            ),
        ),
        (
            "Assess passages that were found for a query. For each of them state one grade, 0, 1, "
            "2 or 3, looking at that passage alone. Neither order nor comment on them.",
            "State the grade of every passage for this query.",
            (
                "does not help with the query",
                "is about the topic but gives little that helps",
                "helps to a good extent, with gaps",
                "gives the complete answer outright",
            ),
        ),
        (
            "A person typed a query and got passages. Mark each passage with a whole number, 3 at "
            "best and 0 at worst, by what it is worth to that person. Judge each by itself; no "
            "ranking, no explanation.",
            "Mark each passage by its worth for the query.",
            (
                "worthless to someone who asks this",
                "somewhat on topic, weak or general",
                "answers much of it, though not all",
                "answers it fully and to the point",
            ),
        ),
    ),
    "answer_support": (
        (
            "Your job is to say how far each paragraph helps to find the answer to a question. "
            "Every paragraph gets a single integer between 0 and 3, independent of the others. "
            "Give no ranking and no reasons.",
            "Say how far each paragraph supports the correct answer.",
            (
                "does not support any answer",
                "mentions something from the question, supports nothing on its own",
                "supports one of the steps that the answer needs",
                "gives the answer or the fact that decides it",
            ),
        ),
        (
            "Assess paragraphs that may serve as evidence for a question. For each of them state "
            "one grade, 0, 1, 2 or 3, looking at that paragraph alone. Neither order nor comment "
            "on them.",
            "State the grade of every paragraph as evidence for the right answer.",
            (
                "no evidence at all",
                "touches a name or thing of the question, no evidence alone",
                "evidence for a step on the way to the answer",
                "contains the answer or the deciding fact",
            ),
        ),
        (
            "Someone has to answer a question from paragraphs. Mark each paragraph with a whole "
            "number, 3 at best and 0 at worst, by the support it lends. Judge each by itself; no "
            "ranking, no explanation.",
            "Mark each paragraph by how much it supports the right answer.",
            (
                "lends no support",
                "shares a subject with the question, too little by itself",
                "lends support to a necessary step",
                "says the answer or what settles it",
            ),
        ),
    ),
    "response_quality": (
        (
            "Your job is to say how good each response to a user's request is. Every response gets "
            "a single integer between 0 and 3, independent of the others. Give no ranking and no "
            "reasons.",
            "Say how correct and helpful each response is.",
            (
                "incorrect, harmful or off the request",
                "correct in part, with grave faults",
                "mostly correct, with minor faults",
                "correct, complete and clearly put",
            ),
        ),
        (
            "Assess what was replied to a request. For each response state one grade, 0, 1, 2 or "
            "3, looking at that response alone. Neither order nor comment on them.",
            "State the grade of every response, by correctness and help.",
            (
                "wrong, does harm or misses the request",
                "some of it right, serious faults",
                "right in the main, small faults",
                "right throughout, complete, clear",
            ),
        ),
        (
            "A user asked for something and got responses. Mark each response with a whole number, "
            "3 at best and 0 at worst, by how right and useful it is. Judge each by itself; no "
            "ranking, no explanation.",
            "Mark each response by how right and useful it is.",
            (
                "useless: wrong, harmful or about something else",
                "partly right, badly flawed",
                "largely right, slightly flawed",
                "fully right, complete and easy to follow",
            ),
        ),
    ),
    "counter_argument": (
        (
            "Your job is to say how well each passage replies to an argument. Every passage gets a "
            "single integer between 0 and 3, independent of the others. Give no ranking and no "
            "reasons.",
            "Say how well each passage argues against the argument.",
            (
                "has no bearing on the argument",
                "is on the same subject without opposing it",
                "opposes some part of the argument",
                "directly opposes the main point of the argument",
            ),
        ),
        (
            "Assess passages as answers to an argument. For each of them state one grade, 0, 1, 2 "
            "or 3, looking at that passage alone. Neither order nor comment on them.",
            "State the grade of every passage as a counter to the argument.",
            (
                "unrelated to the argument",
                "related by subject, does not counter",
                "counters part of what is argued",
                "counters what is mainly argued, head on",
            ),
        ),
        (
            "Someone put forward an argument and wants replies to it. Mark each passage with a "
            "whole number, 3 at best and 0 at worst, by how well it rebuts. Judge each by itself; "
            "no ranking, no explanation.",
            "Mark each passage by how well it rebuts the argument.",
            (
                "beside the argument",
                "about the same matter, rebuts nothing",
                "rebuts the argument in part",
                "rebuts the core of the argument directly",
            ),
        ),
    ),
}
