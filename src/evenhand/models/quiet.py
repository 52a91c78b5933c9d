"""Third-party code runs quietly here: no bars, no chatter, warnings kept apart."""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from collections.abc import Iterator
from types import ModuleType

from evenhand.errors import MissingExtraError

MODEL_PACKAGES = frozenset({"torch", "transformers", "accelerate", "peft", "safetensors", "gguf"})


@contextlib.contextmanager
def model_packages() -> Iterator[None]:
    """Tell what a block lacks of the packages that run a model as a missing extra.

    Raises:
        MissingExtraError: one of `MODEL_PACKAGES` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in MODEL_PACKAGES:
            raise MissingExtraError(package, "hf") from error
        raise


def require(name: str, extra: str = "hf") -> ModuleType:
    """Import an optional package.

    Raises:
        MissingExtraError: it is not installed; names the extra it comes with.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == name.partition(".")[0]:
            raise MissingExtraError(name, extra) from error
        raise


@contextlib.contextmanager
def quiet() -> Iterator[list[str]]:
    """Silence transformers inside a block; the caller's settings come back after it.

    Its progress bars and its log below errors go, and so does what is printed on
    stdout, which belongs to tables. Python warnings are collected, not shown.

    Yields:
        The texts of the warnings; filled when the block ends.
    """
    logging = require("transformers").utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    messages: list[str] = []
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("always")
            yield messages
            messages.extend(str(warning.message) for warning in caught)
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or its class when it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
