"""Scorers behind HTTP: rerank services and OpenAI-compatible endpoints."""
