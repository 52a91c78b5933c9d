"""A transformers tokenizer, used so that foreign text stays text."""

from __future__ import annotations

import re
import string
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from evenhand.errors import ScorerError, UsageError
from evenhand.present.surface import Chat, Messages, plain_chat

# Bounds memory: about 36 bytes a token, whatever the length of the texts.
CACHED_TOKENS = 2_000_000
_CONTROL_FORM = re.compile(r"^(<.*>|\[[A-Z/_]+\])$", re.DOTALL)


class TokenizerTokens:
    """Ids of trusted and of foreign text; a text is tokenised once while it is remembered."""

    def __init__(self, tokenizer: Any) -> None:
        self.name = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
        self._tokenizer = tokenizer
        self._cache: OrderedDict[tuple[bool, str], tuple[tuple[int, ...], int]] = OrderedDict()
        self._cached = 0
        control = set(tokenizer.all_special_tokens)
        control |= {token for token in tokenizer.get_added_vocab() if _CONTROL_FORM.match(token)}
        ordered = sorted((token for token in control if len(token) > 1), key=lambda t: (-len(t), t))
        self._control = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def literal(self, text: str) -> tuple[int, ...]:
        """Return ids of trusted text, special tokens recognised."""
        return self._remember(True, text)[0]

    def text(self, text: str) -> tuple[tuple[int, ...], int]:
        """Return ids of foreign text and how many control tokens it spelled.

        A spelled control token is cut after its first character and the pieces
        are tokenised apart, so it reads as the text it is.
        """
        return self._remember(False, text)

    def texts(self, texts: Sequence[str]) -> list[tuple[tuple[int, ...], int]]:
        """Return the same of many texts, those not remembered in one call of the tokenizer.

        Fast tokenizers spread such a call over the cores of the machine.
        """
        unknown = [text for text in dict.fromkeys(texts) if (False, text) not in self._cache]
        known = {text: self._remember(False, text) for text in texts if (False, text) in self._cache}
        cut = [self._pieces(text) for text in unknown]
        ids = iter(self._encode_all([piece for pieces in cut for piece in pieces if piece]))
        for text, pieces in zip(unknown, cut, strict=True):
            own = tuple(i for piece in pieces if piece for i in next(ids))
            known[text] = self._keep((False, text), own, len(pieces) - 1)
        return [known[text] for text in texts]

    def _remember(self, trusted: bool, text: str) -> tuple[tuple[int, ...], int]:
        key = (trusted, text)
        if key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key]
        pieces = [text] if trusted else self._pieces(text)
        ids = tuple(i for piece in pieces if piece for i in self._encode(piece))
        return self._keep(key, ids, len(pieces) - 1)

    def _keep(
        self, key: tuple[bool, str], ids: tuple[int, ...], spelled: int
    ) -> tuple[tuple[int, ...], int]:
        self._cache[key] = (ids, spelled)
        self._cached += len(ids)
        while self._cached > CACHED_TOKENS and len(self._cache) > 1:
            _, (dropped, _) = self._cache.popitem(last=False)
            self._cached -= len(dropped)
        return ids, spelled

    def _pieces(self, text: str) -> list[str]:
        pieces, start = [], 0
        while self._control is not None and (match := self._control.search(text, start)):
            pieces.append(text[start : match.start() + 1])
            start = match.start() + 1
        return [*pieces, text[start:]]

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) < 2:
            return [self._encode(text) for text in texts]
        found: list[list[int]] = self._tokenizer(
            list(texts), add_special_tokens=False, return_attention_mask=False
        )["input_ids"]
        return found


def opening(tokenizer: Any) -> str:
    """Return the token that the tokenizer puts before every text by itself, or ""."""
    ids = tokenizer.encode("", add_special_tokens=True)
    if tokenizer.bos_token is not None and tokenizer.bos_token_id in ids:
        return str(tokenizer.bos_token)
    return ""


def chat_of(tokenizer: Any, chat_template: str | None = None) -> Chat:
    """Return how messages become a prompt that ends where the assistant writes.

    Args:
        chat_template: None uses the tokenizer's own (the plain form where it has
            none), "plain" the plain form.

    Raises:
        UsageError: the name is unknown.
    """
    if chat_template not in (None, "plain"):
        raise UsageError(f"unknown chat_template {chat_template!r}; known are None (own) and 'plain'")
    if chat_template == "plain" or not tokenizer.chat_template:
        start = opening(tokenizer)
        return lambda messages: start + plain_chat(messages)

    def chat(messages: Messages) -> str:
        text = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        if not isinstance(text, str):
            raise ScorerError("the chat template did not give a text")
        return text

    return chat


def single_token_signs(tokens: TokenizerTokens) -> tuple[str, ...]:
    """Return the letters that are one token, with a space before them and without."""
    signs = []
    for sign in string.ascii_uppercase + string.ascii_lowercase:
        if len(tokens.literal(sign)) == 1 and len(tokens.literal(f" {sign}")) == 1:
            signs.append(sign)
    return tuple(signs)
