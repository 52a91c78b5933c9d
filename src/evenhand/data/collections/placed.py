"""Small sets whose folders are placed by hand, in the layout that `read_folder` reads."""

from __future__ import annotations

from evenhand.data.collections.declare import Collection, Counts, Defaults, Placed

_COUNTED = "counted"

PLACED: dict[str, Collection] = {
    "noveleval": Collection(
        title="NovelEval-2306",
        task="passages",
        origin=Placed(
            "the NovelEval data of the RankGPT authors",
            "place corpus.jsonl, queries.jsonl and qrels.tsv",
        ),
        licence="Apache-2.0",
        cite="Sun et al. 2023, arXiv:2304.09542",
        counts=Counts(21, 420, 420, _COUNTED),
        first="seeded",
    ),
    "cran": Collection(
        title="Cranfield",
        task="passages",
        origin=Placed(
            "ir_datasets cranfield",
            "place corpus.jsonl, queries.jsonl, qrels.tsv, and exclude.tsv with the pairs of code -1",
        ),
        licence="public test collection",
        cite="Cleverdon 1967",
        counts=Counts(225, None, 1_400, _COUNTED),
        options={"form": "bm25"},
    ),
    "hotpotqa_dev500": Collection(
        title="HotpotQA, 500 development questions (distractor)",
        task="qa",
        origin=Placed("Hugging Face hotpotqa/hotpot_qa, distractor, validation", "place qa.jsonl"),
        licence="CC BY-SA 4.0",
        cite="Yang et al. 2018, arXiv:1809.09600",
        # 489 of 10, 7 of 2, 2 of 8, one of 5 and one of 6 paragraphs.
        counts=Counts(500, 4_931, None, _COUNTED),
        defaults=Defaults("answer_support", 10, 1600),
        first="given",
    ),
    "musique_train100": Collection(
        title="MuSiQue, 100 questions",
        task="qa",
        origin=Placed("MuSiQue answerable, training part", "place qa.jsonl"),
        licence="CC BY 4.0",
        cite="Trivedi et al. 2022, arXiv:2108.00573",
        counts=Counts(100, 2_000, None, _COUNTED),
        defaults=Defaults("answer_support", 10, 1600),
        first="given",
        note="all twenty paragraphs; musique has ten",
    ),
    "climate_fever": Collection(
        title="Climate-FEVER, claims with a verdict",
        task="verdict",
        origin=Placed(
            "Hugging Face tdiggelm/climate_fever",
            "place corpus.jsonl, queries.jsonl, qrels.tsv, candidates.jsonl and qa.jsonl",
        ),
        licence="research",
        cite="Diggelmann et al. 2020, arXiv:2012.00614",
        counts=Counts(1_381, None, 5_240, _COUNTED),
        defaults=Defaults(cap=500),
        options={"form": "bm25", "own": True},
        without=frozenset({"DISPUTED"}),
        note="five sentences a claim; BM25's top 100 of all of them and the claim's own five",
    ),
    "rm_bench": Collection(
        title="RM-Bench without its mathematics, six responses a prompt",
        task="responses",
        origin=Placed("Hugging Face THU-KEG/RM-Bench", "place responses.jsonl"),
        licence="research",
        cite="Liu et al. 2024, arXiv:2410.16184",
        counts=Counts(798, 4_788, None, _COUNTED),
        defaults=Defaults("response_quality", 4, 1500),
        first="seeded",
        note="three right, then three wrong in the source; holds harmful prompts as data",
    ),
    "llmbar": Collection(
        title="LLMBar, pairs of responses",
        task="responses",
        origin=Placed("the LLMBar data of its authors", "place responses.jsonl"),
        licence="MIT",
        cite="Zeng et al. 2023, arXiv:2310.07641",
        counts=Counts(885, 1_770, None, _COUNTED),
        defaults=Defaults("response_quality", 2),
        first="seeded",
    ),
}
