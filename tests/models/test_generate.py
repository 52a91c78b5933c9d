import pytest

torch = pytest.importorskip("torch")

from evenhand.models.generate import greedy

PROMPTS = ("Query: how long", "Grade", "[1] Grade: 0 and a much longer text than the others", "Passage")


def by_hand(model, ids, most, stops):
    """The likeliest token after the whole text so far, again and again, one prompt alone."""
    found = list(ids)
    for _ in range(most):
        with torch.inference_mode():
            logits = model(torch.tensor([found])).logits[0, -1]
        token = int(logits.argmax())
        if token in stops:
            break
        found.append(token)
    return tuple(found[len(ids) :])


@pytest.mark.parametrize("budget", [1, 40, 10_000])
def test_batches_do_not_matter(tiny_model, tiny_tokenizer, budget):
    model = tiny_model("llama", seed=3)
    prompts = [tiny_tokenizer.encode(text) for text in PROMPTS]
    expected = [by_hand(model, ids, 6, {tiny_tokenizer.eos_token_id}) for ids in prompts]
    assert greedy(model, tiny_tokenizer, prompts, 6, token_budget=budget) == expected
    assert any(expected)


def test_an_answer_ends_with_the_turn(tiny_model, tiny_tokenizer):
    model = tiny_model("llama", seed=3)
    prompt = tiny_tokenizer.encode(PROMPTS[0])
    (free,) = greedy(model, tiny_tokenizer, [prompt], 6)
    # The model now counts its own third token as an end.
    model.generation_config.eos_token_id = free[2]
    (ended,) = greedy(model, tiny_tokenizer, [prompt], 6)
    assert ended == free[: free.index(free[2])]


def test_settings_that_sample_do_not_apply(tiny_model, tiny_tokenizer):
    model = tiny_model("llama", seed=3)
    prompt = tiny_tokenizer.encode(PROMPTS[0])
    expected = greedy(model, tiny_tokenizer, [prompt], 6)
    model.generation_config.do_sample = True
    model.generation_config.temperature = 5.0
    model.generation_config.repetition_penalty = 9.0
    assert greedy(model, tiny_tokenizer, [prompt], 6) == expected


def test_none(tiny_model, tiny_tokenizer):
    assert greedy(tiny_model("llama"), tiny_tokenizer, [], 6) == []


def test_one_line_is_the_beginning_of_the_whole_answer(tiny_model, tiny_tokenizer):
    model = tiny_model("llama", seed=3)
    prompts = [tiny_tokenizer.encode(text) for text in PROMPTS]
    whole = greedy(model, tiny_tokenizer, prompts, 24)
    # Whatever the model writes, a text that it does write ends the line here.
    ends = {row: tiny_tokenizer.decode(row[2]) for row in whole if len(row) > 3}
    assert ends
    for row, text in ends.items():
        if not text.strip():
            continue
        spoken = _Spoken(tiny_tokenizer, text)
        at = whole.index(row)
        [cut] = greedy(model, spoken, [prompts[at]], 24, one_line=True)
        together = greedy(model, spoken, prompts, 24, one_line=True)
        assert cut == together[at] == row[: row.index(row[2]) + 1]


class _Spoken:
    """A tokenizer in which one text is the end of a line."""

    def __init__(self, tokenizer, text):
        self._tokenizer, self._text = tokenizer, text

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)

    def decode(self, ids, **options):
        pieces = [self._tokenizer.decode([i], **options) for i in ids]
        return "".join("x\n" if piece == self._text else piece for piece in pieces)
