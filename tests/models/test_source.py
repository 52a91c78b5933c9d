import pytest

from evenhand.errors import InputError, UsageError
from evenhand.models.source import Place, Source, parse


def test_hub_ids():
    assert parse("hf:org/name") == Source(Place("hub", "org/name"))
    assert parse("hf:gpt2") == Source(Place("hub", "gpt2"))
    assert parse("hf:Qwen/Qwen3-0.6B@v1") == Source(Place("hub", "Qwen/Qwen3-0.6B", "v1"))
    assert parse("hf:org/name", revision="abc") == parse("hf:org/name@abc")
    with_adapter = Source(Place("hub", "org/name", "r"), Place("hub", "me/lora", "v2"))
    assert parse("hf:org/name@r+me/lora@v2") == with_adapter
    assert parse("hf:org/name", revision="r", adapter="me/lora@v2") == with_adapter


def test_local_folders(tmp_path, monkeypatch):
    base, adapter = tmp_path / "c++", tmp_path / "lo+ra"
    base.mkdir()
    adapter.mkdir()
    assert parse(f"hf:{base}") == Source(Place("folder", str(base)))
    both = Source(Place("folder", str(base)), Place("folder", str(adapter)))
    assert parse(f"hf:{base}+{adapter}") == both
    assert parse("smollm2-135m+" + str(adapter)) == Source(
        Place("default", "smollm2-135m"), both.adapter
    )
    monkeypatch.chdir(tmp_path)
    assert parse("hf:./c++").base == Place("folder", "c++")
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert parse("hf:org/name").base.kind == "folder"  # what transformers would read, named as such


def test_default_and_gguf(tmp_path):
    assert parse("smollm2-135m") == Source(Place("default", "smollm2-135m"))
    assert parse(f"gguf:{tmp_path}/m.gguf") == Source(Place("gguf", f"{tmp_path}/m.gguf"))


def test_what_comes_with_evenhand(tmp_path):
    for name in ("evenhand-smol", "evenhand-smol-single"):
        assert parse(name) == Source(Place("shipped", name))
    with_adapter = Source(Place("shipped", "evenhand-smol"), Place("folder", str(tmp_path)))
    assert parse(f"evenhand-smol+{tmp_path}") == with_adapter
    assert parse("evenhand-smol", adapter=str(tmp_path)) == with_adapter


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "smollm2",
        "evenhand",
        "evenhand-smol-double",
        "evenhand-smol@v1",
        "smollm2-135m@v1",
        "openai:x",
        "hf:a/b/c",
        "hf:a b",
        "hf:org/name@",
    ],
)
def test_unknown_forms_list_the_known_ones(spec):
    with pytest.raises(UsageError) as caught:
        parse(spec)
    for form in (
        "evenhand-smol",
        "smollm2-135m",
        "hf:org/name@revision",
        "hf:/local/folder",
        "gguf:/path/file.gguf",
    ):
        assert form in str(caught.value)


def test_nothing_after_the_colon_or_plus():
    for spec in ("gguf:", "hf:", "hf:+me/lora", "hf:org/name+", "smollm2-135m+", "evenhand-smol+"):
        with pytest.raises(UsageError, match="names nothing"):
            parse(spec)


def test_clashes(tmp_path):
    with pytest.raises(UsageError, match="two revisions, 'a' in the spec and 'b'"):
        parse("hf:org/name@a", revision="b")
    with pytest.raises(UsageError, match="two adapters"):
        parse("hf:org/name+me/one", adapter="me/two")
    for spec in ("smollm2-135m", "evenhand-smol", f"hf:{tmp_path}", f"gguf:{tmp_path}/m.gguf"):
        with pytest.raises(UsageError, match="only a hub id has revisions"):
            parse(spec, revision="a")


def test_missing_folder_is_not_taken_for_a_hub_id(tmp_path):
    for spec in (f"hf:{tmp_path}/none", "hf:./none", "hf:~/none-such-folder"):
        with pytest.raises(InputError, match="no such folder"):
            parse(spec)
