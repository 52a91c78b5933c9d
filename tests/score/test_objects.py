"""Rerankers of other packages. The stubs have their methods and results, as published.

With sentence-transformers or rerankers installed, the real classes are tested too.
"""

import numpy as np
import pytest

from evenhand import scorer
from evenhand.errors import ScorerError, UsageError
from evenhand.score.objects import ObjectFunction, as_function
from evenhand.types import Candidate, Presentation, Shown, Slate

TEXTS = ("a", "bbb", "cc")


def shown(order=(0, 1, 2)):
    slate = Slate("s", "qq", tuple(Candidate(f"c{i}", text) for i, text in enumerate(TEXTS)))
    return Shown(slate, Presentation(order, (order,)))


class CrossEncoder:
    """As sentence-transformers': a module, so it can be called, but not with query and texts."""

    def __init__(self, name="org/model"):
        self.config = type("Config", (), {"_name_or_path": name})()

    def __call__(self, features):
        raise AssertionError("the forward pass of tensors")

    def predict(self, inputs, batch_size=32, show_progress_bar=None):
        return np.array([len(query) + len(text) / 10 for query, text in inputs], dtype=np.float32)

    def rank(self, query, documents, top_k=None):
        scores = self.predict([(query, text) for text in documents])
        order = np.argsort(-scores)[:top_k]
        return [{"corpus_id": int(i), "score": scores[i]} for i in order]


class Document:
    def __init__(self, doc_id, text):
        self.doc_id, self.text = doc_id, text


class Result:
    def __init__(self, document, score=None, rank=None):
        self.document, self.score, self.rank = document, score, rank

    def __getattr__(self, name):
        # As in the package: what the document has, else an error.
        return getattr(self.document, name)


class RankedResults:
    def __init__(self, results):
        self.results = results

    def __iter__(self):
        return iter(self.results)


class Ranker:
    """As of the `rerankers` package: best first, the id of each text inside its document."""

    def __init__(self, with_scores=True, drop=0):
        self.model_name_or_path = "org/ranker"
        self.with_scores, self.drop = with_scores, drop

    def rank(self, query, docs, doc_ids=None):
        order = sorted(range(len(docs)), key=lambda i: -len(docs[i]))[self.drop :]
        return RankedResults(
            [
                Result(
                    Document(doc_ids[i], docs[i]),
                    len(docs[i]) / 10 if self.with_scores else None,
                    place,
                )
                for place, i in enumerate(order, start=1)
            ]
        )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        # 2 letters of the query and a tenth of the text's.
        (CrossEncoder(), [2.1, 2.3, 2.2]),
        (Ranker(), [0.1, 0.3, 0.2]),
        # Ranks 3, 1, 2 of three alone: (3 - 2) / 3, 3 / 3, (3 - 1) / 3.
        (Ranker(with_scores=False), [1 / 3, 1, 2 / 3]),
    ],
)
def test_scores_go_to_their_texts(model, expected, order):
    (scored,) = scorer(model).score([shown(order)])
    np.testing.assert_allclose(scored.scores, expected, rtol=1e-6)
    assert (scored.prompts, scored.failure) == (1, None)


def test_names_and_revisions_tell_models_apart():
    one, same, other = (scorer(CrossEncoder(name)) for name in ("x/one", "x/one", "x/two"))
    assert one.name == "CrossEncoder x/one"
    assert one.revision == same.revision != other.revision
    assert scorer(Ranker()).name == "Ranker org/ranker"
    # Weights are not covered, and a run that is resumed says so.
    assert "model" in one.unseen
    assert scorer(CrossEncoder(), revision="1").unseen == ()


def test_results_of_rank_that_are_dicts_are_mapped_by_their_index():
    class OnlyRank:
        def rank(self, query, documents):
            return [
                {"index": 2, "score": 0.5},
                {"index": 0, "score": 0.25},
                {"index": 1, "score": 0.75},
            ]

    (scored,) = scorer(OnlyRank()).score([shown()])
    np.testing.assert_array_equal(scored.scores, [0.25, 0.75, 0.5])


def test_results_that_lack_or_name_no_text_are_failures_that_say_so():
    (scored,) = scorer(Ranker(drop=1)).score([shown()])
    assert np.isnan(scored.scores).all()
    assert "results for [2, 0] of 3 texts" in scored.failure

    class Nameless:
        def rank(self, query, documents):
            return [{"score": 1.0} for _ in documents]

    with pytest.raises(ScorerError, match="does not say which text"):
        as_function(Nameless())("q", ["a"])


@pytest.mark.parametrize("place", [0.9, True, "a", -1, "1.0", [0]])
def test_a_text_is_never_named_by_rounding(place):
    class Odd:
        def rank(self, query, docs, doc_ids=None):
            return [{"doc_id": place, "score": 1.0}, {"doc_id": 1, "score": 2.0}]

    with pytest.raises(ScorerError, match="is no whole number from 0"):
        as_function(Odd())("q", ["x", "y"])


@pytest.mark.parametrize("rank", [0, 3])
def test_ranks_outside_the_list_are_refused(rank):
    class Odd:
        def rank(self, query, docs, doc_ids=None):
            return [{"doc_id": 0, "rank": rank}, {"doc_id": 1, "rank": 1}]

    with pytest.raises(ScorerError, match=f"rank {rank} is none of 1 to 2"):
        as_function(Odd())("q", ["x", "y"])


def test_what_is_a_function_stays_one():
    def rank(query, texts):
        return [0.0 for _ in texts]

    class Estimator:
        """`predict` of two arguments, and can be called: a function of the user's own."""

        def predict(self, query, texts):
            raise AssertionError

        def __call__(self, query, texts):
            return [1.0 for _ in texts]

    own = Estimator()
    assert as_function(rank) is rank
    assert as_function(own) is own
    assert as_function(CrossEncoder) is CrossEncoder
    assert isinstance(as_function(CrossEncoder()), ObjectFunction)


def test_an_object_of_another_kind_is_refused():
    with pytest.raises(UsageError, match="a scorer wraps a function"):
        scorer(object())


def test_no_texts_are_not_handed_on():
    assert as_function(CrossEncoder())("q", []) == []


def test_order_only_is_declared_by_the_user():
    assert scorer(Ranker(with_scores=False), order_only=True).order_only
    assert not scorer(Ranker()).order_only
    with pytest.raises(UsageError, match="order_only must be True or False"):
        scorer(Ranker(), order_only=1)


@pytest.mark.slow
def test_the_real_cross_encoder(tmp_path):
    packages = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "qq", "a", "bbb", "cc"]
    tokenizer = transformers.BertTokenizer(vocab={name: place for place, name in enumerate(names)})
    config = transformers.BertConfig(
        vocab_size=len(names), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_labels=1, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = packages.CrossEncoder(str(tmp_path))
    wrapped = scorer(model, order_free=True)
    (scored,) = wrapped.score([shown()])
    expected = model.predict([("qq", text) for text in TEXTS])
    np.testing.assert_allclose(scored.scores, expected, rtol=1e-5)
    assert str(tmp_path) in wrapped.name
    # And ours, of the same weights: sentence-transformers applies the sigmoid.
    from evenhand.score.cross import open_cross

    (own,) = open_cross(str(tmp_path), sigmoid=True).score([shown()])
    np.testing.assert_allclose(own.scores, expected, atol=1e-5)


@pytest.mark.slow
def test_the_real_ranker():
    results = pytest.importorskip("rerankers.results")
    documents = pytest.importorskip("rerankers.documents")
    base = pytest.importorskip("rerankers.models.ranker").BaseRanker

    class ByLength(base):
        def __init__(self, with_scores):
            self.with_scores = with_scores

        def score(self, query, doc):
            return float(len(doc))

        def rank(self, query, docs, doc_ids=None):
            order = sorted(range(len(docs)), key=lambda i: -len(docs[i]))
            found = [
                results.Result(
                    document=documents.Document(text=docs[i], doc_id=doc_ids[i]),
                    score=float(len(docs[i])) if self.with_scores else None,
                    rank=place,
                )
                for place, i in enumerate(order, start=1)
            ]
            return results.RankedResults(results=found, query=query, has_scores=self.with_scores)

    np.testing.assert_array_equal(scorer(ByLength(True)).score([shown()])[0].scores, [1, 3, 2])
    np.testing.assert_allclose(scorer(ByLength(False)).score([shown()])[0].scores, [1 / 3, 1, 2 / 3])
