"""The bundled slates keep every promise that their datasheet makes."""

import json
import re
from collections import Counter
from importlib import resources
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

import evenhand.data.demo
from evenhand.data.demo import demo_slates
from evenhand.errors import UsageError
from evenhand.types import slate_to_dict

SLATES = demo_slates()
CANDIDATES = [candidate for slate in SLATES for candidate in slate.candidates]
SLATE_IDS = [slate.id for slate in SLATES]

# Every candidate holds one of the words of its language.
FUNCTION_WORDS = {
    "en": {"the", "a", "an", "and", "to", "of", "in", "on", "by", "that", "have"},
    "de": {"der", "die", "das", "den", "dem", "des", "und", "mit", "ein", "eine", "einen", "man"},
    "es": {"el", "la", "los", "las", "de", "del", "en", "que", "por", "una", "se"},
    "fr": {"le", "la", "les", "de", "du", "un", "une", "et", "ou", "dans", "en", "si"},
}
NOT_ENGLISH = {"demo-04": "de", "demo-09": "es", "demo-29": "fr"}


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def jaccard(one, other):
    a, b = words(one), words(other)
    return len(a & b) / len(a | b)


def near_duplicates(slate):
    pairs = combinations(slate.candidates, 2)
    return [(a, b) for a, b in pairs if jaccard(a.text, b.text) > 0.6]


def overlaps(slate):
    return np.array([len(words(slate.query) & words(c.text)) for c in slate.candidates])


def datasheet():
    return resources.files(evenhand.data.demo).joinpath("DATASHEET.md").read_text(encoding="utf-8")


def test_at_least_26_slates_of_12():
    assert len(SLATES) >= 26
    assert {len(slate) for slate in SLATES} == {12}


def test_file_is_plain_json_lines_and_round_trips():
    raw = resources.files(evenhand.data.demo).joinpath("slates.jsonl").read_bytes()
    assert raw.endswith(b"}\n")
    assert b"\r" not in raw
    assert not raw.startswith(b"\xef\xbb\xbf")
    records = [json.loads(line) for line in raw.decode("utf-8").split("\n")[:-1]]
    assert len(records) == len(SLATES)
    for record, slate in zip(records, SLATES, strict=True):
        grades = {entry["id"]: entry.pop("grade") for entry in record["candidates"]}
        assert slate_to_dict(slate) == {**record, "grades": grades}


def test_ids_texts_and_queries_are_unique_across_the_set():
    for values in (
        SLATE_IDS,
        [slate.query for slate in SLATES],
        [candidate.id for candidate in CANDIDATES],
        [candidate.text for candidate in CANDIDATES],
    ):
        assert [value for value, count in Counter(values).items() if count > 1] == []


def test_candidate_ids_follow_the_canonical_order():
    for slate in SLATES:
        assert slate.ids == tuple(f"{slate.id}-c{place:02d}" for place in range(1, 13))


def test_every_text_has_15_to_35_words():
    assert {c.id: c.text for c in CANDIDATES if not 15 <= len(c.text.split()) <= 35} == {}


def test_texts_are_tidy_single_lines():
    texts = [candidate.text for candidate in CANDIDATES] + [slate.query for slate in SLATES]
    assert [text for text in texts if text != " ".join(text.split())] == []
    assert [c.text for c in CANDIDATES if not c.text.endswith((".", "?"))] == []


@pytest.mark.parametrize("slate", SLATES, ids=SLATE_IDS)
def test_grade_spread(slate):
    assert slate.grades is not None
    assert set(slate.grades) == set(slate.ids)
    count = Counter(slate.grades.values())
    assert set(count) == {0, 1, 2, 3}
    assert count[1] >= 2
    assert count[0] >= 3


def test_jaccard_by_hand():
    pair = [c.text for c in SLATES[22].candidates if c.text.startswith("Bond prices")]
    # 18 distinct words each; "fall", "well" against "drop", "too": 16 shared, 20 in all.
    assert jaccard(*pair) == pytest.approx(16 / 20)


def test_every_slate_has_near_duplicates_of_one_grade():
    for slate in SLATES:
        pairs = near_duplicates(slate)
        assert pairs, slate.id
        assert all(slate.grades[a.id] == slate.grades[b.id] for a, b in pairs), slate.id


def test_most_slates_have_a_confusable_negative():
    def confusable(slate):
        overlap, grade = overlaps(slate), slate.gains()
        return overlap[grade == 0].max() >= overlap[grade == 3].max()

    assert np.mean([confusable(slate) for slate in SLATES]) > 0.8


def test_non_english_slates_are_the_named_ones():
    for slate in SLATES:
        language = NOT_ENGLISH.get(slate.id)
        for candidate in slate.candidates:
            held = words(candidate.text)
            if language is None:
                assert held & FUNCTION_WORDS["en"], candidate.id
            else:
                assert held & FUNCTION_WORDS[language], candidate.id
                assert not held & {"the", "of", "and"}, candidate.id


def test_one_of_the_first_six_is_not_english():
    assert NOT_ENGLISH.keys() & {slate.id for slate in demo_slates(6)}


def test_canonical_order_does_not_carry_the_grade():
    places = np.arange(12)
    by_grade = [spearmanr(slate.gains(), places).statistic for slate in SLATES]
    assert -0.5 <= np.mean(by_grade) <= 0.5
    assert all(np.any(np.diff(slate.gains()) > 0) for slate in SLATES)
    first = [slate.gains()[0] for slate in SLATES]
    assert 0 < np.mean(np.equal(first, 3)) < 0.5
    assert np.mean(np.equal(first, 0)) > 0.25


def test_canonical_order_leans_on_word_overlap():
    places = np.arange(12)
    by_overlap = [spearmanr(overlaps(slate), places).statistic for slate in SLATES]
    assert -0.7 < np.mean(by_overlap) < -0.2


def test_limit_takes_the_first_slates():
    assert [slate.id for slate in demo_slates(2)] == ["demo-01", "demo-02"]
    assert demo_slates(len(SLATES)) == SLATES


@pytest.mark.parametrize("limit", [0, -1, len(SLATES) + 1, True, 2.0, "3"])
def test_limit_out_of_range_is_refused(limit):
    with pytest.raises(UsageError, match=rf"from 1 to {len(SLATES)}"):
        demo_slates(limit)


def test_a_changed_list_does_not_reach_the_next_caller():
    demo_slates().clear()
    assert len(demo_slates()) == len(SLATES)


def test_datasheet_states_the_counts():
    rows = re.findall(r"^\| ([A-Za-z0-9 -]+?) \| (\d+) \|$", datasheet(), re.M)
    lengths = [len(candidate.text.split()) for candidate in CANDIDATES]
    grades = Counter(grade for slate in SLATES for grade in slate.grades.values())
    assert {name: int(count) for name, count in rows} == {
        "slates": len(SLATES),
        "candidates": len(CANDIDATES),
        "candidates per slate": 12,
        "words": sum(lengths),
        "fewest words in a candidate": min(lengths),
        "most words in a candidate": max(lengths),
        "grade 3": grades[3],
        "grade 2": grades[2],
        "grade 1": grades[1],
        "grade 0": grades[0],
        "near-duplicate pairs": sum(len(near_duplicates(slate)) for slate in SLATES),
        "slates not in English": len(NOT_ENGLISH),
    }


@pytest.mark.parametrize("slate", SLATES, ids=SLATE_IDS)
def test_datasheet_lists_the_slate(slate):
    assert f"| {slate.id} | {slate.query} |" in datasheet()
