"""From the answers of a server to the scores of one window; no I/O.

A grade that is not told is missing, and so is the score it belongs to: no floor value
stands in for it, and every reason is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evenhand.present.texts import SKELETONS
from evenhand.score.prompt import GRADES
from evenhand.score.services.answers import (
    Likely,
    grade_probabilities,
    label_logprobs,
    next_token,
    prompt_token,
    text_of,
    usage_of,
)
from evenhand.score.services.asked import Asked, Mode
from evenhand.score.services.written import OTHER, parse_written
from evenhand.types import FloatArray, Scored, Shown

NO_ANSWER = "no answer"
OUT_OF_REACH = "not all grades among the most likely tokens"
NO_LOGPROBS = "no log-probabilities in the answer"
NO_TEXT = "no text in the answer"
NO_LINE = "no valid line in the answer"


class Answered(Protocol):
    """What came of one request: see `http.Answer`."""

    @property
    def body(self) -> Any | None:
        """The parsed answer, or None."""
        ...

    @property
    def failure(self) -> str | None:
        """Why there is none, or None."""
        ...

    @property
    def status(self) -> int | None:
        """HTTP status of the answer, or None when there was none."""
        ...


@dataclass(frozen=True, slots=True)
class WindowReading:
    """The scores of one window, by slot.

    Attributes:
        scores: (B,) in [0, 1]; NaN = missing.
        grades: (B, G) probabilities over the grades, None where grades are written.
        label_mass: (B,) probability of the grades in the full vocabulary, or None.
        missing: how many scores are missing, by reason.
        refused: lines of written answers that were refused, by reason.
        prompts, tokens: requests sent; tokens read and written, as the server counts
            them (those of the ids sent where it does not count).
    """

    scores: FloatArray
    grades: FloatArray | None
    label_mass: FloatArray | None
    missing: Mapping[str, int]
    refused: Mapping[str, int]
    prompts: int
    tokens: int

    @property
    def unread(self) -> dict[str, int]:
        """Which scores are missing in answers that came, by reason."""
        return {
            reason: count for reason, count in self.missing.items() if not reason.startswith(NO_ANSWER)
        }


def read_window(mode: Mode, asked: Asked, answers: Sequence[Answered]) -> WindowReading:
    """Return the scores of one window from the answers to its requests, in their order."""
    if mode == "written":
        return _written(asked, answers)
    size = len(asked.markers)
    values = np.full((size, len(GRADES) + 2), np.nan)
    missing: dict[str, int] = {}
    for slot in range(size):
        likely, reason = _likely(mode, asked, answers, slot)
        if likely is not None:
            grades, score, mass = grade_probabilities(label_logprobs(likely, asked.labels))
            values[slot] = (*grades, score, mass)
            reason = OUT_OF_REACH if np.isnan(score) else None
        if reason is not None:
            missing[reason] = missing.get(reason, 0) + 1
    return WindowReading(
        values[:, -2], values[:, :-2], values[:, -1], missing, {}, *_cost(asked, answers)
    )


def _likely(
    mode: Mode, asked: Asked, answers: Sequence[Answered], slot: int
) -> tuple[list[Likely] | None, str | None]:
    """Return the most likely tokens at a slot, or None and why there are none."""
    answer = answers[slot if mode == "next" else 0]
    if answer.body is None:
        return None, f"{NO_ANSWER}, {answer.failure}"
    if mode == "next":
        likely = next_token(answer.body)
    else:
        length = len(asked.bodies[0]["prompt"])
        likely = prompt_token(answer.body, length, asked.places[slot])
    return likely, NO_LOGPROBS if likely is None else None


def _written(asked: Asked, answers: Sequence[Answered]) -> WindowReading:
    """Read the one answer of a window in which the model wrote its grades."""
    [answer] = answers
    size, refused = len(asked.markers), {}
    scores = np.full(size, np.nan)
    text = text_of(answer.body)
    if answer.body is None:
        missing = {f"{NO_ANSWER}, {answer.failure}": size}
    elif text is None:
        missing = {NO_TEXT: size}
    else:
        found = parse_written(text, asked.markers, SKELETONS[asked.surface.skeleton])
        refused = found.refused
        grades = [np.nan if grade is None else grade for grade in found.grades]
        scores = np.array(grades, dtype=np.float64) / (len(GRADES) - 1)
        lacking = int(np.isnan(scores).sum())
        missing = {NO_LINE: lacking} if lacking else {}
    return WindowReading(scores, None, None, missing, refused, *_cost(asked, answers))


def _cost(asked: Asked, answers: Sequence[Answered]) -> tuple[int, int]:
    """Return the requests of a window and their tokens."""
    tokens = 0
    for body, answer in zip(asked.bodies, answers, strict=True):
        used = usage_of(answer.body)
        sent = body.get("prompt")
        known = len(sent) if isinstance(sent, list) and answer.body is not None else 0
        tokens += known if used is None else sum(used)
    return len(answers), tokens


def gather_windows(shown: Shown, asked: Sequence[Asked], readings: Sequence[WindowReading]) -> Scored:
    """Put the readings of one Shown's windows into canonical order; missing scores say why."""
    place = shown.presentation.to_canonical
    grades = [reading.grades for reading in readings if reading.grades is not None]
    masses = [reading.label_mass for reading in readings if reading.label_mass is not None]
    return Scored(
        scores=place([reading.scores for reading in readings]),
        grades=place(grades) if grades else None,
        label_mass=place(masses) if masses else None,
        prompts=sum(reading.prompts for reading in readings),
        tokens=sum(reading.tokens for reading in readings),
        truncated=place([np.array(one.truncated, dtype=np.int64) for one in asked]) if asked else None,
        escaped=place([np.array(one.escaped, dtype=np.int64) for one in asked]) if asked else None,
        failure=_failure(readings),
        # The same query in every window.
        query_escaped=max((one.query_escaped for one in asked), default=0),
    )


def _failure(readings: Sequence[WindowReading]) -> str | None:
    """Return why scores are missing and which lines were refused, or None.

    Words around a complete answer are no fault; a line that gave a wrong grade, or the
    grade of nobody, is told also where every score is there.
    """
    missing, refused = Counter[str](), Counter[str]()
    for reading in readings:
        missing.update(reading.missing)
        refused.update(reading.refused)
    if not missing:
        del refused[OTHER]
    size = sum(len(reading.scores) for reading in readings)
    told = []
    if missing:
        told.append(f"{missing.total()} of {size} scores are missing: {_listed(missing)}")
    if refused:
        told.append(f"lines refused: {_listed(refused)}")
    return "; ".join(told) or None


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} ({count})" for reason, count in sorted(counts.items()))
