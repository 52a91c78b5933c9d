"""The log: nobody to tell is no fault, and what an error came from."""

import io
import logging
import sys

import pytest

from evenhand.serve import logs


@pytest.mark.parametrize("closed", [True, False])
def test_a_standard_error_that_takes_nothing_is_no_fault(monkeypatch, closed):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError("no space left")

    stream = Full()
    if closed:
        stream = io.StringIO()
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    logs._Lines().emit(logging.LogRecord("x", logging.INFO, "", 0, "said", (), None))


def test_the_causes_of_an_error_are_named_without_their_words():
    error: BaseException = ValueError("private")
    for kind in (OSError, RuntimeError):
        above = kind("private")
        above.__cause__ = error
        error = above
    found = logs.cause(error, texts=False)
    assert found == {"error": "RuntimeError", "causes": ["OSError", "ValueError"]}
    assert logs.cause(error, texts=True)["message"] == "private"
    error.__cause__.__cause__.__cause__ = error
    assert len(logs.cause(error, texts=False)["causes"]) == 4
