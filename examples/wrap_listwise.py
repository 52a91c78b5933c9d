"""Wrap a listwise reranker whose code comes with its weights, and audit it.

Such models have a method of their own, here that of jina-reranker-v3:

    model.rerank(query, documents, top_n=None)
        -> [{"index": 2, "relevance_score": 0.31, "document": "..."}, ...], best first

The whole list is read in one prompt, so a score depends on the order and on the
others. Without a model named, a stand-in with the same method is audited:

    python wrap_listwise.py
    python wrap_listwise.py jinaai/jina-reranker-v3

The second line runs code from the model's repository and needs `evenhand[hf]`.
"""

import sys

import evenhand
from evenhand import Candidate, Slate


class StandIn:
    """Counts shared words; like a model that reads from left to right, it tires."""

    def rerank(self, query, documents, top_n=None):
        words = set(query.lower().split())
        found = [
            {
                "index": i,
                "relevance_score": len(words & set(text.lower().split())) - 0.3 * i,
                "document": text,
            }
            for i, text in enumerate(documents)
        ]
        return sorted(found, key=lambda result: -result["relevance_score"])[:top_n]


def open_model(name):
    """Return the model of this name and the commit that its weights and code are from."""
    from transformers import AutoModel

    model = AutoModel.from_pretrained(name, dtype="auto", trust_remote_code=True).eval()
    return model, model.config._commit_hash


def wrapped(model, name, revision):
    def rerank(query, texts):
        scores = [float("nan")] * len(texts)
        # Best first: a score belongs to the text of its index, not to its place.
        for result in model.rerank(query, texts):
            scores[result["index"]] = float(result["relevance_score"])
        return scores

    # Weights are no part of an automatic revision, so it is named. max_window: the
    # most documents the model reads in one prompt; longer slates are cut into windows.
    return evenhand.scorer(rerank, name=name, revision=revision, max_window=64)


def main(names):
    model, revision = open_model(names[0]) if names else (StandIn(), "1")
    facts = ["apples grow on trees", "red apples are sweet", "trees grow slowly", "the moon is red"]
    slates = [
        Slate(query, query, tuple(Candidate(str(i), text) for i, text in enumerate(facts)))
        for query in ("where do red apples grow", "what do trees do", "is the moon red")
    ]
    scorer = wrapped(model, names[0] if names else "stand-in", revision)
    print(evenhand.audit(scorer, slates).table())


if __name__ == "__main__":
    main(sys.argv[1:])
