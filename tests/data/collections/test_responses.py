"""Responses: pool sizes and lengths of the protocol."""

from evenhand.data.collections.responses import RESPONSES


def test_pools_and_lengths():
    caps = {name: one.cap for name, one in RESPONSES.items()}
    assert caps == {
        "rewardbench2": 2000, "nectar": 1500, "ppe_math": 2500, "ppe_mmlu_pro": 2500,
        "rm_bench_full": 1500,
    }  # fmt: skip
    assert {(one.rubric, one.width) for one in RESPONSES.values()} == {("response_quality", 4)}
    pools = {name: one.counts for name, one in RESPONSES.items() if one.slates is not None}
    # Four, seven and six responses a prompt.
    assert {name: held.candidates / held.queries for name, held in pools.items()} == {
        "rewardbench2": 4.0, "nectar": 7.0, "rm_bench_full": 6.0,
    }  # fmt: skip


def test_all_go_to_seeded_slots_and_nectar_against_the_training_set():
    assert {one.first for one in RESPONSES.values()} == {"seeded"}
    assert RESPONSES["nectar"].origin.against == "ultrafeedback"
