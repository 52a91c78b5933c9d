"""Single files of the hub, which say something about a model beside its weights."""

from __future__ import annotations

from pathlib import Path

from evenhand.errors import ScorerError
from evenhand.models.quiet import first_line, quiet, require
from evenhand.models.source import Place


def hub_file(place: Place, name: str) -> Path | None:
    """Return a file of a hub repository, fetched; None when it has none.

    None as well when the repository cannot be read, which is for whoever loads the
    model to say, or when there is no connection and the file was not fetched before.

    Args:
        place: of kind "hub". name: of the file.

    Raises:
        MissingExtraError: what reads the hub is not installed.
        ScorerError: the file is there and could not be fetched.
    """
    hub, errors = require("huggingface_hub"), require("huggingface_hub.errors")
    none = (errors.EntryNotFoundError, errors.RepositoryNotFoundError,
            errors.RevisionNotFoundError, ConnectionError)  # fmt: skip
    try:
        with quiet():
            return Path(hub.hf_hub_download(place.where, name, revision=place.revision))
    except none:
        return None
    except Exception as error:
        raise ScorerError(
            f"{name} of {place.where} could not be fetched from the hub "
            f"({type(error).__name__}: {first_line(error)}); try again"
        ) from error
