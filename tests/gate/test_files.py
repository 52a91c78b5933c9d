from __future__ import annotations

import pytest

from evenhand.errors import InputError, UsageError
from evenhand.gate.files import find_settings, read_settings
from evenhand.gate.options import Options

PYPROJECT = '[project]\nname = "x"\n[tool.evenhand.gate]\nmax-tau-psi = 0.12\n'
OWN = "[gate]\nmax-tau-psi = 0.12\n"


def criteria(options):
    return [str(one) for one in options.criteria]


@pytest.mark.parametrize(("name", "text"), [("pyproject.toml", PYPROJECT), ("evenhand.toml", OWN)])
def test_either_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found, source = find_settings(tmp_path)
    assert (criteria(found), source) == (["tauPSI <= 0.12"], tmp_path / name)
    assert read_settings(tmp_path / name) == found


def test_none(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert find_settings(tmp_path) == (Options(), None)


def test_the_nearest_folder_counts_and_the_search_ends_at_the_project(tmp_path):
    (tmp_path / "evenhand.toml").write_text(OWN)
    inner = tmp_path / "project" / "deep"
    inner.mkdir(parents=True)
    assert find_settings(inner)[1] == tmp_path / "evenhand.toml"
    (inner.parent / "pyproject.toml").write_text(PYPROJECT.replace("0.12", "0.2"))
    assert criteria(find_settings(inner)[0]) == ["tauPSI <= 0.2"]
    (inner / ".git").mkdir()
    assert find_settings(inner) == (Options(), None)


def test_a_file_without_the_table_lets_the_other_speak(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n")
    (tmp_path / "evenhand.toml").write_text(OWN)
    assert find_settings(tmp_path)[1] == tmp_path / "evenhand.toml"


def test_two_files_of_a_folder_must_agree(tmp_path):
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "evenhand.toml").write_text(OWN)
    assert criteria(find_settings(tmp_path)[0]) == ["tauPSI <= 0.12"]
    (tmp_path / "evenhand.toml").write_text(OWN + 'on = "mean"\n')
    with pytest.raises(
        UsageError, match=r"pyproject.toml and .*evenhand.toml both set the gate .* on;"
    ):
        find_settings(tmp_path)


def test_paths_are_relative_to_the_file(tmp_path):
    file = tmp_path / "evenhand.toml"
    file.write_text('[gate]\njunit = "g.xml"\nbaseline = "runs/main"\nmax-drop = {tauPSI = 0.1}\n')
    found = read_settings(file)
    assert found.others == {"junit": tmp_path / "g.xml", "baselines": (tmp_path / "runs/main",)}


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("[gate]\nmax-tau = 1\n", UsageError, r"evenhand.toml: \[gate\] max-tau; known are baseline,"),
        ("[gate]\nmax-tau-psi = 'x'\n", UsageError, r"evenhand.toml: \[gate\] max-tau-psi: the bound"),
        ("gate = 3\n", UsageError, "evenhand.toml: gate must be a table of names and values, got 3"),
        ("[gate\n", InputError, "evenhand.toml: is no TOML"),
        ("", InputError, r"has no table \[gate\]"),
        ("[gates]\n", UsageError, "evenhand.toml: unknown 'gates'; known is gate"),
        (b"\xff", InputError, "is no text in UTF-8"),
    ],
)
def test_what_is_refused_names_file_and_key(tmp_path, text, kind, message):
    file = tmp_path / "evenhand.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(kind, match=message):
        read_settings(file)


def test_a_missing_file_and_a_wrong_table_of_pyproject(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_settings(tmp_path / "none.toml")
    (tmp_path / "pyproject.toml").write_text("[tool]\nevenhand = 1\n")
    with pytest.raises(UsageError, match="tool.evenhand must be a table"):
        find_settings(tmp_path)


def test_a_misspelt_table_is_not_as_if_there_were_none(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand.gat]\nmax-tau-psi = 0.1\n")
    with pytest.raises(UsageError, match=r"pyproject.toml: \[tool.evenhand\] unknown 'gat'; known is"):
        find_settings(tmp_path)
    named = tmp_path / "named.toml"
    named.write_text(OWN + "[another]\n")
    assert criteria(read_settings(named)) == ["tauPSI <= 0.12"]


def test_a_mark_before_the_text_is_no_part_of_it(tmp_path):
    file = tmp_path / "evenhand.toml"
    file.write_bytes(b"\xef\xbb\xbf" + OWN.encode())
    assert criteria(read_settings(file)) == ["tauPSI <= 0.12"]
