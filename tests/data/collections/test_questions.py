"""Questions and training sets: sizes and lengths of the protocol."""

from evenhand.data.collections.questions import QUESTIONS, TRAINING


def test_questions_are_200_of_ten_paragraphs():
    for name, one in QUESTIONS.items():
        assert (one.slates, one.counts.candidates) == (200, 2000), name
        assert (one.rubric, one.width, one.cap) == ("answer_support", 10, 1600), name
        assert one.origin.take.count == 200, name


def test_training_sets():
    assert list(TRAINING) == ["msmarco_train", "hotpotqa_train", "ultrafeedback"]
    assert {one.use for one in TRAINING.values()} == {"training"}
    marco = TRAINING["msmarco_train"]
    assert (marco.slates, marco.origin.take.count, marco.origin.take.how) == (30_000, 30_000, "seeded")
    assert TRAINING["hotpotqa_train"].counts.candidates == 30_500 * 10
    assert TRAINING["ultrafeedback"].counts.candidates == 30_700 * 4
