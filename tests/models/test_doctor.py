import subprocess
import sys

from evenhand.models import doctor, doctor_lines
from evenhand.models.fetch import SHA256, SMOLLM2
from evenhand.models.gguf import folder_for, identity_of
from evenhand.models.store import publish


def test_lines(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "not" / "there"))
    lines = {name: (status, detail) for name, status, detail in doctor_lines()}
    assert list(lines) == ["device", SMOLLM2, "disk"]
    assert lines["device"][1].startswith(("cpu", "cuda"))
    assert lines[SMOLLM2][0] == "missing"
    assert not (tmp_path / "not").exists()
    publish(folder_for(SMOLLM2, SHA256), identity_of(SHA256), lambda folder: (folder / "x").touch())
    assert doctor._default() == (SMOLLM2, "ok", str(folder_for(SMOLLM2, SHA256)))


def test_little_disk_is_a_warning(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path))
    usage = type("Usage", (), {"free": 100_000_000})
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: usage)
    name, status, detail = doctor._disk()
    assert (name, status) == ("disk", "warning")
    assert "0.1 GB free" in detail
    assert "needs 0.8 GB" in detail  # 8 x 98 MB


def test_missing_torch_is_told(monkeypatch):
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert doctor._device() == ("device", "missing", "needs torch")


def test_importing_models_stays_light():
    code = "import sys, evenhand.models, evenhand.models.load; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
