import pytest

from evenhand.errors import InputError, ScorerError, UsageError
from evenhand.models.tokenizer import identity, load_tokenizer


@pytest.fixture
def folder(tmp_path, tiny_tokenizer):
    tiny_tokenizer.save_pretrained(tmp_path / "one")
    return tmp_path / "one"


def test_a_folder_by_its_path_and_as_a_spec(folder, tiny_tokenizer):
    text = "Grades:\n[1] Grade: 0"
    found, first = load_tokenizer(str(folder))
    other, second = load_tokenizer(f"hf:{folder}")
    assert found.encode(text) == other.encode(text) == tiny_tokenizer.encode(text)
    assert first == second


def test_identity_is_of_the_content(folder, tmp_path):
    tokenizer, first = load_tokenizer(str(folder))
    tokenizer.save_pretrained(tmp_path / "moved")
    assert load_tokenizer(str(tmp_path / "moved"))[1] == first
    tokenizer.chat_template = "{{ messages }}"
    assert identity(tokenizer) != first
    tokenizer.chat_template = None
    bare = identity(tokenizer)
    tokenizer.add_tokens(["apple"])
    assert identity(tokenizer) != bare


def test_what_holds_no_tokenizer_is_refused(tmp_path):
    for spec in ("", "  ", None):
        with pytest.raises(UsageError, match="named by a hub id or a folder"):
            load_tokenizer(spec)
    with pytest.raises(UsageError, match="names no tokenizer"):
        load_tokenizer("gguf:/a.gguf")
    with pytest.raises(UsageError, match="names no tokenizer"):
        load_tokenizer(f"hf:org/name+{tmp_path}")
    with pytest.raises(InputError, match="no tokenizer in this folder"):
        load_tokenizer(str(tmp_path))
    with pytest.raises(InputError, match="no such folder"):
        load_tokenizer(f"hf:{tmp_path}/none")


def test_a_damaged_one_is_told(folder):
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ScorerError, match="could not be loaded.*Check the hub id.*for a service"):
        load_tokenizer(str(folder))
