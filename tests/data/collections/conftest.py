"""Tiny copies of the sources, in the forms of their files: columns, nesting and names as upstream."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HOTPOT = pa.schema(
    {
        "id": pa.string(),
        "question": pa.string(),
        "answer": pa.string(),
        "type": pa.string(),
        "level": pa.string(),
        "supporting_facts": pa.struct(
            {"title": pa.list_(pa.string()), "sent_id": pa.list_(pa.int32())}
        ),
        "context": pa.struct(
            {"title": pa.list_(pa.string()), "sentences": pa.list_(pa.list_(pa.string()))}
        ),
    }
)
NECTAR = pa.schema(
    {
        "prompt": pa.string(),
        "answers": pa.list_(
            pa.struct({"answer": pa.string(), "model": pa.string(), "rank": pa.float64()})
        ),
        "turns": pa.int64(),
        "num_responses": pa.int64(),
        "source": pa.list_(pa.string()),
        "good_natured": pa.bool_(),
    }
)


def parquet(path, rows, schema=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), path)


def jsonl(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as handle:
        handle.writelines(json.dumps(record) + "\n" for record in records)


def hotpot_row(key, paragraphs=10, gold=(0, 1)):
    titles = [f"{key} title {i}" for i in range(paragraphs)]
    return {
        "id": key,
        "question": f"Which is {key}?",
        "answer": f"the {key}",
        "type": "bridge",
        "level": "hard",
        # A paragraph may hold several supporting sentences.
        "supporting_facts": {
            "title": [titles[i] for i in gold] + [titles[gold[0]]],
            "sent_id": [0] * len(gold) + [1],
        },
        "context": {"title": titles, "sentences": [[f"First of {t}.", " Second."] for t in titles]},
    }


def as_2wiki(row):
    """The row as the 2WikiMultiHopQA repository has it: nested lists, written as JSON."""
    facts, context = row["supporting_facts"], row["context"]
    return {
        "_id": row["id"],
        "type": "comparison",
        "question": row["question"],
        "context": json.dumps(list(zip(context["title"], context["sentences"], strict=True))),
        "supporting_facts": json.dumps(list(zip(facts["title"], facts["sent_id"], strict=True))),
        "evidences": "[]",
        "answer": row["answer"],
    }


def musique_row(key, supporting=(3, 17), aliases=()):
    return {
        "id": key,
        "paragraphs": [
            {
                "idx": i, "title": f"t{i}", "paragraph_text": f"{key} text {i}",
                "is_supporting": i in supporting,
            }
            for i in range(20)
        ],
        "question": f"Who is {key}?",
        "question_decomposition": [],
        "answer": "Ann",
        "answer_aliases": list(aliases),
        "answerable": True,
    }  # fmt: skip


def nectar_row(prompt, ranks=(1, 2, 3, 4, 5, 6, 7)):
    return {
        "prompt": f"\n\nHuman: {prompt}\n\nAssistant: ",
        "answers": [{"answer": f"{prompt} {r}", "model": "m", "rank": float(r)} for r in ranks],
        "turns": 1,
        "num_responses": len(ranks),
        "source": ["lmsys"],
        "good_natured": True,
    }


def ultrafeedback_row(prompt, scores):
    completions = [
        {
            "model": f"m{i}", "response": f"{prompt} answer {i}", "overall_score": score,
            "annotations": {"helpfulness": {"Rating": "4"}}, "fine-grained_score": 4.0,
        }
        for i, score in enumerate(scores)
    ]  # fmt: skip
    return {"source": "sharegpt", "instruction": prompt, "models": [], "completions": completions}


@pytest.fixture
def mirror(tmp_path):
    """A folder with tiny copies of every hub source that is no family."""
    home = tmp_path / "mirror"
    rows = [hotpot_row(f"q{i}") for i in range(3)]
    rows += [hotpot_row("short", paragraphs=8), hotpot_row("three", gold=(0, 1, 2))]
    validation = "distractor/validation-00000-of-00001.parquet"
    parquet(home / "hotpotqa/hotpot_qa" / validation, rows, HOTPOT)
    for part in (0, 1):
        train = [hotpot_row(f"t{part}{i}") for i in range(3)]
        name = f"distractor/train-{part:05d}-of-00002.parquet"
        parquet(home / "hotpotqa/hotpot_qa" / name, train, HOTPOT)
    parquet(home / "xanhho/2WikiMultihopQA/dev.parquet", [as_2wiki(row) for row in rows])
    questions = [musique_row("2hop__1_2", aliases=["Anne", "Ann"]), musique_row("3hop", (0, 1, 2))]
    jsonl(home / "dgslibisey/MuSiQue/musique_ans_v1.0_dev.jsonl", questions)
    _responses(home)
    return home


def _responses(home):
    reward = [
        {"id": "7", "prompt": "p", "chosen": ["good"], "rejected": ["b", "c", "d"], "subset": "Math"},
        {"id": "8", "prompt": "t", "chosen": ["1", "2"], "rejected": ["3"], "subset": "Ties"},
    ]
    parquet(home / "allenai/reward-bench-2/data/test-00000-of-00001.parquet", reward)
    nectar = [
        nectar_row("Name a river!"),
        nectar_row("Write a poem", ranks=(1, 2)),
        nectar_row("name  a RIVER"),
    ]
    nectar += [nectar_row("What is 2+2?"), nectar_row("Tell a joke")]  # fmt: skip
    parquet(home / "berkeley-nest/Nectar/data/rlaif.parquet", nectar, NECTAR)
    feedback = home / "openbmb/UltraFeedback"
    jsonl(feedback / "evol_instruct.jsonl", [
        ultrafeedback_row("what is 2+2", [3.9, 4.0, 7.99, 8.0]),
        ultrafeedback_row("three", [1.0, 2.0, 3.0]),
    ])  # fmt: skip
    jsonl(feedback / "sharegpt.jsonl", [
        ultrafeedback_row("odd", [1.0, 2.0, "N/A", 4.0]), ultrafeedback_row("fine", [10, 6, 5.5, 1.0]),
    ])  # fmt: skip
    for repo in ("PPE-MATH-Best-of-K", "PPE-MMLU-Pro-Best-of-K"):
        ppe = []
        for key, scores in (("m/1", [True] * 9 + [False] * 23), ("m/2", [True] * 32)):
            texts = {f"response_{i}": f"{key} {i}" for i in range(1, 33)}
            ppe.append({"question_id": key, "prompt": f"Solve {key}", **texts, "scores": scores})
        parquet(home / "lmarena-ai" / repo / "data/train-00000-of-00001.parquet", ppe)
    bench = home / "THU-KEG/RM-Bench/total_dataset.json"
    bench.parent.mkdir(parents=True)
    bench.write_text(json.dumps([{
        "id": "math_1", "prompt": "1+1?", "chosen": ["2", "It is 2.", "# 2"],
        "rejected": ["3", "It is 3.", "# 3"], "domain": "math",
    }]))  # fmt: skip


def write_bright(home, part):
    """Write a tiny copy of one part of BRIGHT."""
    texts = [("sea/a_1.txt", "salt in the sea"), ("sea/b#2.txt", "rain fills the sea"), ("c|3", "sand")]
    texts += [("c|3", "sand"), ("sea/a_1.txt", "another text")]
    parquet(
        home / f"xlangai/BRIGHT/documents/{part}-00000-of-00001.parquet",
        [{"id": key, "content": text} for key, text in texts],
    )
    questions = [
        {
            "query": "why is the sea salt", "reasoning": "", "id": "0",
            "excluded_ids": ["sea/b#2.txt"], "gold_ids_long": [], "gold_ids": ["sea/a_1.txt"],
        },
        {
            "query": "what fills the sea", "reasoning": "", "id": "1",
            "excluded_ids": ["N/A"], "gold_ids_long": [], "gold_ids": ["sea/b#2.txt"],
        },
    ]  # fmt: skip
    parquet(home / f"xlangai/BRIGHT/examples/{part}-00000-of-00001.parquet", questions)


@pytest.fixture
def bright(tmp_path):
    """A folder with a tiny copy of one part of BRIGHT."""
    write_bright(tmp_path / "bright", "pony")
    return tmp_path / "bright"


@pytest.fixture
def irds(tmp_path, monkeypatch):
    """A function that lets ir_datasets load a dataset made of its own readers on local files."""
    library = pytest.importorskip("ir_datasets", reason="the extra data-ir is not installed")
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "irds"))
    held = {}

    def load(name):
        return held[name]

    monkeypatch.setattr(library, "load", load)
    return held


# What some of BEIR's records have under "metadata".
META = dict.fromkeys(("url", "pubmed_id", "stance", "description", "narrative", "query"), "x")


@pytest.fixture
def beir_zip(tmp_path):
    """A function that writes a BEIR archive and returns ir_datasets' own dataset of it."""
    library = pytest.importorskip("ir_datasets", reason="the extra data-ir is not installed")
    from ir_datasets.datasets import beir
    from ir_datasets.datasets.base import Dataset

    def make(dataset, corpus, queries, qrels):
        # The classes that the library itself reads this dataset with.
        real, name = library.registry[dataset], dataset.split("/")[1]
        path = tmp_path / f"{name}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for part, records in (("corpus", corpus), ("queries", queries)):
                lines = [json.dumps({"metadata": META, **record}) for record in records]
                archive.writestr(f"{name}/{part}.jsonl", "\n".join(lines) + "\n")
            lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels)]
            archive.writestr(f"{name}/qrels/test.tsv", "\n".join(lines) + "\n")
        local = library.util.LocalDownload(path)
        part = library.util.ZipExtract
        return Dataset(
            beir.BeirDocs(name, part(local, f"{name}/corpus.jsonl"), real.docs_cls()),
            beir.BeirQueries(name, part(local, f"{name}/queries.jsonl"), real.queries_cls()),
            beir.BeirQrels(part(local, f"{name}/qrels/test.tsv"), {}),
        )

    return make


@pytest.fixture
def local(tmp_path):
    """A function that writes a file which ir_datasets reads instead of a download."""
    library = pytest.importorskip("ir_datasets", reason="the extra data-ir is not installed")

    def make(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return library.util.LocalDownload(path)

    return make


@pytest.fixture
def msmarco(local):
    """A function that makes a dataset of MS MARCO's kind: TSV, TREC judgments, scored documents."""

    def make(docs, queries, qrels, scored=None):
        from ir_datasets import formats
        from ir_datasets.datasets.base import Dataset

        parts = [
            formats.TsvDocs(local("collection.tsv", docs), namespace="local"),
            formats.TsvQueries(local("queries.tsv", queries)),
            formats.TrecQrels(local("qrels.txt", qrels), {}),
        ]
        if scored is not None:
            parts.append(formats.TrecScoredDocs(local("top100.txt", scored)))
        return Dataset(*parts)

    return make


@pytest.fixture
def miracl(tmp_path, local):
    """A function that makes a dataset of MIRACL: twelve texts, one question, eight judgments."""

    def make(language):
        from ir_datasets import formats
        from ir_datasets.datasets.base import Dataset
        from ir_datasets.datasets.miracl import MiraclDoc

        records = [{"docid": f"{i}#0", "title": f"T{i}", "text": f"maandishi {i}"} for i in range(12)]
        docs = formats.JsonlDocs(
            [local("docs-0.jsonl", "".join(json.dumps(record) + "\n" for record in records))],
            doc_cls=MiraclDoc,
            mapping={"doc_id": "docid", "title": "title", "text": "text"},
            namespace=f"miracl/{language}",
            lang=language,
            docstore_path=tmp_path / "store",
        )
        qrels = "".join(f"0#0 Q0 {i}#0 {int(i == 0)}\n" for i in range(8))
        return Dataset(
            docs,
            formats.TsvQueries(local("topics.tsv", "0#0\tswali gani\n"), lang=language),
            formats.TrecQrels(local("dev.tsv", qrels), {}),
        )

    return make


@pytest.fixture
def rank_llm_lists(tmp_path, monkeypatch):
    """A function that puts lists of RankLLM in a mirror and makes the declaration's hash fit them."""
    from evenhand.data.collections import COLLECTIONS

    def make(name, queries):
        lines = []
        for qid, ids in queries.items():
            hits = [
                {"docid": key, "score": 10.0 - rank, "doc": {"contents": f"text of {key}"}}
                for rank, key in enumerate(ids)
            ]
            lines.append({"query": {"text": f"query {qid}", "qid": qid}, "candidates": hits})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        declared = COLLECTIONS[name]
        folder = tmp_path / "lists"
        folder.mkdir()
        (folder / declared.origin.lists.url.rpartition("/")[2]).write_text(text, encoding="utf-8")
        lists = dataclasses.replace(declared.origin.lists, md5=hashlib.md5(text.encode()).hexdigest())
        origin = dataclasses.replace(declared.origin, lists=lists)
        monkeypatch.setitem(COLLECTIONS, name, dataclasses.replace(declared, origin=origin))
        return folder

    return make


@pytest.fixture
def source(request, tmp_path):
    """A function that makes the tiny source of a fetched collection and returns its mirror, if any."""
    from evenhand.data.collections import COLLECTIONS, Hub

    def make(name):
        origin = COLLECTIONS[name].origin
        get = request.getfixturevalue
        if isinstance(origin, Hub):
            if name.startswith("bright_"):
                write_bright(tmp_path / "bright", name.removeprefix("bright_"))
                return tmp_path / "bright"
            return get("mirror")
        held = get("irds")
        if name.startswith("miracl_"):
            held[origin.name] = get("miracl")(origin.name.split("/")[1])
        elif origin.name.startswith("beir/"):
            corpus = [
                {"_id": "1_a", "title": "Sea", "text": "The sea is salt."},
                {"_id": "2#b", "title": "Salt", "text": "Salt comes from the sea."},
            ]
            queries = [{"_id": "q|1", "text": "salt sea"}, {"_id": "q2", "text": "not judged"}]
            held[origin.name] = get("beir_zip")(origin.name, corpus, queries, [("q|1", "2#b", 1)])
        else:
            docs = "".join(f"msmarco_passage_00_{i}\ttopic text {i}\n" for i in range(4))
            scored = "".join(f"q|1 Q0 msmarco_passage_00_{i} {i + 1} {9 - i} t\n" for i in range(2))
            qrels = "q|1 0 msmarco_passage_00_1 2\n"
            held[origin.name] = get("msmarco")(docs, "q|1\ttopic\nq2\tx\n", qrels, scored)
        if origin.lists is not None:
            ids = ["msmarco_passage_00_1", "msmarco_passage_00_0"]
            return get("rank_llm_lists")(name, {"q|1": ids})
        return None

    return make
