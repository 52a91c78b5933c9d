"""Models that write a ranking."""
