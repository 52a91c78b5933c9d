"""Responses to a prompt. All but Nectar list right ones first: they go to seeded slots."""

from __future__ import annotations

from evenhand.data.collections.declare import Collection, Counts, Defaults, Hub, Take

_OUTPUTS = "the models' own terms hold for their outputs"


def _ppe(title: str, repo: str, short: str) -> Collection:
    return Collection(
        title=title,
        task="responses",
        origin=Hub(
            repo,
            {"responses": "data/train-*.parquet"},
            "ppe",
            megabytes=20,
            unpinned=f"the commit is known by its first digits alone, {short}",
        ),
        licence=f"prompts MIT; {_OUTPUTS}",
        cite="Frick et al. 2024, arXiv:2410.14872",
        counts=Counts(None, None, None, "512 prompts in the source"),
        defaults=Defaults("response_quality", 4, 2500),
        first="seeded",
        note="of 32 responses of one model up to four right and four wrong, drawn by seed; a prompt "
        "that lacks either is left out",
    )


RESPONSES: dict[str, Collection] = {
    "rewardbench2": Collection(
        title="RewardBench 2, without ties",
        task="responses",
        origin=Hub(
            "allenai/reward-bench-2",
            {"responses": "data/test-*.parquet"},
            "rewardbench2",
            megabytes=7,
            revision="7ff08853b0d5686e79b13fda8677024f566a104a",
        ),
        licence=f"ODC-BY; {_OUTPUTS}",
        cite="Malik et al. 2025, arXiv:2506.01937",
        counts=Counts(1_763, 7_052, None, "the protocol: 1,865 prompts less 102 of Ties"),
        defaults=Defaults("response_quality", 4, 2000),
        first="seeded",
        note="one right and three wrong; the right one comes first in the source",
    ),
    "nectar": Collection(
        title="Nectar, without UltraFeedback's prompts",
        task="responses",
        origin=Hub(
            "berkeley-nest/Nectar",
            {"responses": "data/rlaif.parquet"},
            "nectar",
            megabytes=517.4,
            revision="3c6b4c47fa1cc38869f9f32dce1699f7abad8b06",
            take=Take(500, "seeded"),
            against="ultrafeedback",
        ),
        licence=f"Apache-2.0 with conditions of the card; {_OUTPUTS}",
        cite="Zhu et al. 2023, Starling-7B",
        counts=Counts(
            500, 3_500, None, "evenhand; the published sample has 434 prompts, 3,038 responses"
        ),
        defaults=Defaults("response_quality", 4, 1500),
        first="seeded",
        note="prompts are compared in normal form, also among themselves; ranks 1, 2-3, 4-5, 6-7 are "
        "grades 3, 2, 1, 0",
    ),
    "ppe_math": _ppe("PPE, MATH, best of K", "lmarena-ai/PPE-MATH-Best-of-K", "c46ce3c"),
    "ppe_mmlu_pro": _ppe("PPE, MMLU-Pro, best of K", "lmarena-ai/PPE-MMLU-Pro-Best-of-K", "d3a309b"),
    "rm_bench_full": Collection(
        title="RM-Bench, all four parts",
        task="responses",
        origin=Hub(
            "THU-KEG/RM-Bench",
            {"responses": "total_dataset.json"},
            "rm_bench",
            megabytes=11,
            unpinned="the commit is known by its first digits alone, ee19843",
        ),
        licence="ODC-BY",
        cite="Liu et al. 2024, arXiv:2410.16184",
        counts=Counts(1_327, 7_962),
        defaults=Defaults("response_quality", 4, 1500),
        first="seeded",
        note="three right, then three wrong in the source; holds harmful prompts as data",
    ),
}
