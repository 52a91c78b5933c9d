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
