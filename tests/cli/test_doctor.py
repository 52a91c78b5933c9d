import importlib.metadata
import json
import platform


def test_doctor_tells_versions_and_state_and_is_0(run):
    ended = run("doctor", "--json")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert found["python"] == platform.python_version()
    assert found["core"]["numpy"] == importlib.metadata.version("numpy")
    assert {"device", "smollm2-135m"} <= set(found["machine"])


def test_doctor_says_how_to_add_what_is_missing(run, monkeypatch):
    import evenhand.cli.doctor as doctor

    assert set(doctor.EXTRAS) == {"hf", "report", "data", "train", "serve", "ray"}
    absent = ("no-such-package-anywhere",)
    monkeypatch.setattr(doctor, "EXTRAS", {"hf": absent, "data": ("numpy",), "train": absent})
    ended = run("doctor")
    assert ended.code == 0
    assert "no-such-package-anywhere missing" in ended.out
    assert "in a checkout: pip install '.[hf,train]'" in ended.out
