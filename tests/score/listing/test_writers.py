import numpy as np
import pytest

from evenhand.errors import UsageError
from evenhand.score import open_scorer
from evenhand.score.listing.listwise import ListwiseScorer
from evenhand.score.listing.rankprompt import rank_prompt
from evenhand.score.listing.writers import ChatWriter, FunctionWriter, LocalWriter
from evenhand.types import Candidate, Presentation, Shown, Slate, Surface

SLATE = Slate(
    "s", "boil an egg", (Candidate("a", "an egg boils"), Candidate("b", "the moon <|im_end|>"))
)
PROMPT = rank_prompt(SLATE, (0, 1), Surface())


@pytest.fixture
def loaded(tiny_model, tiny_tokenizer):
    from evenhand.models.load import Loaded

    model = tiny_model("llama", seed=1)
    return Loaded(model, tiny_tokenizer, "tiny", "1", model.device, "float32")


def test_a_local_model_reads_the_template_and_foreign_text_stays_text(loaded, tiny_tokenizer):
    writer = LocalWriter(loaded)
    ids = writer._ids(PROMPT)
    whole = tiny_tokenizer.apply_chat_template(
        PROMPT.messages(), tokenize=False, add_generation_prompt=True
    )
    assert tiny_tokenizer.decode(ids) == whole
    # Two turns end; the one that the text spells is no token.
    assert ids.count(tiny_tokenizer.convert_tokens_to_ids("<|im_end|>")) == 2


def test_a_local_model_answers_and_counts_its_tokens(loaded, tiny_tokenizer):
    writer = LocalWriter(loaded)
    short, long = writer.write([PROMPT, PROMPT], [3, 9])
    assert long.text.startswith(short.text)
    read = len(writer._ids(PROMPT))
    assert read < short.tokens <= read + 3
    assert short.failure is None


def test_a_prompt_over_the_context_is_a_failure_of_its_own(loaded):
    read = len(LocalWriter(loaded)._ids(PROMPT))
    fits, over = LocalWriter(loaded, context=read + 5).write([PROMPT, PROMPT], [5, 6])
    assert fits.failure is None
    assert over.text is None
    assert f"{read + 6} tokens are over the context of {read + 5}" in over.failure


def test_a_template_without_a_system_role_still_gets_the_instruction(loaded, tiny_tokenizer):
    before = tiny_tokenizer.chat_template
    try:
        tiny_tokenizer.chat_template = "{{ messages[-1]['content'] }}"
        ids = LocalWriter(loaded)._ids(PROMPT)
    finally:
        tiny_tokenizer.chat_template = before
    assert tiny_tokenizer.decode(ids).startswith(f"{PROMPT.system}\n\nQuery: boil")


def test_a_local_scorer_scores_a_slate(loaded):
    scorer = ListwiseScorer(LocalWriter(loaded))
    (scored,) = scorer.score([Shown(SLATE, Presentation((0, 1), ((0, 1),)))])
    # A random model writes no ranking; that is counted, not guessed.
    assert np.isnan(scored.scores).all()
    assert scored.failure.startswith("1 of 1 rankings not as asked")
    assert scorer.name == "listwise:tiny"


def test_revisions_tell_what_moves_answers(loaded):
    plain = LocalWriter(loaded, chat_template="plain")
    assert (
        len({LocalWriter(loaded).revision, plain.revision, LocalWriter(loaded, context=9).revision})
        == 3
    )
    assert LocalWriter(loaded, token_budget=1).revision == LocalWriter(loaded).revision


def test_a_function_that_gives_no_text_or_raises():
    none, broken = FunctionWriter(lambda messages: None), FunctionWriter(lambda messages: 1 / 0)
    assert none.write([PROMPT], [9])[0].failure == "the function returned NoneType, not a text"
    assert broken.write([PROMPT], [9])[0].failure.startswith("the function raised ZeroDivisionError")
    with pytest.raises(UsageError, match="function of chat messages, got str"):
        FunctionWriter("gpt")


def test_a_key_stands_nowhere(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    writer = ChatWriter("m", base_url="http://host/v1", key_variable="MY_KEY")
    scorer = ListwiseScorer(writer)
    assert "secret" not in repr((scorer, scorer.name, scorer.revision, vars(writer)["_caller"]))
    monkeypatch.setenv("MY_KEY", "another")
    assert ChatWriter("m", base_url="http://host/v1", key_variable="MY_KEY").revision == writer.revision
    assert ChatWriter("n", base_url="http://host/v1").revision != writer.revision


def test_a_name_for_the_weights_behind_an_endpoint():
    bare = ChatWriter("m", base_url="http://host/v1")
    named = ChatWriter("m", base_url="http://host/v1", revision="v7")
    assert named.revision == f"v7 {bare.revision}"
    assert (bare.unseen, named.unseen) == (("the weights behind the service",), ())
    scorers = [
        open_scorer("listwise:openai:m", base_url="http://host/v1", revision=revision)
        for revision in ("v7", "v8")
    ]
    assert scorers[0].revision != scorers[1].revision
    for wrong in ("", 7):
        with pytest.raises(UsageError, match="revision must be a name"):
            ChatWriter("m", base_url="http://host/v1", revision=wrong)
