"""A word-level tokenizer, tiny models and slates for tests of training."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.types import Candidate, Slate

WORDS = (
    "egg water seven minute boil salt pan heat shell yolk river stone paper glass wood metal".split()
)


def make_slate(name="s1", n=7, query="how long does an egg boil", grades=None, seed=0):
    """A slate of short candidates that differ."""
    rng = np.random.default_rng(abs(sum(map(ord, name))) + 1000 * seed)
    texts = [" ".join(rng.choice(WORDS, size=3 + i % 3)) for i in range(n)]
    candidates = tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts))
    return Slate(name, query, candidates, grades)


def build_word_tokenizer(chat_template):
    """A tokenizer with one token a word, so that prompts are short."""
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    from tokenizers import models, pre_tokenizers

    from evenhand.present.surface import render
    from evenhand.present.texts import RUBRICS, SKELETONS
    from evenhand.types import Surface

    surfaces = [Surface(rubric=name) for name in RUBRICS] + [
        Surface(skeleton=name) for name in SKELETONS
    ]
    texts = [segment.text for one in surfaces for segment in render("q", ["c"], one)]
    letters = [chr(code) for base in "aA" for code in range(ord(base), ord(base) + 26)]
    found = re.findall(r"\d|[^\W\d]+|[^\w\s]+", " ".join([*texts, *WORDS, "[ ] system user assistant"]))
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocabulary = list(dict.fromkeys([*special, *"0123456789", *letters, *found]))
    inner = tokenizers.Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="<|endoftext|>")
    )
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Whitespace()]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        unk_token="<|endoftext|>",
        chat_template=chat_template,
        clean_up_tokenization_spaces=False,
        model_max_length=2048,
    )


@pytest.fixture(scope="session")
def word_tokenizer(tiny_tokenizer):
    """The word-level tokenizer; read it only."""
    return build_word_tokenizer(tiny_tokenizer.chat_template)


@pytest.fixture(scope="session")
def tiny_loaded(tiny_model, word_tokenizer):
    """A function (family, seed, layers) -> a new Loaded with random float32 weights."""
    torch = pytest.importorskip("torch")
    from evenhand.models.load import Loaded

    def build(family="llama", seed=0, layers=1):
        model = tiny_model(family, seed, layers)
        assert model.get_input_embeddings().weight.shape[0] >= len(word_tokenizer)
        return Loaded(model, word_tokenizer, f"tiny {family}", "r1", torch.device("cpu"), "float32")

    return build


# Tests are no package: what they share is put where `import train_help` finds it.
sys.modules["train_help"] = SimpleNamespace(make_slate=make_slate, WORDS=WORDS)  # type: ignore[assignment]
