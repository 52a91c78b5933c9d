"""How much faster window prompts are built when a window's form is remembered.

Two ways, in this process, on the same slates and rows, in alternating rounds; the best
round of each counts:

- `remembered`: one builder for all rows, as a scorer has;
- `anew`: each window's form is rendered and tokenised again. Texts, which both ways
  remember, are tokenised before the first round.

Both must give the same prompts, which is checked.

    python benchmarks/prompts.py [--candidates 20] [--rows 11] [--words 90]
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
from evenhand.types import Candidate, Slate, Surface


def make_slate(candidates, words):
    """Return a slate of so many candidates of so many words each, of the demo's texts."""
    known = " ".join(c.full_text for slate in demo_slates() for c in slate.candidates).split()
    picks = np.random.default_rng(0).integers(len(known) - words, size=candidates)
    texts = [" ".join(known[start : start + words]) for start in picks]
    return Slate("q", "how do planets form", tuple(Candidate(f"c{i}", t) for i, t in enumerate(texts)))


def build(builder, slate, orders, surface, *, anew):
    """Return the prompts of all rows and the seconds they took."""
    prompts = []
    start = time.perf_counter()
    for order in orders:
        if anew:
            builder._forms.clear()
        prompts.append(builder.build(slate, order, surface))
    return prompts, time.perf_counter() - start


def measure(given, surface):
    tokenizer, _ = load_tokenizer(given.tokenizer)
    tokens = TokenizerTokens(tokenizer)
    signs = single_token_signs(tokens)
    builder = PromptBuilder(tokens, chat_of(tokenizer), 100_000, 512, signs)
    slate = make_slate(given.candidates, given.words)
    draws = np.random.default_rng(1)
    orders = [draws.permutation(given.candidates).tolist() for _ in range(given.rows)]
    best = {"remembered": float("inf"), "anew": float("inf")}
    expected, _ = build(builder, slate, orders, surface, anew=True)
    for _ in range(given.rounds):
        for way in best:
            prompts, seconds = build(builder, slate, orders, surface, anew=way == "anew")
            if prompts != expected:
                raise SystemExit(f"{way} gave other prompts under {surface}")
            best[way] = min(best[way], seconds)
    ms = {way: round(1000 * seconds / given.rows, 4) for way, seconds in best.items()}
    return {
        "tokens": len(expected[0].ids),
        "ms_a_window": ms,
        "times_faster": round(best["anew"] / best["remembered"], 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=20, help="B, candidates of a window")
    parser.add_argument("--rows", type=int, default=11)
    parser.add_argument("--words", type=int, default=90, help="of a candidate")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokenizer", default="smollm2-135m")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "prompts.json")
    given = parser.parse_args()
    kinds = ("sequential", "parallel", "isolated")
    result = {
        **{
            name: getattr(given, name)
            for name in ("candidates", "rows", "words", "rounds", "tokenizer")
        },
        "by_visibility": {kind: measure(given, Surface(visibility=kind)) for kind in kinds},
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
