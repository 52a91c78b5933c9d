"""Where labels are read from: the folder of a run, or a file alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evenhand.errors import InputError, ResumeError, UsageError
from evenhand.measure.checks import listed, of_kind
from evenhand.records import RunFolder
from evenhand.seeds import content_hash, file_hash
from evenhand.train.label_table import NAME
from evenhand.types import Slate

PURPOSE = "labels"


class LabelSource:
    """A folder of labels, or a file of them.

    Attributes:
        file: the table.
        teacher: its facts, {} for a file alone.
    """

    def __init__(self, path: Path) -> None:
        """Open it.

        Raises:
            InputError: there is nothing.
            ResumeError: the folder is no run of labels, not finished, or was changed.
        """
        self.file, self.teacher = path, dict[str, Any]()
        self._run: RunFolder | None = None
        if not path.is_dir():
            if not path.exists():
                raise InputError(
                    "does not exist; name the folder that `evenhand label` wrote", path=str(path)
                )
            return
        self._run = RunFolder.open(path)
        if self._run.settings.get("purpose") != PURPOSE:
            raise ResumeError("holds a run, but none of labels; label the slates first", path=str(path))
        self.file = path / NAME
        self.teacher = dict(self._run.settings["teacher"])
        wanted = self._run.manifest.get("outputs", {}).get(NAME)
        if wanted is None or not self.file.exists():
            raise ResumeError("is not finished; run the same command again", path=str(path))
        if file_hash(self.file) != wanted:
            raise ResumeError(
                "was changed or damaged; run the same command again: it is made anew from the parts",
                path=str(self.file),
            )

    def slates(self) -> list[Slate]:
        """Return the slates of the folder.

        Raises:
            UsageError: a file alone has none.
        """
        if self._run is None:
            raise UsageError(f"{self.file}: a file of labels holds no texts; give the slates as well")
        return list(self._run.slates())

    def checked(self, slates: Iterable[Slate]) -> list[Slate]:
        """Return slates after comparing their texts with those that were labelled.

        Raises:
            UsageError: they are no slates.
            InputError: a slate of the folder had other texts when it was labelled.
        """
        own = listed("slates", slates, "Slate")
        of_kind("slates", own, Slate)
        if self._run is None:
            return own
        labelled = {slate.id: _texts(slate) for slate in self._run.slates()}
        for slate in own:
            if slate.id in labelled and _texts(slate) != labelled[slate.id]:
                raise InputError(
                    f"slate {slate.id!r} had another query, other candidates or other texts when it "
                    "was labelled; label it again",
                    path=str(self.file),
                )
        return own


def _texts(slate: Slate) -> str:
    """Return a hash of what a teacher reads; the order of the candidates and grades are not in it."""
    candidates = sorted([one.id, one.full_text] for one in slate.candidates)
    return content_hash([slate.query, candidates])
