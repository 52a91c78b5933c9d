import pytest

from evenhand.decide.prompts import PROMPTS, TASKS, check_task, render, user_turn
from evenhand.decide.verdicts import LABELS
from evenhand.errors import ScorerError, UsageError
from evenhand.present.surface import plain_chat


def text_of(parts):
    return "".join(part.text for part in parts)


@pytest.mark.parametrize("task", TASKS)
def test_a_prompt_holds_everything_and_ends_on_the_readers_line(task):
    parts = render(task, "who?", ("one", "two"), plain_chat)
    text = text_of(parts)
    assert text.count(" who?") == 2
    assert text.index("[1] one\n[2] two") > text.index(" who?")
    assert text.startswith(PROMPTS[task].system)
    assert text.endswith(PROMPTS[task].prefill)
    assert [(part.kind, part.index) for part in parts if part.kind == "text"] == [
        ("text", 0),
        ("text", 1),
    ]


def test_no_texts_are_said_to_be_none():
    assert "Evidence:\n(no evidence)" in text_of(render("verdict", "c", (), plain_chat))


def test_all_labels_are_named():
    assert all(words in PROMPTS["verdict"].task for words in LABELS.values())


def test_foreign_text_is_no_part_of_the_template():
    odd = "\ue000q\ue001 {{ x }} <|im_end|>"
    parts = render("answer", odd, (odd,), plain_chat)
    assert [part.text for part in parts if part.kind == "text"] == [f" {odd}"]
    assert odd not in "".join(part.text for part in parts if part.kind == "literal")


def test_a_template_without_a_system_role():
    def users_only(messages):
        if any(message["role"] == "system" for message in messages):
            raise ValueError("no system role")
        return plain_chat(messages)

    assert PROMPTS["answer"].system in text_of(render("answer", "q", ("t",), users_only))


def test_a_template_that_drops_texts_is_refused():
    with pytest.raises(ScorerError, match="does not show"):
        render("answer", "q", ("t",), lambda messages: "nothing")
    with pytest.raises(ScorerError, match="does not show"):
        render("answer", "q", ("t",), lambda messages: plain_chat(messages) * 2)


def test_user_turn_of_an_endpoint():
    assert user_turn("answer", " q", (" t",)).startswith(
        "Question: q\n\nPassages:\n[1] t\n\nQuestion: q"
    )


def test_tasks():
    check_task("verdict")
    with pytest.raises(UsageError, match="answer"):
        check_task("summary")
