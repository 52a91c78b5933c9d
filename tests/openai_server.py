"""OpenAI-compatible answers for a `servers.Service`: a judge by words, and vLLM over a tiny model.

`judge()` reads the prompt as text, so it knows the form by its words alone; its
answers have the keys that the real server of the slow tests gives (a test there holds
the two together). `engine(model, tokenizer)` takes token ids and computes every
log-probability with the model itself, in the shapes that vLLM documents.
"""

from __future__ import annotations

import math
import re

from servers import Reply, by_words_and_place

GRADES = ("0", "1", "2", "3")
MASS = 0.9
_LINE = re.compile(r"(\[\w+\])(?: (.*))?")
_CHAT = {"model", "messages", "max_tokens", "temperature", "logprobs", "top_logprobs"}
_CHAT |= {"continue_final_message", "add_generation_prompt"}
_TEXT = {"model", "prompt", "max_tokens", "temperature", "logprobs"}


def probabilities(score):
    """Of the grades: e^(-2 |3 score - g|), normalised to MASS."""
    weights = [math.exp(-2 * abs(3 * score - grade)) for grade in range(4)]
    return [MASS * weight / sum(weights) for weight in weights]


def parts(text):
    """Return query, texts by marker, and the form so far of a prompt in the relevance rubric."""
    query = re.search(r"^Query: ?(.*)$", text, re.MULTILINE)[1]
    block = re.search(r"^Passages:\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)[1]
    texts = dict(_LINE.fullmatch(line).groups() for line in block.split("\n"))
    form = text.rpartition("Grades:\n")[2]
    return query, {mark: found or "" for mark, found in texts.items()}, form


def judge(*, score=by_words_and_place, hide=(), top=None, spell=str, write=None, usage=True):
    """Return what answers chat completions and completions as a judge by words and place.

    Args:
        score: f(query, texts) -> scores in [0, 1], the judge's mind.
        hide: grades that never are among the most likely.
        top: most log-probabilities that are given, whatever is asked.
        spell: how a grade is spelled as a token.
        write: f(lines) -> text of a written answer. usage: whether tokens are told.
    """

    def answer(asked):
        body, chat = asked.body, asked.path.endswith("/chat/completions")
        unknown = set(body) - (_CHAT if chat else _TEXT)
        if unknown:
            return Reply({"error": {"message": f"unknown fields {sorted(unknown)}"}}, status=400)
        turns = [turn["content"] for turn in body["messages"]] if chat else [body["prompt"]]
        text = "\n\n".join(turns)
        query, texts, form = parts(text)
        scores = dict(zip(texts, score(query, list(texts.values())), strict=True))
        told, logprobs = "", None
        if body["max_tokens"] > 1:
            lines = [f"{mark} Grade: {int(1000 * value) % 4}" for mark, value in scores.items()]
            told = "Grades:\n" + "\n".join(lines) if write is None else write(lines)
        elif body.get("logprobs"):
            mark = form.rstrip("\n").split("\n")[-1].split(" ")[0]
            told, entries = _next(scores[mark], hide, spell)
            count = body["top_logprobs"] if chat else body["logprobs"]
            logprobs = _listed(entries[: min(count, top or count)], chat)
        return _completion(told, logprobs, chat, len(text.split()) if usage else None)

    return answer


def _next(score, hide, spell):
    found = dict(zip(map(spell, GRADES), probabilities(score), strict=True))
    kept = {token: value for token, value in found.items() if token.strip() not in hide}
    kept |= {"A": 0.06, "\n": 0.04}
    entries = sorted(kept.items(), key=lambda pair: -pair[1])
    return entries[0][0], [(token, math.log(value)) for token, value in entries]


def _listed(entries, chat):
    if not chat:
        tokens, values = [entries[0][0]], [entries[0][1]]
        return {
            "tokens": tokens,
            "token_logprobs": values,
            "top_logprobs": [dict(entries)],
            "text_offset": [0],
        }
    top = [{"token": t, "logprob": v, "bytes": list(t.encode())} for t, v in entries]
    return {"content": [{**top[0], "top_logprobs": top}]}


def _completion(text, logprobs, chat, words):
    said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    body = {
        "id": "x",
        "object": "chat.completion" if chat else "text_completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, **said, "finish_reason": "length"}],
    }
    if logprobs is not None:
        body["choices"][0]["logprobs"] = logprobs
    if words is not None:
        written = max(1, len(text.split()))
        counts = {"prompt_tokens": words, "completion_tokens": written, "total_tokens": words + written}
        body["usage"] = counts
    return body


def engine(model, tokenizer, *, names=None):
    """Return what answers completions over token ids as vLLM does, with a model in this process.

    Args:
        names: f(id) -> its text, when it is not the tokenizer's.
    """
    import torch

    table_of_names = [names(i) if names else tokenizer.decode([i]) for i in range(len(tokenizer))]

    def answer(asked):
        body = asked.body
        ids = body["prompt"]
        if not isinstance(ids, list):
            return Reply({"error": {"message": "this engine takes ids"}}, status=400)
        with torch.inference_mode():
            logits = model(torch.tensor([ids])).logits[0].float()
        table = torch.log_softmax(logits, dim=-1)
        choice = {"index": 0, "text": "x", "logprobs": None, "finish_reason": "length"}
        if "prompt_logprobs" in body:
            rows = [
                _top(row, body["prompt_logprobs"], own)
                for row, own in zip(table, ids[1:], strict=False)
            ]
            found = [
                {
                    str(i): {"logprob": v, "rank": 1, "decoded_token": table_of_names[i]}
                    for i, v in row.items()
                }
                for row in rows
            ]
            choice["prompt_logprobs"] = [None, *found]
        if "logprobs" in body:
            row = _top(table[-1], body["logprobs"], int(table[-1].argmax()))
            choice["logprobs"] = {"top_logprobs": [{f"token_id:{i}": v for i, v in row.items()}]}
        used = {"prompt_tokens": len(ids), "completion_tokens": 1, "total_tokens": len(ids) + 1}
        return {"id": "x", "object": "text_completion", "choices": [choice], "usage": used}

    return answer


def _top(row, count, own):
    values, best = row.topk(min(count, len(row)))
    return {own: float(row[own]), **dict(zip(best.tolist(), values.tolist(), strict=True))}


def shape(value, path=""):
    """Return the paths of all values of a JSON value; the places of lists are one."""
    if isinstance(value, dict):
        return {path} | {one for key, inner in value.items() for one in shape(inner, f"{path}.{key}")}
    if isinstance(value, list):
        return {path} | {one for inner in value for one in shape(inner, f"{path}[]")}
    return {path}
