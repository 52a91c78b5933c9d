"""How fast the steps of a training are built, by so many worker processes.

`prompts_a_second` and `tokens_a_second`: built by so many worker processes beside this one
(0 = in this one), handed over and read here. What a step costs the training process itself is
in `host.py`.

    python benchmarks/feed.py [--slates 120] [--candidates 40] [--words 60] [--workers 0 1]
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from evenhand.data.demo import demo_slates
from evenhand.models.tokenizer import load_tokenizer
from evenhand.score.base import PromptBuilder
from evenhand.score.tokens import TokenizerTokens, chat_of, single_token_signs
from evenhand.train.feed import Steps, by_id, feed, plan
from evenhand.train.labels import Labelled
from evenhand.train.settings import Run, Training
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Candidate, Slate, Surface


def make_slates(given):
    """Return labelled slates of the demo's words."""
    known = " ".join(c.full_text for slate in demo_slates() for c in slate.candidates).split()
    rng = np.random.default_rng(0)
    made = []
    for number in range(given.slates):
        picks = rng.integers(len(known) - given.words, size=given.candidates)
        texts = [" ".join(known[start : start + given.words]) for start in picks]
        candidates = tuple(Candidate(f"c{i}", text) for i, text in enumerate(texts))
        slate = Slate(f"s{number}", "how do planets form", candidates)
        made.append(Labelled(slate, rng.random(given.candidates)))
    return made


def make_steps(given, tokens, chat):
    """Return the steps of one epoch with a builder that remembers nothing yet."""
    builder = PromptBuilder(tokens, chat, 8192, 64, single_token_signs(tokens))
    settings = Training(
        views=Views(
            widths=(10,), count=2, surface=Surface(markers="single", enclose=True, query="around")
        ),
        objective=Objective(consistency=4.0),
        run=Run(windows=64),
    )
    slates = by_id(make_slates(given))
    return Steps(slates, plan(slates, settings), settings, builder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slates", type=int, default=120)
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--tokenizer", default="smollm2-135m")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "feed.json")
    given = parser.parse_args()
    tokenizer, _ = load_tokenizer(given.tokenizer)
    speed = {}
    for workers in given.workers:
        # Anew each time: texts that were tokenised before would be remembered.
        steps = make_steps(given, TokenizerTokens(tokenizer), chat_of(tokenizer))
        start = time.perf_counter()
        feds = list(feed(steps, workers))
        seconds = time.perf_counter() - start
        prompts = sum(len(micro.prompts) for fed in feds for micro in fed.micros)
        read = sum(fed.tokens for fed in feds)
        speed[str(workers)] = {
            "prompts_a_second": round(prompts / seconds), "tokens_a_second": round(read / seconds),
            "seconds": round(seconds, 2),
        }  # fmt: skip
    found = {
        "slates": given.slates, "candidates": given.candidates, "words": given.words,
        "tokenizer": given.tokenizer, "steps": len(feds), "by_workers": speed,
        "machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version(),
    }  # fmt: skip
    given.out.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
