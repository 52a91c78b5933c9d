"""The errors evenhand raises, one class per cause and exit code.

Every message says what came, what is needed and what to do. The command line
turns the class into the exit code that `exit_code` names.
"""

from __future__ import annotations


class EvenhandError(Exception):
    """Base of every error that evenhand raises on purpose."""

    exit_code = 2


class UsageError(EvenhandError, ValueError):
    """A setting, an argument or a combination of them is wrong (exit 2)."""

    exit_code = 2


def require_count(name: str, value: object) -> None:
    """Refuse a setting that is not a whole number of at least 1.

    Raises:
        UsageError: names the setting and what came.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} must be at least 1, a whole number, got {value!r}")


class MissingExtraError(EvenhandError, ImportError):
    """An optional dependency is not installed (exit 3)."""

    exit_code = 3

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"{module!r} is not installed; it comes with an extra. "
            f"Install it with: pip install 'evenhand[{extra}]' (from a checkout: '.[{extra}]')"
        )
        self.module = module
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        # The default would call the class with the message alone, which a worker cannot send back.
        return type(self), (self.module, self.extra)


class InputError(EvenhandError, ValueError):
    """Input is missing or malformed (exit 4)."""

    exit_code = 4

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        place = ""
        if path is not None:
            place = f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(place + message)
        self.path = path
        self.line = line


class NothingMeasuredError(EvenhandError):
    """No slate gave a defined value (exit 5)."""

    exit_code = 5


class ScorerError(EvenhandError):
    """A scorer or its model failed, or cannot do what is asked (exit 6)."""

    exit_code = 6


class ResumeError(InputError):
    """A run folder holds a run with other settings, or a damaged part (exit 4)."""
