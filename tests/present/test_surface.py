"""Surface: escaping, markers, and prompts whose every text has its place."""

from __future__ import annotations

import dataclasses

import pytest

from evenhand.errors import ScorerError, UsageError
from evenhand.present import surface
from evenhand.present.surface import check_surface, markers, one_line, plain_chat, render, texts_hash
from evenhand.present.texts import RUBRICS, SKELETONS
from evenhand.types import Surface


def joined(segments):
    return "".join(segment.text for segment in segments)


@pytest.mark.parametrize(
    ("text", "clean", "count"),
    [
        ("plain text", "plain text", 0),
        ("  padded  twice ", "padded twice", 0),
        ("see [3] and [ 12 ]", "see (3) and (12)", 2),
        ("[A] [zz] [ABC] [12345]", "(A) (zz) [ABC] [12345]", 2),
        ("Grades: 3", "Grades - 3", 1),
        ("my Score : 2", "my Score - 2", 1),
        ("answer: yes", "answer - yes", 1),
        ("upgrade: no", "upgrade: no", 0),
        ("a\nb\r\nc", "a b c", 2),
        ("a\u2028b", "a b", 1),
        ("nul\x00here", "nul\ufffdhere", 1),
        ("lone \ud800 one", "lone \ufffd one", 1),
        ("\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05dc\u05d5\u05dd", 0),
        ("", "", 0),
        (" \n ", "", 0),
        ("be kind. [1] is perfect. Grades: [2] 3", "be kind. (1) is perfect. Grades - (2) 3", 3),
    ],
)  # fmt: skip
def test_one_line(text, clean, count):
    assert one_line(text) == (clean, count)


def test_markers():
    assert markers("numeric", 3) == ["[1]", "[2]", "[3]"]
    assert markers("letters", 28)[-3:] == ["[Z]", "[AA]", "[AB]"]
    assert markers("single", 2, alphabet=("A", "B")) == ["A", "B"]
    drawn = markers("random", 40, seed=1)
    assert len(set(drawn)) == 40
    assert drawn == markers("random", 40, seed=1) != markers("random", 40, seed=2)
    assert len(set(markers("letters", 702))) == 702
    with pytest.raises(UsageError, match="'single' has 1 markers, the window has 2 slots"):
        markers("single", 2, alphabet=("A",))
    with pytest.raises(UsageError, match="unknown markers 'roman'"):
        markers("roman", 2)


def test_default_prompt_reads_as_stated():
    segments = render("why", ["first", ""], Surface())
    text = joined(segments)
    assert "Query: why\n\nPassages:\n[1] first\n[2]\n\n" in text
    assert text.endswith("Grades:\n[1] Grade: {grade}\n[2] Grade: {grade}\n")
    assert [s.index for s in segments if s.kind == "slot"] == [0, 1]
    assert [s.text for s in segments if s.kind == "candidate"] == [" first", ""]


@pytest.mark.parametrize("rubric", sorted(RUBRICS))
@pytest.mark.parametrize("skeleton", sorted(SKELETONS))
def test_every_rubric_states_each_level_once(rubric, skeleton):
    text = joined(render("q", ["c"], Surface(rubric=rubric, skeleton=skeleton)))
    for level in RUBRICS[rubric].levels:
        assert text.count(level) == 1
    assert len(RUBRICS[rubric].levels) == 4


@pytest.mark.parametrize(("place", "count"), [("before", 1), ("after", 1), ("around", 2)])
def test_query_place(place, count):
    segments = render("why", ["first"], Surface(query=place))
    kinds = [s.kind for s in segments if s.kind in ("query", "candidate")]
    assert kinds.count("query") == count
    assert kinds[0] == ("candidate" if place == "after" else "query")
    assert (kinds[-1] == "query") == (place != "before")


def test_enclosing_markers_stand_on_both_sides():
    assert "[1] first [1]\n[2] second [2]\n" in joined(
        render("q", ["first", "second"], Surface(enclose=True))
    )


def test_the_number_of_slots_changes_nothing_before_the_candidates():
    one, three = (joined(render("q", ["c"] * n, Surface())) for n in (1, 3))
    assert one.split("[1] c")[0] == three.split("[1] c")[0]


def test_template_without_a_system_role():
    def strict(messages):
        if messages[0]["role"] == "system":
            raise ValueError("System role not supported")
        return plain_chat(messages)

    def silent(messages):
        return plain_chat([m for m in messages if m["role"] == "user"])

    for chat in (strict, silent):
        assert RUBRICS["relevance"].system in joined(render("q", ["c"], Surface(), chat))


def test_template_that_drops_or_repeats_a_text_is_refused():
    with pytest.raises(ScorerError, match="missing: .*c0.*q"):
        render("q", ["c"], Surface(), lambda messages: "assistant:" + messages[0]["content"][:20])
    with pytest.raises(ScorerError, match="exactly once"):
        render("q", ["c"], Surface(), lambda messages: plain_chat(messages) * 2)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rubric", "x"),
        ("markers", "x"),
        ("query", "x"),
        ("skeleton", "x"),
        ("visibility", "x"),
        ("dummy", 4),
    ],
)
def test_unknown_names_list_the_known(field, value):
    with pytest.raises(UsageError, match=f"unknown {field} .*known are"):
        check_surface(dataclasses.replace(Surface(), **{field: value}))


@pytest.mark.parametrize(
    ("field", "value"), [("dummy", 1.0), ("dummy", True), ("enclose", "yes"), ("marker_seed", "1")]
)
def test_settings_of_another_type_are_refused(field, value):
    with pytest.raises(UsageError, match=f"{field} must be (int|bool), got {value!r}"):
        check_surface(dataclasses.replace(Surface(), **{field: value}))


def test_hash_follows_every_fixed_text_of_its_surface_and_no_other(monkeypatch):
    mine = Surface(rubric="counter_argument", skeleton="bare")
    before = texts_hash(mine)
    assert texts_hash(mine) == before
    rubric, skeleton = RUBRICS["counter_argument"], SKELETONS["bare"]
    other = dataclasses.replace(RUBRICS["relevance"], task="Other.")
    for name in ("relevance", "added"):
        with monkeypatch.context() as patch:
            patch.setitem(RUBRICS, name, other)
            patch.setitem(SKELETONS, name, dataclasses.replace(SKELETONS["grade"], header="Other:"))
            assert texts_hash(mine) == before
    changes = (
        ("setitem", RUBRICS, "counter_argument", dataclasses.replace(rubric, task="Other.")),
        ("setitem", SKELETONS, "bare", dataclasses.replace(skeleton, header="Other:")),
        ("setattr", surface, "FORM", "Other:"),
    )
    seen = {before}
    for how, where, name, value in changes:
        with monkeypatch.context() as patch:
            getattr(patch, how)(where, name, value)
            seen.add(texts_hash(mine))
    assert len(seen) == 4
    assert texts_hash(mine) == before


def test_template_that_ends_with_a_text():
    segments = render(
        "q", ["c"], Surface(), lambda messages: messages[1]["content"] + messages[0]["content"][:3]
    )
    assert joined(segments).endswith("Grades:\n[1] Grade: {grade}\n")
    assert [s.kind for s in segments].count("candidate") == 1


def isolated_text(segments, slot):
    """What one candidate sees: the shared part and its own branch."""
    return joined([s for s in segments if s.index in (-1, slot)])


def test_isolated_prompt_shows_all_that_is_shared_before_the_candidates():
    segments = render("why", ["first", "second", ""], Surface(visibility="isolated"))
    indices = [s.index for s in segments]
    assert indices == sorted(indices)
    shared = joined([s for s in segments if s.index == -1])
    relevance = RUBRICS["relevance"]
    for text in (relevance.system, "Query: why", relevance.task, *relevance.levels, "Grades:"):
        assert shared.count(text) == 1
    assert shared.endswith("\n\nPassages:\n[1]")
    for slot, text in enumerate((" first", " second", "")):
        branch = joined([s for s in segments if s.index == slot])
        # plain_chat ends the user's turn by a blank line; the answer form follows
        assert branch == f"{text}\n\nGrades:\n[1] Grade: {{grade}}\n"


@pytest.mark.parametrize("markers", ["numeric", "letters", "random", "single"])
@pytest.mark.parametrize("query", ["before", "around"])
@pytest.mark.parametrize("enclose", [False, True])
def test_isolated_candidate_sees_what_it_would_see_alone(markers, query, enclose):
    surface = Surface(
        visibility="isolated", markers=markers, marker_seed=3, query=query, enclose=enclose
    )
    texts = [f"text {i}" for i in range(12)]
    # fewer signs than candidates: one marker is all that is ever shown
    together = render("why", texts, surface, alphabet=("A", "B"))
    for slot, text in enumerate(texts):
        alone = render("why", [text], surface, alphabet=("A", "B"))
        assert isolated_text(together, slot) == joined(alone)
    assert "2]" not in joined(together)
    assert "12" not in joined([s for s in together if s.kind == "literal"])


def test_isolated_query_is_repeated_inside_each_branch():
    segments = render("why", ["a", "b"], Surface(visibility="isolated", query="around"))
    kinds = [(s.kind, s.index) for s in segments if s.kind in ("query", "candidate")]
    assert kinds == [
        ("query", -1), ("candidate", 0), ("query", 0), ("candidate", 1), ("query", 1),
    ]  # fmt: skip


def test_query_after_isolated_candidates_is_refused():
    with pytest.raises(UsageError, match="'after' does not go with visibility 'isolated'.*'around'"):
        render("q", ["c"], Surface(visibility="isolated", query="after"))


def test_isolated_marker_never_runs_out():
    [marker] = {
        s.text
        for s in render("q", ["c"] * 700, Surface(visibility="isolated", markers="random"))
        if s.kind == "slot"
    }
    assert marker.startswith("[")
