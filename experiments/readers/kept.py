"""A reader whose readings are kept in a file: read once, whatever asks, and after a stop."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from evenhand.decide import open_reader
from evenhand.decide.reading import Evidence, Reader, Reading


class Kept:
    """Wraps a reader; the file is named by its revision and grows by whole chunks.

    Args:
        reader: frozen. folder: where the file stands.
        chunk: inputs read and written together: a stop loses these at most.
    """

    def __init__(self, reader: Reader, folder: Path, *, chunk: int = 4000) -> None:
        self.reader, self._chunk = reader, chunk
        self.name, self.revision, self.task = reader.name, reader.revision, reader.task
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"readings-{reader.revision}.jsonl"
        self._known = {line["key"]: Reading(line["output"], line["cut"]) for line in self._lines()}

    def _lines(self) -> list[dict]:
        """The whole lines of the file; what a stop left of another is cut off."""
        if not self.path.exists():
            return []
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            self.path.write_bytes(whole)
        return [json.loads(line) for line in whole.splitlines()]

    def read(self, evidence: Sequence[Evidence]) -> list[Reading]:
        """Read each, asking only for what the file does not hold; failures are not kept."""
        keys = [one.key for one in evidence]
        new = {key: one for key, one in zip(keys, evidence, strict=True) if key not in self._known}
        missing: dict[str, Reading] = {}
        left = list(new.items())
        for start in range(0, len(left), self._chunk):
            part = left[start : start + self._chunk]
            found = self.reader.read([one for _, one in part])
            with self.path.open("a") as file:
                for (key, _), reading in zip(part, found, strict=True):
                    if reading.output is None:
                        missing[key] = reading
                        continue
                    self._known[key] = reading
                    line = {"key": key, "output": reading.output, "cut": reading.cut}
                    file.write(json.dumps(line) + "\n")
            print(f"{self.name}: {start + len(part)} of {len(left)} read", flush=True)
        return [self._known[key] if key in self._known else missing[key] for key in keys]


def reader_options(parser: argparse.ArgumentParser) -> None:
    """Add what the scripts that read take."""
    parser.add_argument("--device")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--budget", type=int, default=8192, help="padded tokens read at once")
    parser.add_argument("--longest", type=int, default=32, help="tokens of an answer")
    parser.add_argument("--limit", type=int)


def opened(args: argparse.Namespace) -> Kept:
    """The reader that a script was given, its readings kept beside what the script writes."""
    options = {"device": args.device, "dtype": args.dtype, "token_budget": args.budget}
    reader = open_reader(args.reader, args.task, max_tokens=args.longest, **options)
    return Kept(reader, args.out.parent / "kept")
