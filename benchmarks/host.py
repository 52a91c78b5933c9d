"""What the host does for a scoring and for a training step, with a model that costs nothing.

On a GPU the host must put batches together faster than the device reads them. Here the model's
body is left out (its states are a view of one number), everything else is as on a GPU: prompts
are packed as streams. So the figures are the most that one core of this machine can sustain.

Scoring, of BM25's top 100 of a TREC collection in rows of B windows, texts known and unknown:

- `build_s`: prompts of all windows, texts known; `read_s`: batches, layout, copies, readout and
  results (its arithmetic, too, which a GPU does beside the host);
- `windows_a_second`, `tokens_a_second`: of the whole `LocalScorer.score`.

Training, of steps of so many windows of a width, two views or one:

- `build_ms`: a step in a worker process, texts known; `bytes`, `unpickle_ms`: as it is handed over;
- `layout_ms`: streams and their layout, all micro-batches;
- `step_ms`: `Machine.descend` with everything but the body and the optimiser's arithmetic, which
  has next to no weights here.

Each is the best of some rounds.

    python benchmarks/host.py DATA [--collection trec_dl19] [--slates 43] [--out FILE]
"""

import argparse
import json
import os
import pickle
import platform
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import torch
from accelerate import Accelerator
from transformers import LlamaConfig, LlamaForCausalLM

from evenhand.data import load_slates
from evenhand.models import forward
from evenhand.models.forward import Forward
from evenhand.models.load import Loaded
from evenhand.models.tokenizer import load_tokenizer
from evenhand.present.design import design
from evenhand.score.local import LocalOptions, LocalScorer
from evenhand.train.feed import Steps, by_id, plan, prompt_builder
from evenhand.train.grader import Grader
from evenhand.train.labels import Labelled
from evenhand.train.machine import Machine
from evenhand.train.settings import Run, Training, Weights
from evenhand.train.step import Objective
from evenhand.train.views import Views
from evenhand.types import Surface

SURFACE = Surface(markers="single", enclose=True, query="around")
CUT = 64
SIZE = 2


def small_model(tokenizer):
    """Return a model with SmolLM2's vocabulary and layers of next to no size."""
    config = LlamaConfig(
        vocab_size=49152, hidden_size=SIZE, intermediate_size=SIZE, num_hidden_layers=2,
        num_attention_heads=1, num_key_value_heads=1, max_position_embeddings=8192,
    )  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).eval()
    return Loaded(model, tokenizer, "small", "r", torch.device("cpu"), "float32")


def states_of_nothing(model, ids):
    """Return (1, length, d) states that cost nothing and have a gradient."""
    return model.base_model.norm.weight.expand(1, ids.shape[1], SIZE)


def without_body(function):
    """Run a function with streams, and without the body of any model."""
    kept = forward.can_pack, Forward._streams, Forward._states, Grader._body, Grader._padded
    plain = Forward._states

    def states(self, ids, seen):
        # The probes of an opened model are read.
        return plain(self, ids, seen) if ids.shape[1] < 64 else states_of_nothing(self.model, ids)

    forward.can_pack = lambda model, dtype: True
    Forward._streams = lambda self: True
    Forward._states = states
    Grader._body = lambda self, ids, seen: states_of_nothing(self.inner, ids)
    Grader._padded = Grader._packed
    try:
        return function()
    finally:
        forward.can_pack, Forward._streams, Forward._states, Grader._body, Grader._padded = kept


def scoring(given, loaded, slates):
    options = LocalOptions(
        max_candidate_tokens=CUT, label_mass=False, token_budget=131072, width=given.width
    )
    drawn = design("reorder", rows=given.rows, width=given.width, surface=SURFACE, repeat=False)
    shown = [one for slate in slates for one in drawn.draw(slate).shown(slate)]
    scorer = LocalScorer(loaded, options, SURFACE)
    first, scored = timed(lambda: scorer.score(shown))
    whole, _ = best(lambda: scorer.score(shown), given.rounds)
    build, prompts = best(lambda: [p for one in shown for p in scorer.prompts(one)], given.rounds)
    read, _ = best(lambda: scorer._read(prompts, ["s"] * len(prompts)), given.rounds)
    windows, tokens = sum(s.prompts for s in scored), sum(s.tokens for s in scored)
    return {
        "windows": windows, "tokens": tokens, "build_s": build, "read_s": read,
        "texts_unknown": {"seconds": first, "tokens_a_second": tokens / first},
        "texts_known": {
            "seconds": whole, "windows_a_second": windows / whole, "tokens_a_second": tokens / whole,
        },
    }  # fmt: skip


def timed(work):
    """Return the seconds that some work takes, and what it gave."""
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


def best(work, rounds):
    """Return the shortest of some rounds in seconds, and what one gave: others use the machine."""
    found = [timed(work) for _ in range(rounds)]
    return min(seconds for seconds, _ in found), found[0][1]


def best_ms(work):
    return 1000 * best(work, 30)[0]


def layouts(grader, fed):
    with torch.no_grad():
        for micro in fed.micros:
            grader._packed(micro.prompts)


def training(given, loaded, slates, widths, count):
    rng = np.random.default_rng(0)
    labelled = by_id([Labelled(slate, rng.random(len(slate))) for slate in slates])
    settings = Training(
        views=Views(mix="across", count=count, widths=widths, surface=SURFACE),
        objective=Objective(error="soft_grade", consistency=1.0 if count > 1 else 0.0),
        weights=Weights(method="full"),
        run=Run(windows=64, token_budget=65536, max_candidate_tokens=CUT),
    )
    groups = plan(labelled, settings)
    steps = Steps(labelled, groups, settings, prompt_builder(loaded, CUT))
    machine = Machine(loaded, settings, torch.device("cpu"))
    machine.spread(Accelerator(cpu=True))
    fed, number = steps[0], len(groups)
    held = pickle.dumps(fed, protocol=pickle.HIGHEST_PROTOCOL)
    return {
        "widths": widths, "views": count, "tokens": fed.tokens, "micro_batches": len(fed.micros),
        "build_ms": best_ms(lambda: steps[0]),
        "bytes": len(held), "unpickle_ms": best_ms(lambda: pickle.loads(held)),
        "layout_ms": best_ms(lambda: layouts(machine.grader, fed)),
        "step_ms": best_ms(lambda: machine.descend(fed, steps, number)),
    }  # fmt: skip


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the TREC collections")
    parser.add_argument("--collection", default="trec_dl19")
    parser.add_argument("--slates", type=int, default=43)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--width", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "host.json")
    given = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer, _ = load_tokenizer("smollm2-135m")
    slates = list(load_slates(given.data / given.collection, run="BM25", depth=100))[: given.slates]
    found = {
        "collection": given.collection, "slates": len(slates), "rows": given.rows,
        "width": given.width, "cut": CUT,
        "scoring": without_body(lambda: scoring(given, small_model(tokenizer), slates)),
        "training": without_body(
            lambda: [
                training(given, small_model(tokenizer), slates, *one)
                for one in (((2,), 1), ((5,), 1), ((10,), 1), ((10,), 2))
            ]
        ),
        "cores_used": 1, "machine": platform.machine(), "python": platform.python_version(),
        "torch": torch.__version__, "numpy": np.__version__,
    }  # fmt: skip
    text = json.dumps(rounded(found), indent=2)
    given.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
