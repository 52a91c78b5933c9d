import json

import pytest

from evenhand.data import InputWarning, load_slates, read_folder
from evenhand.errors import InputError, UsageError


def dump(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    """A BEIR folder: four texts, two queries of a test and one of a dev split."""
    texts = {"a": "red fox", "b": "blue fox", "c": "green turtle", "d": "yellow bird"}
    dump(tmp_path / "corpus.jsonl", *({"_id": k, "title": "", "text": t} for k, t in texts.items()))
    queries = {"1": "fox", "2": "turtle", "3": "bird"}
    dump(tmp_path / "queries.jsonl", *({"_id": k, "text": t} for k, t in queries.items()))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\tb\t2\n2\tc\t1\n")
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\n3\td\t1\n")
    return tmp_path


def with_runs(folder, *names):
    (folder / "runs").mkdir()
    for name in names:
        (folder / "runs" / f"{name}.trec").write_text(
            "2 Q0 c 1 1 t\n1 Q0 d 1 9 t\n1 Q0 b 2 8 t\n1 Q0 a 3 7 t\n"
        )
    return folder


def ids(slates):
    return {slate.id: slate.ids for slate in slates}


def test_beir_without_a_run_takes_bm25_of_the_split(folder):
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    slates = ids(read_folder(folder))
    assert {query: set(held) for query, held in slates.items()} == {"1": {"a", "b"}, "2": {"c"}}
    assert ids(read_folder(folder, split="dev")) == {"3": ("d",)}
    with pytest.raises(UsageError, match=r"unknown split 'train'; .*\['dev', 'test'\]"):
        read_folder(folder, split="train")


def test_runs_are_named_listed_or_taken_when_there_is_one(folder):
    with_runs(folder, "ONE")
    assert ids(read_folder(folder, depth=2)) == {"2": ("c",), "1": ("d", "b")}
    (folder / "runs" / "TWO.trec").write_text("1 Q0 a 1 1 t\n2 Q0 c 1 1 t\n")
    with pytest.raises(UsageError, match=r"2 runs, name one: \['ONE', 'TWO'\]"):
        read_folder(folder)
    assert ids(read_folder(folder, run="TWO")) == {"1": ("a",), "2": ("c",)}
    assert ids(read_folder(folder, run=str(folder / "runs" / "TWO.trec")))["1"] == ("a",)
    with pytest.raises(UsageError, match=r"unknown run 'X'; .* has \['ONE', 'TWO'\]"):
        read_folder(folder, run="X")


def test_fixed_lists_answers_and_own_candidates(folder):
    dump(
        folder / "candidates.jsonl",
        {"_id": "1", "candidates": ["d", "b"]},
        {"_id": "2", "candidates": ["c", "a"]},
    )
    dump(folder / "qa.jsonl", {"id": "1", "answer": "REFUTES"}, {"id": "2", "answers": ["yes"]})
    one, two = read_folder(folder)
    assert (one.ids, one.grades, one.verdict) == (("d", "b"), {"b": 2}, "REFUTES")
    assert (two.ids, two.answers) == (("c", "a"), ("yes",))
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    slates = ids(read_folder(folder, own=True, depth=1))
    assert slates["1"][0] in "ab"
    assert slates["1"][1:] == (("d", "b") if slates["1"][0] == "a" else ("d",))
    assert slates["2"] == ("c", "a")


def test_exclusions_are_dropped(folder):
    with_runs(folder, "ONE")
    (folder / "exclude.tsv").write_text("query-id\tcorpus-id\n1\td\n")
    slates = read_folder(folder, depth=1)
    assert ids(slates) == {"2": ("c",), "1": ("b",)}
    assert slates.report.examples("excluded") == ("1/d",)


def test_a_corpus_of_judged_pools_is_recognised_and_put_in_a_seeded_order(folder):
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n2\tc\t1\n2\td\t0\n"
    )
    slates = read_folder(folder)
    assert {query: set(held) for query, held in ids(slates).items()} == {
        "1": {"a", "b"},
        "2": {"c", "d"},
    }
    assert slates.report.count("seeded_order") == 2
    assert ids(read_folder(folder, order="file")) == {"1": ("a", "b"), "2": ("c", "d")}


def test_another_judgment_file(folder):
    with_runs(folder, "ONE")
    (folder / "binary.tsv").write_text("query-id\tcorpus-id\tscore\n1\tb\t1\n2\tc\t1\n")
    assert next(s for s in read_folder(folder, qrels="binary.tsv") if s.id == "1").grades == {"b": 1}
    with pytest.raises(InputError, match=r"holds no none\.tsv"):
        read_folder(folder, qrels="none.tsv")


def test_parts_of_a_splits_file(folder):
    with_runs(folder, "ONE")
    (folder / "qrels" / "test.tsv").rename(folder / "qrels.tsv")
    (folder / "qrels" / "dev.tsv").unlink()
    (folder / "qrels").rmdir()
    with pytest.raises(UsageError, match=r"neither qrels/ nor splits\.tsv"):
        read_folder(folder, split="dev")
    (folder / "splits.tsv").write_text("1\tdev\n2\ttest\n")
    assert ids(read_folder(folder, split="dev")) == {"1": ("d", "b", "a")}
    assert set(ids(read_folder(folder))) == {"1", "2"}
    with pytest.raises(UsageError, match=r"known|has \['dev', 'test'\]"):
        read_folder(folder, split="train")


def test_queries_that_disagree_are_warned_about(folder):
    with_runs(folder, "ONE")
    with (folder / "runs" / "ONE.trec").open("a") as handle:
        handle.write("3 Q0 d 1 1 t\n")
    with pytest.warns(InputWarning, match="1 queries of the run without judgments, left out: 3"):
        assert set(ids(read_folder(folder))) == {"1", "2"}


def test_folders_of_one_file(tmp_path):
    dump(tmp_path / "qa.jsonl", {"id": "q", "question": "a", "paragraphs": [{"text": "t"}]})
    assert ids(read_folder(tmp_path)) == {"q": ("q-0",)}
    (tmp_path / "qa.jsonl").unlink()
    dump(tmp_path / "responses.jsonl", {"id": "r", "prompt": "a", "responses": ["x", "y"], "gold": 0})
    slates = read_folder(tmp_path)
    assert set(ids(slates)["r"]) == {"r-0", "r-1"}
    assert slates.report.count("seeded_order") == 1
    dump(tmp_path / "slates.jsonl", {"id": "s", "query": "a", "candidates": []})
    assert ids(read_folder(tmp_path)) == {"s": ()}


def test_wrong_use_and_missing_parts(folder, tmp_path_factory):
    with pytest.raises(UsageError, match=r"unknown form 'pool'; known are \['bm25'"):
        read_folder(folder, form="pool")
    with pytest.raises(UsageError, match="give one of them"):
        read_folder(folder, run="X", form="bm25")
    with pytest.raises(UsageError, match="own=True"):
        read_folder(folder, own=True, form="judged")
    with pytest.raises(InputError, match=r"holds no responses\.jsonl; it holds \['corpus\.jsonl'"):
        read_folder(folder, form="responses")
    with pytest.raises(InputError, match="no such folder"):
        read_folder(folder / "none")
    with pytest.raises(InputError, match=r"holds no corpus\.jsonl"):
        read_folder(tmp_path_factory.mktemp("empty"))


def test_no_depth_takes_all_and_unjudged_folders_have_no_grades(folder):
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    for name in ("test", "dev"):
        (folder / "qrels" / f"{name}.tsv").unlink()
    (folder / "qrels").rmdir()
    slates = list(read_folder(folder, depth=None))
    assert {slate.id: (len(slate), slate.grades) for slate in slates} == {
        "1": (2, None),
        "2": (1, None),
        "3": (1, None),
    }
    with pytest.raises(InputError, match="form 'judged' needs qrels"):
        read_folder(folder, form="judged")


def test_a_bad_line_of_the_splits_file_is_named(folder):
    with_runs(folder, "ONE")
    (folder / "qrels" / "test.tsv").rename(folder / "qrels.tsv")
    (folder / "qrels" / "dev.tsv").unlink()
    (folder / "qrels").rmdir()
    (folder / "splits.tsv").write_text("1\tdev\n2 test\n")
    with pytest.raises(InputError, match="query id, tab, split") as caught:
        read_folder(folder, split="dev")
    assert caught.value.line == 2


def test_load_slates_reads_either(folder):
    with_runs(folder, "ONE")
    assert ids(load_slates(folder, run=None, depth=1)) == {"2": ("c",), "1": ("d",)}
    dump(folder / "s.jsonl", {"id": "s", "query": "a", "candidates": []})
    assert ids(load_slates(folder / "s.jsonl", run=None)) == {"s": ()}
    with pytest.raises(UsageError, match=r"\['depth'\] are for a collection folder"):
        load_slates(folder / "s.jsonl", depth=3)
    with pytest.raises(UsageError, match="is for a file"):
        load_slates(folder, format="qa")
    with pytest.raises(InputError, match="no such file or folder"):
        load_slates(folder / "none")


def test_bad_answers_are_errors_with_their_line_and_unknown_options_list_the_known(tmp_path):
    files = {
        "corpus.jsonl": '{"_id": "a", "text": "x"}\n{"_id": "b", "text": "y"}\n',
        "queries.jsonl": '{"_id": "q", "text": "x"}\n',
        "qrels.tsv": "q\ta\t1\n",
        "qa.jsonl": '{"id": "q", "answer": "x"}\n{"id": "q", "answer": "y"}\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"qa.jsonl:2: id 'q' stands twice"):
        load_slates(tmp_path, form="judged")
    (tmp_path / "qa.jsonl").write_text('{"id": "q", "answer": ["x"]}\n')
    with pytest.raises(InputError, match=r"qa.jsonl:1: an answer must be a string"):
        load_slates(tmp_path, form="judged")
    with pytest.raises(UsageError, match=r"\['colour'\].*'depth'"):
        load_slates(tmp_path, colour="red")
