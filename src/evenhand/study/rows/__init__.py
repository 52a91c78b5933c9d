"""Scoring a study: what is asked, what failed, what is kept."""
