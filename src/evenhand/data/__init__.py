"""Where slates come from: files, runs, collection folders, rows, first stages.

`load_slates` reads any path. Readers are strict: what cannot be read as it was
written is an `InputError` with its file and line; what is odd but harmless is
an `InputWarning` and a note in the report of the slates.
"""

from evenhand.data.assemble import from_trec
from evenhand.data.folder import FORMS, load_slates, read_folder
from evenhand.data.jsonl import read_slates, write_slates
from evenhand.data.lines import read_json_lines, read_lines
from evenhand.data.report import NOTES, InputWarning, ReadReport, Slates
from evenhand.data.retrieve import bm25
from evenhand.data.rows import from_rows
from evenhand.data.shapes import SHAPES
from evenhand.data.texts import iter_corpus, read_corpus, read_queries
from evenhand.data.trec import Qrels, Run, read_qrels, read_run

__all__ = [
    "FORMS",
    "NOTES",
    "SHAPES",
    "InputWarning",
    "Qrels",
    "ReadReport",
    "Run",
    "Slates",
    "bm25",
    "from_rows",
    "from_trec",
    "iter_corpus",
    "load_slates",
    "read_corpus",
    "read_folder",
    "read_json_lines",
    "read_lines",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_slates",
    "write_slates",
]
