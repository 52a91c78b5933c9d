import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import UsageError
from evenhand.score.listing.ranking import Ranking, parse_ranking


@pytest.mark.parametrize(
    ("answer", "order", "invalid", "repeated"),
    [
        # C30: three candidates.
        ("[9] > [1]", (0,), 1, 0),
        ("[0]", (), 1, 0),
        ("[2] > [2]", (1,), 0, 1),
        ("", (), 0, 0),
        # Clamped to 3, or read as [1], it would be another ranking.
        ("[10] > [1]", (0,), 1, 0),
        # Forms that models write.
        ("[2] > [1] > [3]", (1, 0, 2), 0, 0),
        ("[2]>[1]>[3]", (1, 0, 2), 0, 0),
        ("[2], [1], [3]", (1, 0, 2), 0, 0),
        ("[2] [1] [3]", (1, 0, 2), 0, 0),
        ("[2]\n[1]\n[3]\n", (1, 0, 2), 0, 0),
        ("[ 2 ] > [ 1 ] > [3]", (1, 0, 2), 0, 0),
        ("[2, 1, 3]", (1, 0, 2), 0, 0),
        ("[2 > 1 > 3]", (1, 0, 2), 0, 0),
        ("[[2], [1], [3]]", (1, 0, 2), 0, 0),
        ("The ranking is: **[2]** > **[1]** > **[3]**. Done.", (1, 0, 2), 0, 0),
        ("1. [2]\n2. [1]\n3. [3]", (1, 0, 2), 0, 0),
        ("[02] > [001] > [3]", (1, 0, 2), 0, 0),
        # Numbers outside brackets are no ids, nor is one whose bracket was cut off.
        ("2 > 1 > 3", (), 0, 0),
        ("2] > [1] > [3]", (0, 2), 0, 0),
        ("Of 3 passages [2] is best", (1,), 0, 0),
        ("[2] > [1", (1,), 0, 0),
        # Brackets around something else are text.
        ("[] > []", (), 0, 0),
        ("[sic] [2] [see 1]", (1,), 0, 0),
        ("[A] > [B]", (), 0, 0),
        # Numbers that name nobody.
        ("[-1] > [1.5] > [+2] > [1]", (0,), 3, 0),
        ("[" + "9" * 5000 + "] > [1]", (0,), 1, 0),
        ("[2, 4, 2]", (1,), 1, 1),
        # What was thought was not said.
        ("<think>[3] looks best</think>\n[1] > [2]", (0, 1), 0, 0),
        ("[3] looks best</think>[1] > [2]", (0, 1), 0, 0),
        ("<think>[3] looks best, and", (), 0, 0),
    ],
)
def test_numbers(answer, order, invalid, repeated):
    assert parse_ranking(answer, 3) == Ranking(order, 3, invalid, repeated)


@pytest.mark.parametrize(
    ("answer", "order", "invalid", "repeated"),
    [
        ("[B] > [A] > [C]", (1, 0, 2), 0, 0),
        ("[B, A, C]", (1, 0, 2), 0, 0),
        ("[D] > [B] > [AA] > [1]", (1,), 3, 0),
        ("[B] > [B]", (1,), 0, 1),
        ("[b] and [is]", (), 0, 0),
    ],
)
def test_letters(answer, order, invalid, repeated):
    assert parse_ranking(answer, ("A", "B", "C")) == Ranking(order, 3, invalid, repeated)


def test_what_a_ranking_lacks():
    part = parse_ranking("[3] > [1] > [3] > [7]", 4)
    assert (part.order, part.missing) == ((2, 0), (1, 3))
    assert (part.complete, part.clean, part.empty) == (False, False, False)
    # All are named, one twice: complete but not clean.
    mended = parse_ranking("[2] > [1] > [2]", 2)
    assert (mended.complete, mended.clean) == (True, False)
    assert parse_ranking("[2] > [1]", 2).clean
    assert parse_ranking("none", 2).empty
    # Nothing was to be ranked.
    nothing = parse_ranking("", 0)
    assert (nothing.complete, nothing.clean, nothing.empty) == (True, True, False)


@given(st.permutations(range(12)), st.sampled_from([" > ", ">", ", ", "\n", " "]))
def test_what_is_written_is_read(order, between):
    assert parse_ranking(between.join(f"[{slot + 1}]" for slot in order), 12).order == tuple(order)
    names = [chr(ord("A") + slot) for slot in range(12)]
    assert parse_ranking(between.join(f"[{names[slot]}]" for slot in order), names).order == tuple(
        order
    )


@given(st.lists(st.integers(0, 15)), st.integers(0, 9))
def test_every_id_is_placed_or_counted(ids, n):
    found = parse_ranking(" > ".join(f"[{number}]" for number in ids), n)
    valid = [number - 1 for number in ids if 1 <= number <= n]
    assert found.order == tuple(dict.fromkeys(valid))
    assert found.invalid == len(ids) - len(valid)
    assert len(found.order) + found.invalid + found.repeated == len(ids)
    assert sorted((*found.order, *found.missing)) == list(range(n))


@given(st.text(alphabet="[]0123456789 ,>.-ab<think/>\n", max_size=60), st.integers(0, 5))
def test_any_text_gives_slots_that_exist(answer, n):
    found = parse_ranking(answer, n)
    assert set(found.order) <= set(range(n))
    assert len(set(found.order)) == len(found.order)
    # As many ids as were taken stand in the text at least.
    assert len(found.order) + found.invalid + found.repeated <= sum(map(str.isdigit, answer))


@pytest.mark.parametrize(
    ("answer", "markers", "said"),
    [
        (None, 3, "must be a text, got NoneType"),
        ("", -1, "at least 0"),
        ("", True, "at least 0"),
        ("", ("A", "A"), "must differ"),
    ],
)
def test_refused(answer, markers, said):
    with pytest.raises(UsageError, match=said):
        parse_ranking(answer, markers)


def test_a_long_answer_of_nothing_is_read_at_once():
    started = time.monotonic()
    assert parse_ranking("[" + " " * 200_000 + "2]" + "[" * 50_000, 3).order == (1,)
    assert time.monotonic() - started < 2
