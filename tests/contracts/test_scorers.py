"""What every scorer keeps to, whatever it scores with.

A scorer joins the suite by one line in SCORERS; one that can fail on a slate also
by one line in FAILING.
"""

import atexit
import functools
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from evenhand import remedy
from evenhand.score import open_scorer
from evenhand.score.cache import Cached
from evenhand.score.function import scorer
from evenhand.score.listing.listwise import ListwiseOptions, ListwiseScorer
from evenhand.score.listing.writers import FunctionWriter
from evenhand.score.toy import Toy
from evenhand.score.wrapped import pairwise
from evenhand.types import Candidate, Presentation, Scorer, Shown, Slate, Surface, slate_to_dict
from openai_server import judge
from servers import Service, rerank

CHANNELS = {"order", "companions", "window", "marker", "skeleton", "rubric", "membership"}
SCALES = {"unit", "log_likelihood", "raw"}


def by_words(query, texts):
    return [len(set(query.split()) & set(text.split())) + len(text) / 1000 for text in texts]


def by_place(query, texts):
    return [1 - place / len(texts) for place in range(len(texts))]


async def by_companions(query, texts):
    return np.array([len(text) for text in texts]) / max(map(len, texts))


def broken(query, texts):
    raise RuntimeError("no answer")


def missing_one(query, texts):
    return [float("nan"), *map(len, texts[1:])]


@functools.cache
def rerank_url(fault=None):
    """A rerank service of this process, as long as it lives."""
    service = Service(rerank("cohere", change=fault))
    atexit.register(service.close)
    return f"rerank:{service.url}/v2/rerank"


@functools.cache
def openai_url(hide=()):
    """An OpenAI-compatible service of this process, as long as it lives."""
    service = Service(judge(hide=hide))
    atexit.register(service.close)
    return f"{service.url}/v1"


def all_but_one(results):
    return results[1:]


def ranks_by_words(messages):
    """What a model writes that ranks by `by_words`, the first of equal texts first."""
    user = messages[-1]["content"]
    lines = dict(re.findall(r"^\[(\d+)\](.*)$", user, re.MULTILINE))
    scores = by_words("where do red apples grow", list(lines.values()))
    best = sorted(zip(lines, scores, strict=True), key=lambda one: -one[1])
    return " > ".join(f"[{mark}]" for mark, _ in best)


def names_one(messages):
    return "[1] > [99]"


def listwise(f, **options):
    return ListwiseScorer(FunctionWriter(f), ListwiseOptions(**options))


@functools.cache
def chat_url():
    """A chat service of this process that writes rankings."""

    def answer(asked):
        content = ranks_by_words(asked.body["messages"])
        return {"choices": [{"message": {"content": content}}], "usage": {"total_tokens": 50}}

    service = Service(answer)
    atexit.register(service.close)
    return f"{service.url}/v1"


def prefers_longer(query, a, b):
    return 0.5 if len(a) == len(b) else len(a) > len(b)


def no_preference(query, a, b):
    return None


class Encoder:
    """With the methods of a cross-encoder object."""

    def predict(self, pairs):
        return np.array([len(set(query.split()) & set(text.split())) for query, text in pairs])

    def rank(self, query, documents):
        raise AssertionError("predict is enough")


@functools.cache
def tiny_cross():
    """A random cross-encoder over whole words."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from evenhand.models.load import Loaded

    torch.set_num_threads(1)
    words = {word for text in TEXTS for word in re.findall(r"\w+|[^\w\s]", text.lower())}
    vocab = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted(words)])}
    config = transformers.BertConfig(
        vocab_size=len(vocab), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_labels=1, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.BertForSequenceClassification(config).eval()
    return Loaded(model, transformers.BertTokenizer(vocab=vocab), "tiny", "1", model.device, "float32")


def cross():
    loaded = tiny_cross()
    from evenhand.score.cross import CrossScorer

    return CrossScorer(loaded)


@functools.cache
def tiny_local():
    """A random causal model over pieces of the prompts themselves."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    from evenhand.models.load import Loaded
    from evenhand.present.surface import render

    torch.set_num_threads(1)
    pieces = Tokenizer(models.BPE())
    digits, bytes_ = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)
    pieces.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])
    pieces.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False)
    segments = render("where do red apples grow", TEXTS, Surface())
    pieces.train_from_iterator([segment.text for segment in segments], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=pieces)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=2048, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.LlamaForCausalLM(config).eval()
    return Loaded(model, tokenizer, "tiny", "1", model.device, "float32")


def local(*remedies, **surface):
    loaded = tiny_local()
    from evenhand.score.local import LocalScorer

    return remedy.apply(LocalScorer(loaded, surface=Surface(**surface)), remedies)


@dataclass(frozen=True)
class Entry:
    """How to make a scorer, and how far its equal scores may differ (float error)."""

    make: Callable[[], Scorer]
    tolerance: float = 0.0


SCORERS = {
    "toy": Entry(Toy),
    "toy hash grid": Entry(lambda: Toy(relevance="hash", grid=4)),
    "toy position": Entry(lambda: Toy(relevance="position")),
    "toy slot": Entry(lambda: Toy(relevance="slot")),
    "toy all dials": Entry(
        lambda: Toy(slot_bias=0.3, coupling=0.4, first_slot=0.1, noise=0.05, grid=9)
    ),
    "function by words": Entry(lambda: scorer(by_words, order_free=True)),
    "function by place": Entry(lambda: scorer(by_place, scale="unit")),
    "function async": Entry(lambda: scorer(by_companions, scale="unit", max_window=4)),
    "rerank service": Entry(lambda: open_scorer(rerank_url())),
    "listwise": Entry(lambda: listwise(ranks_by_words)),
    "listwise in small windows": Entry(lambda: listwise(ranks_by_words, size=2, step=1)),
    "listwise service": Entry(
        lambda: open_scorer("listwise:openai:m", base_url=chat_url(), size=3, step=1)
    ),
    "listwise repaired": Entry(lambda: listwise(ranks_by_words, repair="end")),
    "pairs": Entry(lambda: pairwise(prefers_longer)),
    "cross-encoder": Entry(cross, tolerance=1e-5),
    "local": Entry(local, tolerance=1e-5),
    "local isolated": Entry(lambda: local("isolated"), tolerance=1e-5),
    "cached local isolated": Entry(lambda: Cached(local("isolated")), tolerance=1e-5),
    "cross-encoder object": Entry(lambda: scorer(Encoder(), order_free=True)),
    "cached listwise": Entry(lambda: Cached(listwise(ranks_by_words))),
    "openai next": Entry(lambda: open_scorer("openai:m", base_url=openai_url())),
    "openai written": Entry(lambda: open_scorer("openai:m", base_url=openai_url(), mode="written")),
    "cached toy": Entry(lambda: Cached(Toy())),
    "cached function": Entry(lambda: Cached(scorer(by_place))),
}

FAILING = {
    "function raises": lambda: scorer(broken),
    "function returns NaN": lambda: scorer(missing_one),
    "rerank service drops a result": lambda: open_scorer(rerank_url(all_but_one)),
    "listwise names one": lambda: listwise(names_one),
    "pairs without preference": lambda: pairwise(no_preference),
    "openai grades out of reach": lambda: open_scorer(
        "openai:m", base_url=openai_url(("3",)), max_missing=1
    ),
    "cached": lambda: Cached(scorer(broken)),
}

TEXTS = (
    "apples grow on trees in the garden",
    "the moon is far away",
    "a red apple a day",
    "a red apple a day",
    "trees have leaves",
    "",
    "[2] Grades: 3",
)


def make_slate(slate_id, n):
    candidates = tuple(Candidate(f"{slate_id}-{i}", TEXTS[i]) for i in range(n))
    grades = {candidate.id: i % 4 for i, candidate in enumerate(candidates)}
    return Slate(slate_id, "where do red apples grow", candidates, grades)


def cut(order, width):
    return tuple(tuple(order[i : i + width]) for i in range(0, len(order), width))


def presentations(n):
    """Forward in threes, backward in threes, backward in fours."""
    forward, backward = tuple(range(n)), tuple(reversed(range(n)))
    return [
        Presentation(forward, cut(forward, 3)),
        Presentation(backward, cut(backward, 3)),
        Presentation(backward, cut(backward, 4)),
    ]


def many_shown():
    """Two slates of seven and three, in three presentations each."""
    return [
        Shown(slate, presentation, row, "random")
        for slate in (make_slate("s", 7), make_slate("t", 3))
        for row, presentation in enumerate(presentations(len(slate)))
    ]


@pytest.fixture(params=sorted(SCORERS))
def entry(request):
    return SCORERS[request.param]


def assert_same(first, second, tolerance):
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=tolerance)
        assert one.failure == other.failure


def test_is_a_scorer_that_declares_known_words(entry):
    made = entry.make()
    assert isinstance(made, Scorer)
    assert made.channels <= CHANNELS
    assert made.scale in SCALES
    assert isinstance(made.order_free, bool)
    assert made.name
    assert made.revision
    assert made.max_window is None or made.max_window >= (made.default_window or 1)


def test_identity_does_not_move(entry):
    made, other = entry.make(), entry.make()
    before = (made.name, made.revision)
    made.score(many_shown())
    assert (made.name, made.revision) == before == (other.name, other.revision)


def test_one_finite_score_per_candidate_at_a_stated_cost(entry):
    shown = many_shown()
    made = entry.make()
    for item, scored in zip(shown, made.score(shown), strict=True):
        assert scored.scores.shape == (len(item.slate),)
        assert scored.scores.dtype == np.float64
        assert np.isfinite(scored.scores).all()
        assert scored.failure is None
        assert scored.prompts >= 0
        assert scored.tokens >= 0
        if made.scale == "unit":
            assert scored.scores.min() >= 0
            assert scored.scores.max() <= 1


def test_columns_are_canonical_under_any_presentation(entry):
    """The same prompts, told in other canonical indices, give the same candidates the same scores."""
    slate = make_slate("s", 7)
    renamed = (4, 2, 6, 0, 5, 1, 3)
    moved = Slate(slate.id, slate.query, tuple(slate.candidates[i] for i in renamed), slate.grades)
    place = {old: new for new, old in enumerate(renamed)}
    for presentation in presentations(7):
        order = tuple(place[i] for i in presentation.order)
        windows = tuple(tuple(place[i] for i in window) for window in presentation.windows)
        (scored,) = entry.make().score([Shown(slate, presentation)])
        (other,) = entry.make().score([Shown(moved, Presentation(order, windows))])
        np.testing.assert_allclose(
            other.scores, scored.scores[list(renamed)], rtol=0, atol=entry.tolerance
        )


def test_a_candidate_that_is_not_shown_is_as_if_it_were_not_there(entry):
    """Under a presentation that omits it: no score of its own, and no trace in the others'."""
    slate = make_slate("s", 7)
    for gone in (0, 3, 6):
        kept = [i for i in range(7) if i != gone]
        smaller = Slate(slate.id, slate.query, tuple(slate.candidates[i] for i in kept), slate.grades)
        order = tuple(reversed(kept))
        out = Presentation(order, cut(order, 3), omitted=(gone,))
        within = Presentation(tuple(range(5, -1, -1)), cut(tuple(range(5, -1, -1)), 3))
        made = entry.make()
        (scored,), (other,) = (
            made.score([Shown(slate, out)]),
            entry.make().score([Shown(smaller, within)]),
        )
        assert np.isnan(scored.scores[gone])
        np.testing.assert_allclose(scored.scores[kept], other.scores, rtol=0, atol=entry.tolerance)
        assert (scored.failure, scored.prompts, scored.tokens) == (None, other.prompts, other.tokens)


def test_inputs_stay_as_they_were(entry):
    shown = many_shown()
    before = [(slate_to_dict(item.slate), item.presentation, item.row, item.kind) for item in shown]
    entry.make().score(shown)
    after = [(slate_to_dict(item.slate), item.presentation, item.row, item.kind) for item in shown]
    assert after == before


def test_the_same_call_gives_the_same_answer(entry):
    made, shown = entry.make(), many_shown()
    assert_same(made.score(shown), made.score(shown), entry.tolerance)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_score_does_not_know_what_else_is_in_the_call(entry, size):
    shown = many_shown()
    together = entry.make().score(shown)
    parts = itertools.chain.from_iterable(
        entry.make().score(shown[i : i + size]) for i in range(0, len(shown), size)
    )
    assert_same(together, list(parts), entry.tolerance)
    assert_same(together[::-1], entry.make().score(shown[::-1]), entry.tolerance)


def test_order_free_is_true_when_it_is_declared(entry):
    made = entry.make()
    shown = many_shown()[:3]
    rows = np.array([made.score([item])[0].scores for item in shown])
    spread = np.ptp(rows, axis=0).max()
    if made.order_free:
        assert spread <= entry.tolerance
    else:
        assert spread > entry.tolerance


def test_no_rows_and_no_candidates_are_no_trouble(entry):
    assert entry.make().score([]) == []
    (scored,) = entry.make().score([Shown(Slate("empty", "q", ()), Presentation((), ()))])
    assert scored.scores.shape == (0,)
    assert (scored.prompts, scored.failure) == (0, None)


def test_one_candidate_is_scored(entry):
    (scored,) = entry.make().score([Shown(make_slate("s", 1), Presentation((0,), ((0,),)))])
    assert np.isfinite(scored.scores).all()


@pytest.mark.parametrize("name", sorted(FAILING))
def test_failure_is_nan_with_a_reason(name):
    shown = many_shown()
    for item, scored in zip(shown, FAILING[name]().score(shown), strict=True):
        assert scored.scores.shape == (len(item.slate),)
        assert np.isnan(scored.scores).any()
        assert scored.failure
