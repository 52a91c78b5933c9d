"""What stands around a query and a text where a model reads both, as token ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.errors import ScorerError
from evenhand.score.tokens import TokenizerTokens

Ids = tuple[int, ...]
_QUERY, _TEXT = "\ue000q\ue001", "\ue000t\ue001"


@dataclass(frozen=True, slots=True)
class Frame:
    """The ids before the query, between both and after the text, with their types.

    Attributes:
        before, middle, after: ids.
        types: token types of these three and of query and text, in that order; the
            last two hold one number, for every token of the text.
    """

    before: Ids
    middle: Ids
    after: Ids
    types: tuple[Ids, Ids, Ids, Ids, Ids]

    @property
    def size(self) -> int:
        """Tokens of the frame alone."""
        return len(self.before) + len(self.middle) + len(self.after)

    def around(self, query: Ids, text: Ids) -> tuple[Ids, Ids]:
        """Return ids and types of query and text in the frame."""
        before, middle, after, of_query, of_text = self.types
        ids = (*self.before, *query, *self.middle, *text, *self.after)
        types = (*before, *of_query * len(query), *middle, *of_text * len(text), *after)
        return ids, types


def pair_frame(tokenizer: Any, tokens: TokenizerTokens) -> Frame:
    """Return the frame that a tokenizer puts around a pair of texts.

    Raises:
        ScorerError: it does not keep the ids of the two texts as they are alone.
    """
    query, text = tokens.literal("query"), tokens.literal("text")
    coded = tokenizer("query", "text", return_token_type_ids=True)
    ids, types = tuple(coded["input_ids"]), tuple(coded["token_type_ids"])
    start = _find(ids, query, 0)
    then = _find(ids, text, start + len(query)) if start >= 0 else -1
    if then < 0:
        raise ScorerError(
            f"{tokens.name} does not keep the texts of a pair as they are alone, so the second one "
            "cannot be cut here; wrap the model by evenhand.scorer(f) instead"
        )
    between, end = start + len(query), then + len(text)
    parts = (types[:start], types[between:then], types[end:])
    return Frame(ids[:start], ids[between:then], ids[end:], (*parts, (types[start],), (types[then],)))


def chat_frame(tokenizer: Any, tokens: TokenizerTokens) -> Frame:
    """Return the frame of a user's turn and an answer in the tokenizer's chat template.

    Raises:
        ScorerError: there is no template, or it does not keep both texts once each.
    """
    if not tokenizer.chat_template:
        raise ScorerError(f"{tokens.name} has no chat template; a reward model needs one")
    turns = [{"role": "user", "content": _QUERY}, {"role": "assistant", "content": _TEXT}]
    whole = str(tokenizer.apply_chat_template(turns, tokenize=False))
    before, query, rest = whole.partition(_QUERY)
    middle, text, after = rest.partition(_TEXT)
    if not query or not text or _QUERY in rest or _TEXT in after:
        raise ScorerError(
            f"the chat template of {tokens.name} does not keep request and response once each"
        )
    ids = tokens.literal(before), tokens.literal(middle), tokens.literal(after)
    zeros = tuple((0,) * len(part) for part in ids)
    return Frame(*ids, (zeros[0], zeros[1], zeros[2], (0,), (0,)))


def _find(ids: Ids, part: Ids, begin: int) -> int:
    """Return where a part begins at or after a place, -1 when it is not there."""
    last = len(ids) - len(part)
    return next((at for at in range(begin, last + 1) if ids[at : at + len(part)] == part), -1)
