import ir_measures
import pytest

from evenhand.data import InputWarning, read_qrels, read_run
from evenhand.errors import InputError, UsageError
from evenhand.seeds import tie_ranks


def put(path, text):
    path.write_bytes(text.encode())
    return path


def test_run_by_score_with_tabs_crlf_bom_odd_ids_and_numbers(tmp_path):
    text = "\ufeffq#1 Q0 d#1 1 1e-05 t\r\nq#1\tQ0\td|2\t2\t-3.5\tt\r\n  q2  Q0  x 1 .5 t \r\n"
    run = read_run(put(tmp_path / "a.trec", text))
    assert run == {"q#1": [("d#1", 1e-05), ("d|2", -3.5)], "q2": [("x", 0.5)]}
    assert run.report.to_dict() == {}


def test_ids_may_hold_spaces_between_tabs(tmp_path):
    run = read_run(put(tmp_path / "a.trec", "q 1\tQ0\td 1\t1\t2\tt\n"))
    assert run == {"q 1": [("d 1", 2.0)]}


def test_ties_follow_the_rank_column_then_the_hash(tmp_path):
    lines = ["q Q0 a 3 1.0 t", "q Q0 b 1 1.0 t", "q Q0 c 2 1.0 t", "q Q0 top 0 9 t"]
    assert [k for k, _ in read_run(put(tmp_path / "a", "\n".join(lines)))["q"]] == [
        "top",
        "b",
        "c",
        "a",
    ]
    ids = [f"d{i}" for i in range(8)]
    expected = [ids[i] for i in sorted(range(8), key=tie_ranks("q", ids).__getitem__)]
    for order in (ids, ids[::-1]):
        run = read_run(put(tmp_path / "b", "".join(f"q Q0 {key} 0 1.0 t\n" for key in order)))
        assert [key for key, _ in run["q"]] == expected


def test_a_rank_that_contradicts_the_score_is_accepted_with_a_warning(tmp_path):
    path = put(tmp_path / "a.trec", "q1 Q0 a 1 1.0 t\nq1 Q0 b 2 2.0 t\nq2 Q0 a 1 2 t\nq2 Q0 b 2 1 t\n")
    with pytest.warns(InputWarning, match="rank column contradicts the scores.*q1$"):
        run = read_run(path)
    assert run["q1"] == [("b", 2.0), ("a", 1.0)]
    assert run.report.examples("rank_contradicts_score") == ("q1",)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("q Q0 a 1 1.0", "5 fields"),
        ("q Q0 a 1 1.0 t extra", "7 fields"),
        ("q Q0 a 1 nan t", "'nan' is not a finite number"),
        ("q Q0 a 1 -inf t", "'-inf' is not a finite number"),
        ("q Q0 a 1 Infinity t", "not a finite number"),
        ("q Q0 a 1 1e999 t", "too large"),
        ("q Q0 a 1 1_0 t", "is not a number"),
        ("q Q0 a 1 0x1 t", "is not a number"),
        ("q Q0 a 1 ١ t", "is not a number"),
        ("q Q0 a first 1 t", "rank 'first' is not an integer"),
        ("q\tQ0\t\t1\t1\tt", "candidate id is empty"),
    ],
)
def test_bad_run_lines_are_errors_with_their_place(tmp_path, line, words):
    path = put(tmp_path / "a.trec", f"q Q0 ok 1 2 t\n{line}\n")
    with pytest.raises(InputError, match=words) as caught:
        read_run(path)
    assert (caught.value.path, caught.value.line) == (str(path), 2)


def test_repeated_run_lines_name_both_or_keep_the_higher(tmp_path):
    path = put(tmp_path / "a.trec", "q1 Q0 a 2 1 t\nq2 Q0 a 1 1 t\nq1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\n")
    with pytest.raises(InputError, match="'q1' and candidate 'a' stand in line 1 already") as caught:
        read_run(path)
    assert caught.value.line == 3
    with pytest.warns(InputWarning, match="1 repeated lines.*q1/a"):
        run = read_run(path, duplicates="max")
    assert run["q1"] == [("a", 3.0), ("b", 2.0)]
    with pytest.raises(UsageError, match=r"known are \['error', 'max'\]"):
        read_run(path, duplicates="first")


@pytest.mark.parametrize("sep", [" ", "\t"])
def test_trec_qrels(tmp_path, sep):
    lines = ["q1 0 d#1 3", "q1 0 d2 -1", "q2 0 d1 0"]
    path = put(tmp_path / "a", "".join(line.replace(" ", sep) + "\r\n" for line in lines))
    assert read_qrels(path) == {"q1": {"d#1": 3, "d2": -1}, "q2": {"d1": 0}}


def test_beir_qrels_with_and_without_header(tmp_path):
    body = "q1\td 1\t2\nq2\td2\t0\n"
    for head in ("query-id\tcorpus-id\tscore\n", ""):
        assert read_qrels(put(tmp_path / "a.tsv", head + body)) == {"q1": {"d 1": 2}, "q2": {"d2": 0}}


def test_trec_qrels_agree_with_ir_measures(tmp_path):
    path = put(tmp_path / "a", "q1 0 a 3\nq1 0 b 0\nq2 Q0 c 1\n")
    theirs = [(q.query_id, q.doc_id, q.relevance) for q in ir_measures.read_trec_qrels(str(path))]
    assert theirs == [(q, d, g) for q, held in read_qrels(path).items() for d, g in held.items()]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("q 0 d 1.0", "grade '1.0' is not an integer"),
        ("q 0 d high", "not an integer"),
        ("q 0 d", "3 fields"),
        ("q\td\t1", "3 fields"),
    ],
)
def test_bad_judgments_are_errors_with_their_place(tmp_path, line, words):
    path = put(tmp_path / "a", f"q 0 ok 1\n{line}\n")
    with pytest.raises(InputError, match=words) as caught:
        read_qrels(path)
    assert caught.value.line == 2


def test_repeated_judgments(tmp_path):
    with pytest.warns(InputWarning, match="1 judgments that stand twice.*q/a"):
        qrels = read_qrels(put(tmp_path / "a", "q 0 a 1\nq 0 b 0\nq 0 a 1\n"))
    assert qrels == {"q": {"a": 1, "b": 0}}
    assert qrels.report.count("repeated_judgment") == 1
    with pytest.raises(InputError, match="grade 2 here and grade 1 in line 1") as caught:
        read_qrels(put(tmp_path / "b", "q 0 a 1\nq 0 b 0\nq 0 a 2\n"))
    assert caught.value.line == 3


def test_a_number_too_long_to_read_is_an_error_and_cut_in_the_message(tmp_path):
    path = tmp_path / "long"
    digits = "9" * 5000
    for read, line in (
        (read_run, f"q Q0 a {digits} 1.0 t"),
        (read_run, f"q Q0 a 1 {digits} t"),
        (read_qrels, f"q 0 a {digits}"),
    ):
        path.write_text(line + "\n")
        with pytest.raises(InputError, match=f"{path}:1: .*9") as caught:
            read(path)
        assert len(str(caught.value)) < 300
