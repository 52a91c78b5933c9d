"""Consumers: what reads the scores of one row and puts out a decision."""
