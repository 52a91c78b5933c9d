import sys
import warnings

import pytest

from evenhand.errors import MissingExtraError
from evenhand.models.quiet import first_line, quiet, require


def test_require_imports_or_names_the_extra():
    assert require("json").loads("1") == 1
    with pytest.raises(MissingExtraError, match=r"evenhand\[train\]"):
        require("no_such_package_of_ours", "train")


def test_require_passes_on_what_a_package_itself_lacks(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import another_missing_one\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="another_missing_one") as caught:
        require("broken_package")
    assert not isinstance(caught.value, MissingExtraError)


def test_quiet_collects_warnings_and_restores_settings(capfd):
    logging = pytest.importorskip("transformers").utils.logging
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with quiet() as messages:
        print("noise")
        warnings.warn("heed this", UserWarning, stacklevel=1)
        assert not logging.is_progress_bar_enabled()
    assert messages == ["heed this"]
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")


def test_quiet_restores_after_an_error():
    logging = pytest.importorskip("transformers").utils.logging
    before, stdout = logging.get_verbosity(), sys.stdout
    with pytest.raises(ValueError, match="boom"), quiet():
        raise ValueError("boom")
    assert logging.get_verbosity() == before
    assert sys.stdout is stdout


def test_first_line():
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(KeyboardInterrupt()) == "KeyboardInterrupt"
