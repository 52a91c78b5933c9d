"""What clients are told of a scorer's name."""

import pytest

from evenhand.serve.names import public, secrets


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("toy:slot_bias=0.3", "toy:slot_bias=0.3"),
        ("evenhand-smol", "evenhand-smol"),
        ("hf:Qwen/Qwen3-0.6B@main", "hf:Qwen/Qwen3-0.6B@main"),
        ("hf:Qwen/Qwen3-0.6B+org/adapter", "hf:Qwen/Qwen3-0.6B+org/adapter"),
        ("hf:/data/models/mine", "hf:mine"),
        ("ql:hf:~/models/mine", "ql:hf:mine"),
        ("gguf:./files/mine.gguf", "gguf:mine.gguf"),
        ("smollm2-135m+/data/laid", "smollm2-135m+laid"),
        ("hf:/a+b/c+d/e", "hf:a+c+e"),
        ("rerank:http://inner:8000/v1/rerank", "rerank"),
        ("rerank:https://inner/v1 some-model", "rerank some-model"),
    ],
)
def test_paths_and_addresses_are_left_out(name, told):
    assert public(name) == told


def test_a_relative_folder_is_a_path_where_it_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert public("smollm2-135m+runs/mine") == "smollm2-135m+runs/mine"
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    assert public("smollm2-135m+runs/mine") == "smollm2-135m+mine"


def test_the_longest_private_name_is_first():
    found = secrets("hf:/m+/a", "hf:/m", "toy")
    assert found == {"hf:/m+/a": "hf:m+a", "hf:/m": "hf:m", "/m": "m", "/a": "a"}
    assert next(iter(found)) == "hf:/m+/a"
