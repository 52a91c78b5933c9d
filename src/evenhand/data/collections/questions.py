"""Questions with paragraphs, and what is trained on."""

from __future__ import annotations

from evenhand.data.collections.declare import Collection, Counts, Defaults, Hub, Irds, Take

_QA = Defaults("answer_support", 10, 1600)
_HOTPOT = "1908d6afbbead072334abe2965f91bd2709910ab"
_CHOSEN = "the first 200 questions that have ten paragraphs, two of which support the answer"

QUESTIONS: dict[str, Collection] = {
    "hotpotqa": Collection(
        title="HotpotQA, distractor, development part",
        task="qa",
        origin=Hub(
            "hotpotqa/hotpot_qa",
            {"qa": "distractor/validation-*.parquet"},
            "hotpot",
            megabytes=27.5,
            revision=_HOTPOT,
            take=Take(200),
        ),
        licence="CC BY-SA 4.0",
        cite="Yang et al. 2018, arXiv:1809.09600",
        counts=Counts(200, 2_000),
        defaults=_QA,
        first="given",
        note=_CHOSEN,
    ),
    "2wiki": Collection(
        title="2WikiMultiHopQA, development part",
        task="qa",
        origin=Hub(
            "xanhho/2WikiMultihopQA",
            {"qa": "dev.parquet"},
            "hotpot",
            megabytes=30.1,
            revision="612bc5039a457880d9e7d84c3b0a4cf154b70e4f",
            take=Take(200),
        ),
        licence="Apache-2.0",
        cite="Ho et al. 2020, arXiv:2011.01060",
        counts=Counts(200, 2_000),
        defaults=_QA,
        first="seeded",
        options={"order": "seeded"},
        note=_CHOSEN,
    ),
    "musique": Collection(
        title="MuSiQue answerable, development part",
        task="qa",
        origin=Hub(
            "dgslibisey/MuSiQue",
            {"qa": "musique_ans_v1.0_dev.jsonl"},
            "musique",
            megabytes=30.4,
            revision="c8f4f8c9465fb69d31a8eae894c3fd509c4ca321",
            take=Take(200),
        ),
        licence="CC BY 4.0",
        cite="Trivedi et al. 2022, arXiv:2108.00573",
        counts=Counts(200, 2_000),
        defaults=_QA,
        first="given",
        note="the supporting paragraphs and the first others make ten of the twenty; " + _CHOSEN,
    ),
}

TRAINING: dict[str, Collection] = {
    "msmarco_train": Collection(
        title="MS MARCO passages, 30,000 training queries",
        task="passages",
        origin=Irds("msmarco-passage/train/judged", 1_087, take=Take(30_000, "seeded")),
        licence="non-commercial research",
        cite="Bajaj et al. 2016, arXiv:1611.09268",
        counts=Counts(30_000, None, 8_841_823, "the protocol; texts by ir_datasets' metadata"),
        defaults=Defaults(cap=1200),
        options={"run": "BM25"},
        use="training",
        note="one or two judged passages a query: the others are unjudged, not irrelevant",
    ),
    "hotpotqa_train": Collection(
        title="HotpotQA, distractor, training part",
        task="qa",
        origin=Hub(
            "hotpotqa/hotpot_qa",
            {"qa": "distractor/train-*.parquet"},
            "hotpot",
            megabytes=332,
            revision=_HOTPOT,
            take=Take(30_500),
        ),
        licence="CC BY-SA 4.0",
        cite="Yang et al. 2018, arXiv:1809.09600",
        counts=Counts(30_500, 305_000, None, "the protocol: 30,000 to train on, 500 held out"),
        defaults=_QA,
        first="given",
        use="training",
    ),
    "ultrafeedback": Collection(
        title="UltraFeedback",
        task="responses",
        origin=Hub(
            "openbmb/UltraFeedback",
            {"responses": "*.jsonl"},
            "ultrafeedback",
            megabytes=940,
            revision="40b436560ca83a8dba36114c22ab3c66e43f6d5e",
            take=Take(30_700),
        ),
        licence="MIT; the models' own terms hold for their outputs",
        cite="Cui et al. 2023, arXiv:2310.01377",
        counts=Counts(30_700, 122_800, None, "the protocol: 30,000 to train on, 700 held out"),
        defaults=Defaults("response_quality", 4, 2000),
        first="seeded",
        use="training",
        note="grade = how many of the cuts 4, 6 and 8 the overall score reaches; the revision has the "
        "corrected scores",
    ),
}
