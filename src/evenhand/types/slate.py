"""A slate and its candidates, and their JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from evenhand.errors import InputError, UsageError
from evenhand.types.arrays import FloatArray

# The evaluator keeps a place for every level up to the highest grade, so a huge one would hang it.
MAX_GRADE = 1000


def _require_id(value: object, what: str) -> None:
    if not isinstance(value, str) or not value:
        raise InputError(f"{what} must be a non-empty string, got {value!r}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{what} {value!r} holds a lone surrogate; ids must be valid text") from None


def _require_text(value: object, what: str) -> None:
    if not isinstance(value, str):
        raise InputError(f"{what} must be a string, got {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing to be scored: a passage, a paragraph, a response."""

    id: str
    text: str
    title: str = ""

    def __post_init__(self) -> None:
        _require_id(self.id, "candidate id")
        _require_text(self.text, f"text of candidate {self.id!r}")
        _require_text(self.title, f"title of candidate {self.id!r}")

    @property
    def full_text(self) -> str:
        """Title and text as every scorer, first stage and report shows them: "title: text"."""
        return f"{self.title}: {self.text}" if self.title.strip() else self.text


@dataclass(frozen=True, slots=True)
class Slate:
    """A query and its candidates in canonical (first-stage) order.

    Attributes:
        grades: integer grade by candidate id, at most `MAX_GRADE` either way, or None
            where nothing is judged.
            It may name judged candidates that the first stage missed: they
            count in the ideal ranking. Candidates without an entry are unjudged.
        answers: gold answer and its aliases, or empty.
        verdict: gold verdict, or None.
    """

    id: str
    query: str
    candidates: tuple[Candidate, ...]
    grades: Mapping[str, int] | None = field(default=None, hash=False)
    answers: tuple[str, ...] = ()
    verdict: str | None = None

    def __post_init__(self) -> None:
        _require_id(self.id, "slate id")
        _require_text(self.query, f"query of slate {self.id!r}")
        object.__setattr__(self, "candidates", tuple(self.candidates))
        if isinstance(self.answers, str):
            raise InputError(f"answers of slate {self.id!r} must be a list of strings, got a string")
        object.__setattr__(self, "answers", tuple(self.answers))
        for answer in self.answers:
            _require_text(answer, f"an answer of slate {self.id!r}")
        if self.verdict is not None:
            _require_text(self.verdict, f"verdict of slate {self.id!r}")
        seen: set[str] = set()
        for candidate in self.candidates:
            if not isinstance(candidate, Candidate):
                raise InputError(f"slate {self.id!r}: {candidate!r} is not a Candidate")
            if candidate.id in seen:
                raise InputError(
                    f"slate {self.id!r} holds candidate id {candidate.id!r} twice; ids must be unique"
                )
            seen.add(candidate.id)
        if self.grades is not None:
            object.__setattr__(self, "grades", MappingProxyType(self._checked_grades(self.grades)))

    def _checked_grades(self, grades: Mapping[str, int]) -> dict[str, int]:
        checked = {}
        for key, grade in grades.items():
            _require_id(key, f"slate {self.id!r}: graded candidate id")
            if isinstance(grade, bool) or not isinstance(grade, (int, np.integer)):
                raise InputError(
                    f"slate {self.id!r}: grade of {key!r} must be an integer, got {grade!r}"
                )
            if abs(int(grade)) > MAX_GRADE:
                raise InputError(
                    f"slate {self.id!r}: grade of {key!r} is {grade}; grades go from {-MAX_GRADE} to "
                    f"{MAX_GRADE}. Number the levels of relevance from 0"
                )
            checked[key] = int(grade)
        return checked

    def __len__(self) -> int:
        return len(self.candidates)

    def __reduce__(self) -> tuple[Any, ...]:
        grades = None if self.grades is None else dict(self.grades)
        fields = (self.id, self.query, self.candidates, grades, self.answers, self.verdict)
        return (Slate, fields)

    @property
    def ids(self) -> tuple[str, ...]:
        """Candidate ids in canonical order."""
        return tuple(candidate.id for candidate in self.candidates)

    def gains(self) -> FloatArray:
        """Return the (n,) grades of the candidates; unjudged and negative are 0.

        Raises:
            UsageError: the slate has no grades.
        """
        if self.grades is None:
            raise UsageError(f"slate {self.id!r} has no grades; quality needs them")
        return np.array([max(0, self.grades.get(key, 0)) for key in self.ids], dtype=np.float64)


def slate_to_dict(slate: Slate) -> dict[str, Any]:
    """Return the JSON form of a slate, the one `slate_from_dict` reads."""
    record: dict[str, Any] = {"id": slate.id, "query": slate.query, "candidates": []}
    for candidate in slate.candidates:
        entry = {"id": candidate.id, "text": candidate.text}
        if candidate.title:
            entry["title"] = candidate.title
        record["candidates"].append(entry)
    if slate.grades is not None:
        record["grades"] = dict(slate.grades)
    if slate.answers:
        record["answers"] = list(slate.answers)
    if slate.verdict is not None:
        record["verdict"] = slate.verdict
    return record


def _reject_unknown(record: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    unknown = sorted(set(record) - set(known))
    if unknown:
        raise InputError(f"{what}: unknown keys {unknown}; known are {sorted(known)}")


def slate_from_dict(record: Any) -> Slate:
    """Build a slate from its JSON form.

    Keys: id, query, candidates [{id, text, title?, grade?}], grades?, answers?,
    verdict?. A grade may stand at its candidate or in `grades`, not in both.

    Raises:
        InputError: a key is missing, unknown or of the wrong type.
    """
    if not isinstance(record, Mapping):
        raise InputError(f"a slate must be a JSON object, got {type(record).__name__}")
    _reject_unknown(record, ("id", "query", "candidates", "grades", "answers", "verdict"), "slate")
    for key in ("id", "query", "candidates"):
        if key not in record:
            raise InputError(f"slate without {key!r}; it needs id, query and candidates")
    if not isinstance(record["candidates"], Sequence) or isinstance(record["candidates"], str):
        raise InputError(f"slate {record['id']!r}: candidates must be a list")
    grades = record.get("grades")
    if grades is not None and not isinstance(grades, Mapping):
        raise InputError(f"slate {record['id']!r}: grades must be an object of id to integer")
    grades = None if grades is None else dict(grades)
    candidates = []
    for entry in record["candidates"]:
        if not isinstance(entry, Mapping):
            raise InputError(f"slate {record['id']!r}: a candidate must be an object, got {entry!r}")
        _reject_unknown(entry, ("id", "text", "title", "grade"), f"candidate of slate {record['id']!r}")
        for key in ("id", "text"):
            if key not in entry:
                raise InputError(f"slate {record['id']!r}: candidate {entry!r} without {key!r}")
        candidates.append(Candidate(entry["id"], entry["text"], entry.get("title", "")))
        if entry.get("grade") is not None:
            grades = {} if grades is None else grades
            if entry["id"] in grades:
                raise InputError(f"slate {record['id']!r}: two grades for candidate {entry['id']!r}")
            grades[entry["id"]] = entry["grade"]
    answers = () if record.get("answers") is None else record["answers"]
    if isinstance(answers, str) or not isinstance(answers, Sequence):
        raise InputError(f"slate {record['id']!r}: answers must be a list of strings")
    return Slate(
        record["id"], record["query"], tuple(candidates), grades, tuple(answers), record.get("verdict")
    )
