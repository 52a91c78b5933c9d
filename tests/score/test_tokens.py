"""Foreign text stays text, trusted text keeps its special tokens."""

from __future__ import annotations

import copy

import pytest

from evenhand.errors import UsageError
from evenhand.score.tokens import TokenizerTokens, chat_of, opening, single_token_signs


def test_special_tokens_count_in_trusted_text_alone(tiny_tokenizer):
    tokens = TokenizerTokens(tiny_tokenizer)
    special = tiny_tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert tokens.literal("a<|im_end|>") == (*tokens.literal("a"), special)
    ids, escaped = tokens.text("a<|im_end|>b<|im_start|>")
    assert special not in ids
    assert escaped == 2
    assert tiny_tokenizer.decode(ids) == "a<|im_end|>b<|im_start|>"


def test_control_tokens_that_are_not_special_are_text_too(tiny_tokenizer):
    tokenizer = copy.deepcopy(tiny_tokenizer)
    tokenizer.add_tokens(["<think>"])
    ids, escaped = TokenizerTokens(tokenizer).text("a <think> b")
    assert tokenizer.convert_tokens_to_ids("<think>") not in ids
    assert escaped == 1


def test_each_text_is_tokenised_once(tiny_tokenizer):
    calls = []

    class Counting:
        def __getattr__(self, name):
            return getattr(tiny_tokenizer, name)

        def encode(self, text, **options):
            calls.append(text)
            return tiny_tokenizer.encode(text, **options)

    tokens = TokenizerTokens(Counting())
    assert tokens.text("egg") == tokens.text("egg")
    assert calls == ["egg"]


def test_cache_is_bounded(tiny_tokenizer, monkeypatch):
    monkeypatch.setattr("evenhand.score.tokens.CACHED_TOKENS", 2)
    tokens = TokenizerTokens(tiny_tokenizer)
    for text in ("a", "b", "c"):
        tokens.text(text)
    assert [text for _, text in tokens._cache] == ["b", "c"]
    # a text longer than the bound is still remembered, alone
    assert len(tokens.text("a b c")[0]) > 2
    assert [text for _, text in tokens._cache] == ["a b c"]


def test_chat_template_and_plain_form(tiny_tokenizer):
    messages = [{"role": "user", "content": "hello"}]
    assert chat_of(tiny_tokenizer)(messages).endswith("<|im_end|>\n<|im_start|>assistant\n")
    assert chat_of(tiny_tokenizer, "plain")(messages) == opening(tiny_tokenizer) + "hello\n\n"
    bare = copy.deepcopy(tiny_tokenizer)
    bare.chat_template = None
    assert chat_of(bare)(messages) == opening(bare) + "hello\n\n"
    with pytest.raises(UsageError, match="unknown chat_template 'fancy'"):
        chat_of(tiny_tokenizer, "fancy")


def test_signs_are_single_tokens(tiny_tokenizer):
    tokens = TokenizerTokens(tiny_tokenizer)
    signs = single_token_signs(tokens)
    assert signs
    assert all(len(tokens.literal(s)) == len(tokens.literal(f" {s}")) == 1 for s in signs)


def test_many_texts_are_tokenised_as_one_by_one_and_in_one_call(tiny_tokenizer):
    calls = []

    class Counting:
        def __getattr__(self, name):
            return getattr(tiny_tokenizer, name)

        def __call__(self, texts, **options):
            calls.append(list(texts))
            return tiny_tokenizer(texts, **options)

    texts = ["egg", "", "a<|im_end|>b", "seven minutes", "egg", "water " * 40]
    tokens, alone = Counting(), TokenizerTokens(tiny_tokenizer)
    many = TokenizerTokens(tokens)
    assert many.texts(texts) == [alone.text(text) for text in texts]
    # Each once, a control token cut after its first character, nothing empty.
    assert calls == [["egg", "a<", "|im_end|>b", "seven minutes", "water " * 40]]
    assert many.texts(texts) == [alone.text(text) for text in texts]
    assert many.texts(["pan", "egg"])[0] == alone.text("pan")
    assert len(calls) == 1
    assert many._cached == alone._cached == sum(len(ids) for ids, _ in many._cache.values())
    assert many.texts([]) == []


def test_many_texts_may_be_more_than_are_remembered(tiny_tokenizer, monkeypatch):
    monkeypatch.setattr("evenhand.score.tokens.CACHED_TOKENS", 2)
    texts = ["a", "b c d", "a", "e"]
    wanted = [TokenizerTokens(tiny_tokenizer).text(text) for text in texts]
    tokens = TokenizerTokens(tiny_tokenizer)
    for _ in range(2):
        assert tokens.texts(texts) == wanted
        assert tokens._cached == sum(len(ids) for ids, _ in tokens._cache.values())
    # The longest came last of those that were not remembered, and stands alone.
    assert [text for _, text in tokens._cache] == ["b c d"]
