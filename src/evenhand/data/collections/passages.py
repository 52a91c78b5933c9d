"""Passages to rerank: TREC Deep Learning, BEIR, the licensed ones, reasoning, other languages."""

from __future__ import annotations

from evenhand.data.collections.declare import Collection, Counts, Defaults, Hub, Irds, Lists, Placed

_DL = Defaults(cap=1200)
_BEIR = Defaults(cap=500)
_MARCO = "non-commercial research"
_BEIR_CITE = "Thakur et al. 2021, arXiv:2104.08663"
_IRDS = "ir_datasets' metadata"
_LISTS = "https://github.com/castorini/rank_llm_data/raw/main/retrieve_results/BM25/"


def _dl(year: int, queries: int) -> Collection:
    """Return TREC DL of the second MS MARCO corpus, with the track's own top 100."""
    return Collection(
        title=f"TREC Deep Learning {year}, passages",
        task="passages",
        origin=Irds(
            f"msmarco-passage-v2/trec-dl-{year}/judged", 21_800, "candidates", store=True, ranked=True
        ),
        licence=_MARCO,
        cite=f"Craswell et al., Overview of the TREC {year} Deep Learning Track",
        counts=Counts(queries, 100 * queries, 138_364_198, _IRDS),
        defaults=_DL,
        first="run",
        options={"run": "BM25"},
        note="ir_datasets unpacks the corpus to about 61 GB; the first stage is the track's own",
    )


def _dl_lists(year: int, queries: int, md5: str, size: int) -> Collection:
    """Return TREC DL of the first MS MARCO corpus, with the BM25 lists of RankLLM."""
    short = f"dl{year % 100}"
    lists = Lists(f"{_LISTS}retrieve_results_{short}_top100.jsonl", md5, size)
    return Collection(
        title=f"TREC Deep Learning {year}, passages",
        task="passages",
        origin=Irds(
            f"msmarco-passage/trec-dl-{year}/judged", round(size / 1e6, 1), "candidates", lists=lists
        ),
        licence=_MARCO,
        cite=f"Craswell et al., Overview of the TREC {year} Deep Learning Track",
        counts=Counts(queries, 100 * queries, 8_841_823, _IRDS),
        defaults=_DL,
        first="run",
        options={"run": "BM25"},
        note="judged passages that BM25 missed count in the ideal ranking and have no text here",
    )


def _beir(
    title: str, name: str, megabytes: float, queries: int, texts: int, licence: str, note: str = ""
) -> Collection:
    return Collection(
        title=title,
        task="passages",
        origin=Irds(f"beir/{name}", megabytes, own=name == "arguana"),
        licence=licence,
        cite=_BEIR_CITE,
        counts=Counts(queries, None, texts, _IRDS),
        defaults=_BEIR,
        options={"run": "BM25"},
        note=note,
    )


def _licensed(title: str, where: str, how: str, queries: int, texts: int, licence: str) -> Collection:
    place = (
        f"{how}, convert it to BEIR's layout, and place corpus.jsonl, queries.jsonl, qrels/test.tsv "
        "and, if you have a first stage of your own, runs/BM25.trec"
    )
    return Collection(
        title=title,
        task="passages",
        origin=Placed(where, place, agreement=True),
        licence=licence,
        cite=_BEIR_CITE,
        counts=Counts(queries, None, texts, "the BEIR paper, table 1"),
        defaults=_BEIR,
        options={"run": "BM25"},
    )


# Questions, texts, megabytes to download.
_BRIGHT_PARTS: dict[str, tuple[int, int | None, float | None]] = {
    "biology": (103, 57_359, 9.5),
    "earth_science": (116, 121_249, 20.2),
    "economics": (103, 50_220, 9.8),
    "psychology": (101, 52_835, 10.0),
    "robotics": (101, 61_961, 8.9),
    "stackoverflow": (117, 107_081, 81.8),
    "sustainable_living": (108, 60_792, 10.5),
    "leetcode": (142, 413_932, 196.9),
    "pony": (112, 7_894, 1.0),
    "aops": (111, 188_002, 64.7),
    "theoremqa_questions": (194, 188_002, 65.1),
    "theoremqa_theorems": (76, None, None),
}


def _bright(part: str, queries: int, texts: int | None, megabytes: float | None) -> Collection:
    return Collection(
        title=f"BRIGHT, {part.replace('_', ' ')}",
        task="passages",
        origin=Hub(
            "xlangai/BRIGHT",
            {
                "corpus": f"documents/{part}-*.parquet",
                "queries": f"examples/{part}-*.parquet",
            },
            "bright",
            megabytes=megabytes,
            revision="0dc152a5d69327d457c0390c692baf8e5808424b",
        ),
        licence="CC BY 4.0",
        cite="Su et al. 2024, arXiv:2407.12883",
        counts=Counts(queries, None, texts, "the BRIGHT paper; texts by its dataset card"),
        defaults=_DL,
        options={"run": "BM25"},
        note="excluded_ids are dropped: they hold what the question was made from",
    )


# Development queries and their judgments; English is not among them.
_MIRACL_PARTS = {
    "ar": (2896, 29_197), "bn": (411, 4_206), "de": (305, 3_144), "es": (648, 6_443),
    "fa": (632, 6_571), "fi": (1271, 12_008), "fr": (343, 3_429), "hi": (350, 3_494),
    "id": (960, 9_668), "ja": (860, 8_354), "ko": (213, 3_057), "ru": (1252, 13_100),
    "sw": (482, 5_092), "te": (828, 1_606), "th": (733, 7_573), "yo": (119, 1_188),
    "zh": (393, 3_928),
}  # fmt: skip
_MIRACL_TEXTS = {
    "ar": 2_061_414, "bn": 297_265, "de": 15_866_222, "es": 10_373_953, "fa": 2_207_172,
    "fi": 1_883_509, "fr": 14_636_953, "hi": 506_264, "id": 1_446_315, "ja": 6_953_614,
    "ko": 1_486_752, "ru": 9_543_918, "sw": 131_924, "te": 518_079, "th": 542_166, "yo": 49_043,
    "zh": 4_934_368,
}  # fmt: skip


def _miracl(language: str, queries: int, judged: int) -> Collection:
    texts = _MIRACL_TEXTS[language]
    return Collection(
        title=f"MIRACL, {language}",
        task="passages",
        # Swahili's 131,924 texts are 10.2 MB compressed.
        origin=Irds(f"miracl/{language}/dev", round(texts * 10.2 / 131_924, 1), "candidates"),
        licence="Apache-2.0; the texts CC BY-SA 3.0",
        cite="Zhang et al. 2023, doi:10.1162/tacl_a_00595",
        counts=Counts(queries, judged, texts, _IRDS),
        defaults=Defaults(width=10, cap=500),
        first="seeded",
        options={"form": "judged"},
        note="candidates are the judged passages, as BM25 needs words and not every script parts them",
    )


PASSAGES: dict[str, Collection] = {
    "trec_dl19": _dl_lists(2019, 43, "518ab9f821fb74d862589d1d141c208e", 2_000_369),
    "trec_dl20": _dl_lists(2020, 54, "3b6397f50fd78229e8d733243745a6d4", 2_528_494),
    "trec_dl21": _dl(2021, 53),
    "trec_dl22": _dl(2022, 76),
    "trec_dl23": _dl(2023, 82),
    "nfcorpus": _beir(
        "NFCorpus", "nfcorpus/test", 2.4, 323, 3_633, "its source's terms; BEIR CC BY-SA"
    ),
    "fiqa": _beir("FiQA-2018", "fiqa/test", 17.9, 648, 57_638, "non-commercial; BEIR CC BY-SA 4.0"),
    "touche2020": _beir(
        "Touché-2020",
        "webis-touche2020/v2",
        227.1,
        49,
        382_545,
        "CC BY 4.0",
        "arguments are long: most are cut; the judgments are the second version's, grades 0 to 2",
    ),
    "arguana": _beir(
        "ArguAna",
        "arguana",
        3.8,
        1_406,
        8_674,
        "its source's terms; BEIR CC BY-SA 4.0",
        "a query is an argument of the corpus: it is no candidate of its own",
    ),
    "climate_fever_beir": _beir(
        "Climate-FEVER, passages of Wikipedia",
        "climate-fever",
        1_228.7,
        1_535,
        5_416_593,
        "CC BY-SA 4.0",
        "the claims' verdicts are in climate_fever",
    ),
    "trec_covid": _beir(
        "TREC-COVID", "trec-covid", 73.9, 50, 171_332, "CORD-19: text mining only; rights stay"
    ),
    "dbpedia": _beir("DBPedia-Entity", "dbpedia-entity/test", 639.3, 400, 4_635_922, "CC BY-SA 3.0"),
    "scifact": _beir("SciFact", "scifact/test", 2.8, 300, 5_183, "CC BY-NC 2.0"),
    "signal1m": _licensed(
        "Signal-1M (RT)",
        "the Signal Media One-Million News Articles data and its tweets",
        "get the access of Signal Media",
        97,
        2_866_316,
        "CC BY-NC 3.0 and Signal Media's terms",
    ),
    "trec_news": _licensed(
        "TREC-NEWS 2019, background linking",
        "the TREC Washington Post collection of NIST",
        "sign NIST's Washington Post agreement",
        57,
        594_977,
        "NIST's agreement",
    ),
    "robust04": _licensed(
        "TREC Robust 2004",
        "TREC disks 4 and 5 without the Congressional Record, of NIST",
        "sign NIST's agreement on disks 4 and 5",
        249,
        528_155,
        "NIST's agreement",
    ),
    **{f"bright_{part}": _bright(part, *counts) for part, counts in _BRIGHT_PARTS.items()},
    **{f"miracl_{language}": _miracl(language, *counts) for language, counts in _MIRACL_PARTS.items()},
}
