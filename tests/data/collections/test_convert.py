"""Converters: one row of each source, and what is left out and why."""

from __future__ import annotations

from collections import Counter

import pytest

from evenhand.data.collections.convert import (
    CONVERTERS,
    bright_query,
    converter,
    grade_of,
    hotpot,
    musique,
    nectar,
    normal_form,
    ppe,
    rewardbench2,
    rm_bench,
    ultrafeedback,
)
from evenhand.errors import InputError


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Name a river!", "  name\n a RIVER "),
        ("What is 2+2?", "what is 2+2"),
        ("Ｆｕｌｌ width", "full width"),  # NFKC
    ],
)
def test_prompts_alike_have_one_normal_form(first, second):
    assert normal_form(first) == normal_form(second)


def test_other_prompts_have_other_normal_forms():
    assert normal_form("What is 2+2?") != normal_form("What is 2-2?")


@pytest.mark.parametrize(
    ("score", "grade"),
    [(1.0, 0), (3.99, 0), (4.0, 1), (5.9, 1), (6.0, 2), (7.99, 2), (8.0, 3), (10.0, 3)],
)
def test_the_cuts_4_6_8(score, grade):
    assert grade_of(score) == grade


ROW = {
    "id": "q1",
    "question": "Which?",
    "answer": "this",
    "supporting_facts": {"title": ["t1", "t4", "t1"], "sent_id": [0, 1, 2]},
    "context": {"title": [f"t{i}" for i in range(10)], "sentences": [["A. ", " B."]] * 10},
}


def test_a_hotpot_question_has_joined_sentences_and_marks():
    record = hotpot(ROW, "validation-0")
    assert record["id"] == "q1"
    assert record["answers"] == ["this"]
    assert [p["is_supporting"] for p in record["paragraphs"]] == [i in (1, 4) for i in range(10)]
    assert record["paragraphs"][1] == {
        "title": "t1", "text": "A. B.", "is_supporting": True, "id": "q1-1",
    }  # fmt: skip


@pytest.mark.parametrize("count", [2, 9, 11])
def test_a_question_without_ten_paragraphs_is_left_out(count):
    context = {"title": [f"t{i}" for i in range(count)], "sentences": [["A."]] * count}
    assert hotpot({**ROW, "context": context}, "x") == "no ten paragraphs of which two support"


def test_a_question_with_three_supporting_paragraphs_is_left_out():
    facts = {"title": ["t1", "t2", "t3"], "sent_id": [0, 0, 0]}
    assert hotpot({**ROW, "supporting_facts": facts}, "x") == "no ten paragraphs of which two support"


def musique_row(supporting):
    paragraphs = [
        {"idx": i, "title": f"t{i}", "paragraph_text": f"x{i}", "is_supporting": i in supporting}
        for i in range(20)
    ]
    return {
        "id": "2hop__1_2", "question": "Who?", "answer": "Ann", "answer_aliases": ["Anne", "Ann"],
        "paragraphs": paragraphs[::-1],
    }  # fmt: skip


def test_musique_keeps_support_and_the_first_others_in_the_order_of_the_source():
    record = musique(musique_row({3, 17}), "dev-0")
    # Eight others: 0, 1, 2, 4, 5, 6, 7, 8; with 3 and 17 in their places.
    assert [p["title"] for p in record["paragraphs"]] == [f"t{i}" for i in (*range(9), 17)]
    assert sum(p["is_supporting"] for p in record["paragraphs"]) == 2
    assert record["answers"] == ["Ann", "Anne"]


def test_musique_of_four_hops_is_left_out():
    assert musique(musique_row({1, 2, 3, 4}), "dev-0") == "no ten paragraphs of which two support"


def test_nectar_ranks_become_grades_and_the_frame_goes():
    answers = [{"answer": f"a{r}", "model": "m", "rank": float(r)} for r in (7, 1, 2, 3, 4, 5, 6)]
    record = nectar({"prompt": "\n\nHuman: Hi there\n\nAssistant: ", "answers": answers}, "rlaif-5")
    assert record["id"] == "nectar-rlaif-5"
    assert record["prompt"] == "Hi there"
    assert record["responses"][0] == "a7"
    assert record["scores"] == [0, 3, 2, 2, 1, 1, 0]


def test_nectar_keeps_the_turns_of_a_dialogue():
    answers = [{"answer": "a", "model": "m", "rank": float(r)} for r in range(1, 8)]
    prompt = "\n\nHuman: One\n\nAssistant: Two\n\nHuman: Three\n\nAssistant: "
    record = nectar({"prompt": prompt, "answers": answers}, "rlaif-0")
    assert record["prompt"] == "Human: One\n\nAssistant: Two\n\nHuman: Three"


@pytest.mark.parametrize("ranks", [[1, 2, 3], [1, 2, 3, 4, 5, 6, 6], [None] * 7])
def test_nectar_without_seven_ranks_is_left_out(ranks):
    answers = [{"answer": "a", "model": "m", "rank": rank} for rank in ranks]
    assert nectar({"prompt": "p", "answers": answers}, "x") == "no seven responses of ranks 1 to 7"


def test_ultrafeedback_scores_become_grades():
    scores = [3.9, 4.0, 7.5, 8.0]
    completions = [{"response": f"r{i}", "overall_score": s} for i, s in enumerate(scores)]
    record = ultrafeedback({"instruction": "p", "completions": completions}, "flan-3")
    assert (record["id"], record["scores"]) == ("uf-flan-3", [0, 1, 2, 3])


@pytest.mark.parametrize("scores", [[1.0, 2.0], [1.0, 2.0, None, 4.0], [1.0, 2.0, "N/A", 4.0]])
def test_ultrafeedback_without_four_scores_is_left_out(scores):
    completions = [{"response": "r", "overall_score": score} for score in scores]
    row = {"instruction": "p", "completions": completions}
    assert ultrafeedback(row, "x") == "no four responses with a score"


def test_an_empty_response_is_left_out():
    completions = [{"response": " ", "overall_score": 5.0}] * 4
    found = ultrafeedback({"instruction": "p", "completions": completions}, "x")
    assert found == "an empty prompt or response"


def test_rewardbench2_has_one_right_of_four_and_no_ties():
    row = {"id": 12, "prompt": "p", "chosen": ["a"], "rejected": ["b", "c", "d"], "subset": "Focus"}
    record = rewardbench2(row, "test-0")
    assert (record["id"], record["scores"]) == ("rb2-12", [1, 0, 0, 0])
    assert rewardbench2({**row, "subset": "Ties"}, "x").startswith("the part Ties")
    assert rewardbench2({**row, "rejected": ["b"]}, "x") == "no one right and three wrong responses"


def test_rm_bench_has_three_right_of_six():
    row = {"id": "chat/1", "prompt": "p", "chosen": ["a", "b", "c"], "rejected": ["d", "e", "f"]}
    assert rm_bench(row, "x")["scores"] == [1, 1, 1, 0, 0, 0]


def ppe_row(scores, key="k"):
    texts = {f"response_{i}": f"text {i}" for i in range(1, len(scores) + 1)}
    return {"question_id": key, "prompt": "p", "scores": scores, **texts}


def test_ppe_draws_four_of_each_and_the_same_four_each_time():
    scores = [True] * 9 + [False] * 23
    record = ppe(ppe_row(scores), "train-0")
    assert Counter(record["scores"]) == {1: 4, 0: 4}
    numbers = [int(text.split()[1]) for text in record["responses"]]
    assert [scores[number - 1] for number in numbers] == [True] * 4 + [False] * 4
    assert len(set(numbers)) == 8
    assert ppe(ppe_row(scores), "train-0") == record
    assert ppe(ppe_row(scores, key="other"), "train-0")["responses"] != record["responses"]


def test_ppe_takes_what_there_is_and_leaves_out_what_decides_nothing():
    assert ppe(ppe_row([True, False, False]), "x")["scores"] == [1, 0, 0]
    assert ppe(ppe_row([True, True]), "x") == "no right or no wrong response"
    assert ppe(ppe_row([False, False]), "x") == "no right or no wrong response"


def test_bright_has_no_exclusion_named_na():
    row = {"id": "0", "query": "q", "gold_ids": ["a"], "excluded_ids": ["N/A"]}
    assert bright_query(row, "x") == {"_id": "0", "text": "q", "relevant": ["a"], "excluded": []}


def test_a_row_without_its_columns_says_which():
    with pytest.raises(InputError, match=r"without chosen; it has \['id'\]"):
        rm_bench({"id": "1"}, "x")


def test_every_declared_converter_exists():
    from evenhand.data.collections import COLLECTIONS, Hub

    used = {
        converter(one.origin.convert, role)
        for one in COLLECTIONS.values()
        if isinstance(one.origin, Hub)
        for role in one.origin.files
    }
    assert used == set(CONVERTERS.values())
