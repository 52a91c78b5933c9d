"""Finished runs side by side."""
