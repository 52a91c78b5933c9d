"""Run a small study; die by SIGKILL at the given one of the points where it could.

Usage: killed_run.py FOLDER POINT [SECONDS]. Points are counted over slates read,
scorer calls, tables written, syncs and renames (before and after). Point 0 never
comes: the run ends and prints how many points it passed. SECONDS slow each call.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import pyarrow.parquet as pq

from evenhand.present.design import design
from evenhand.score.toy import Toy
from evenhand.study.rows.run import run_study
from evenhand.types import Candidate, Slate

FOLDER, FATAL = sys.argv[1], int(sys.argv[2])
PAUSE = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
passed = 0


def point() -> None:
    global passed
    passed += 1
    if passed == FATAL:
        os.kill(os.getpid(), signal.SIGKILL)


def wrapped(f, *, before: bool):
    def call(*args, **options):
        if before:
            point()
        result = f(*args, **options)
        point()
        return result

    return call


class Slow(Toy):
    def score(self, shown):
        point()
        time.sleep(PAUSE)
        return super().score(shown)


def slates():
    for i in range(11):
        point()
        candidates = tuple(Candidate(f"c{j}", f"text {j} \ud800") for j in range(i % 5 * 2))
        yield Slate(f"s{i}", f"query {i}", candidates, {"c0": 3})


os.fsync = wrapped(os.fsync, before=False)
os.replace = wrapped(os.replace, before=True)
pq.ParquetWriter.write_table = wrapped(pq.ParquetWriter.write_table, before=False)
run_study(Slow(slot_bias=0.2, noise=0.1), slates(), design(rows=4, width=3), FOLDER, part_size=3)
print(passed)
