"""The options that verbs which score slates have in common, each declared once."""

from __future__ import annotations

import typer

SCORER = typer.Option(
    help="evenhand-smol, smollm2-135m, hf:MODEL, gguf:FILE, ql:MODEL, cross:MODEL, rerank:URL, "
    "openai:MODEL, listwise:MODEL or toy:slot_bias=0.3.  [default: evenhand-smol]",
    metavar="SPEC",
)
SLATES = typer.Argument(help="JSONL file of slates, a collection's folder or name, or 'demo'.")
RUN = typer.Option(help="First-stage run of a collection's folder.")
DEPTH = typer.Option(help="Candidates taken from the top of the run.", metavar="N")
LIMIT = typer.Option(help="Only the first N slates.", metavar="N")
WIDTH = typer.Option(help="B, most candidates in a prompt. Default: the scorer's own.")
RULE = typer.Option(help="How windows are cut: contiguous or interleaved.")
SEED = typer.Option(help="Seed of everything that is drawn.")
THRESHOLD = typer.Option(help="Keep candidates at or above it. Default: fitted.")
REMEDY = typer.Option(
    "--remedy",
    help="Remedy around the scorer, e.g. average:4 or interleave; repeat for more, innermost first.",
    metavar="NAME",
)
OUT = typer.Option(help="Keep the answers in this folder; a study that was stopped goes on there.")
SETTING = typer.Option("--set", help="Any scorer option; repeat for more.", metavar="NAME=VALUE")
