"""A study: score a run, learn from it, say what to be wary of."""
