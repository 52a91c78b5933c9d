"""Rules of the fingerprint on signs given by hand; whole scorers are in test_told_apart.py."""

from dataclasses import replace

import pytest

from evenhand.study.causes.fingerprint import fingerprint
from evenhand.study.causes.signs import Signs

HONEST = Signs(
    slates=9, rows=90, change=0.0, repeat_change=0.0, slot_change=0.0, companion_change=0.0,
    by_slot=0.1, echoed=0.0, ends=0.0, uneven=0.4, levels=90, scores=90, tied=0.0, constant=0.0,
)  # fmt: skip


def codes(**channels):
    return [finding.code for finding in fingerprint(channels)]


def with_order(**changed):
    return {"order": replace(HONEST, **changed), "companions": HONEST}


def test_honest_signs_give_one_note():
    (finding,) = fingerprint({"order": HONEST, "companions": HONEST})
    assert (finding.code, finding.severity) == ("order_free", "note")
    assert "order, companions" in finding.message
    # One channel is not enough to say so.
    assert codes(order=HONEST) == ["unmoved"]
    assert codes(order=replace(HONEST, rows=0)) == []
    assert fingerprint({}) == ()


def test_float_error_is_no_movement():
    assert codes(**with_order(change=5e-4, slot_change=5e-4, repeat_change=5e-4)) == ["order_free"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"by_slot": 0.995}, "position_only"),
        ({"slot_share": 1.0, "first_share": 0.95, "first_gain": 0.5}, "first_slot"),
        ({"slot_share": 0.95, "first_share": 0.5}, "slot_bias"),
        ({"slot_share": 0.4, "first_share": 0.2}, "order_dependent"),
    ],
)
def test_kinds_of_order_dependence(changed, code):
    found = codes(**with_order(change=0.4, slot_change=0.4, **changed))
    assert found == [code]


def test_dislike_of_the_first_slot_is_said():
    signs = with_order(change=0.4, slot_change=0.4, slot_share=1.0, first_share=1.0, first_gain=-0.5)
    (finding,) = fingerprint(signs)
    assert finding.message.startswith("Dislikes the first slot")
    assert "-0.50 spreads" in finding.message


def test_movement_within_noise_is_not_held_against_the_order():
    noisy = {"repeat_change": 0.3, "returned": 0.1}
    assert codes(**with_order(change=0.4, slot_change=0.4, **noisy)) == ["call_noise"]
    assert codes(**with_order(change=1.5, slot_change=1.5, slot_share=0.95, **noisy)) == [
        "call_noise",
        "slot_bias",
    ]


def test_old_values_are_a_stale_cache_unless_there_are_few():
    stale = {"repeat_change": 0.3, "returned": 0.9}
    assert codes(**with_order(**stale)) == ["stale_cache"]
    assert codes(**with_order(repeat_change=0.3, returned=0.2, echoed=0.5)) == ["stale_cache"]
    # Nothing comes back, but only the first answer differs.
    assert codes(**with_order(repeat_change=0.3, returned=0.0, later_noise=0.01)) == ["stale_cache"]
    assert codes(**with_order(repeat_change=0.3, returned=0.0, later_noise=0.2)) == ["call_noise"]
    # Among few grades any value was there before.
    coarse = replace(HONEST, levels=4, tied=0.3, **stale)
    assert codes(order=coarse) == ["call_noise", "coarse"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [({"ends": 1.0}, "min_max"), ({"uneven": 1e-9}, "batch_normalised"), ({}, "companion_coupled")],
)
def test_kinds_of_coupling(changed, code):
    order = replace(HONEST, **changed)
    moved = replace(HONEST, change=0.2, companion_change=0.2, **changed)
    assert codes(order=order, companions=moved) == [code]
    # The same sum without movement is a coincidence of the collection; so are ends of few grades,
    # or of few slates. From 0 to 1 exactly, with many values between, is none.
    still = ["min_max"] if code == "min_max" else ["order_free"]
    assert codes(order=order, companions=order) == still
    few = replace(order, levels=3, tied=0.2)
    assert codes(order=few, companions=few) == ["coarse", "order_free"]
    one = replace(order, slates=1)
    assert codes(order=one, companions=one) == ["order_free"]


def test_levels():
    assert codes(order=replace(HONEST, tied=0.1), companions=HONEST) == ["ties", "order_free"]
    coarse = replace(HONEST, levels=4, tied=0.1)
    assert codes(order=coarse, companions=coarse) == ["coarse", "order_free"]
    # Nine scores of nine candidates are not few.
    small = replace(HONEST, levels=9, scores=9, tied=0.1)
    assert codes(order=small, companions=small) == ["ties", "order_free"]


def test_constant_is_said_alone():
    flat = replace(HONEST, constant=1.0, tied=1.0, levels=1)
    assert codes(order=flat, companions=flat) == ["constant"]


def test_forms_are_a_note():
    found = fingerprint({"order": HONEST, "rubric": replace(HONEST, change=0.25)})
    assert [(finding.code, finding.severity) for finding in found] == [("form_dependent", "note")]
    assert "rubric 0.25" in found[0].message
