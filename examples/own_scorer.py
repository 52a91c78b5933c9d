"""Audit a scorer of your own: any function of a query and a list of texts."""

import evenhand
from evenhand import Candidate, Slate


def shared_words(query, texts):
    """Score by shared words; a text loses a little for every better one before it."""
    counts = [len(set(query.lower().split()) & set(text.lower().split())) for text in texts]
    return [count - 0.6 * sum(counts[:place]) / len(texts) for place, count in enumerate(counts)]


facts = ["apples grow on trees", "red apples are sweet", "trees grow slowly", "the moon is red"]
slates = [
    Slate(query, query, tuple(Candidate(str(i), text) for i, text in enumerate(facts)))
    for query in ("where do red apples grow", "what do trees do", "is the moon red")
]
result = evenhand.audit(evenhand.scorer(shared_words), slates)
print(result.table())
