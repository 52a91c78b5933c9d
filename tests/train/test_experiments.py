"""The scripts behind the numbers run from labels to results, and go on after a stop."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from train_help import make_slate

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def scripts(monkeypatch):
    """The modules of experiments/grader, looking at two small lists."""
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "grader"))
    import arms
    import common
    import stage1

    grades = {"c0": 2, "c3": 1}
    lists = {name: [make_slate(name, n=6, grades=grades)] for name in ("trec_dl19", "trec_dl20")}
    for module in (arms, stage1):
        monkeypatch.setattr(module, "lists_of", lambda data, limit: lists)
    yield arms, stage1, common
    for name in ("arm", "arms", "common", "stage1"):
        sys.modules.pop(name, None)


@pytest.fixture
def prepared(tmp_path):
    """Slates as prepare.py writes them."""
    texts, rows = {}, {"slates": [], "stage2": []}
    for name, count in (("slates", 6), ("stage2", 4)):
        for number in range(count):
            slate = make_slate(f"{name}{number}", n=6)
            ids = [f"{slate.id} {one.id}" for one in slate.candidates]
            texts |= dict(zip(ids, (one.text for one in slate.candidates), strict=True))
            rows[name].append({"id": f"pseudo made {ids[0]}", "query": f"{slate.query} {number}",
                               "source": "made", "candidates": ids, "grades": None})  # fmt: skip
    folder = tmp_path / "prepared"
    folder.mkdir()
    rows["texts"] = [{"id": key, "text": text} for key, text in texts.items()]
    for name, lines in rows.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return folder


@pytest.fixture
def base(tiny_loaded, tmp_path):
    """The spec of a tiny model's folder."""
    from evenhand.models.quiet import quiet

    loaded = tiny_loaded("llama")
    with quiet():
        loaded.model.save_pretrained(tmp_path / "base")
    loaded.tokenizer.save_pretrained(tmp_path / "base")
    return f"hf:{tmp_path / 'base'}"


def call(module, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["script", *map(str, words)])
    module.main()


@pytest.mark.slow
def test_both_stages_and_a_second_call(scripts, prepared, base, tmp_path, monkeypatch, capsys):
    arms, stage1, _ = scripts
    small = ("--base", base, "--plain", "--workers", 0, "--windows", 4, "--steps", 2)
    first = (prepared, tmp_path, tmp_path / "one", "--labels", "likelihood", "--rank", 2, *small)
    call(stage1, monkeypatch, *first)
    record = json.loads((tmp_path / "one" / "stage1.json").read_text())
    assert set(record["looks"]) == {"full", "rank 2"}
    call(stage1, monkeypatch, *first)
    assert "labels: those of labels-likelihood-" in capsys.readouterr().out

    out = tmp_path / "two"
    start = tmp_path / "one" / "model.safetensors"
    second = (start, prepared, tmp_path, out, *small, "--held", 1, "--arms", "single", "isolated")
    call(arms, monkeypatch, *second)
    names = sorted(path.name for path in (out / "results").glob("*.json"))
    assert names == ["isolated-0.json", "single-0.json", "start-0.json"]
    psi = {name: psi_of(out, name) for name in ("isolated", "single")}
    # Candidates that are blind to each other have no order.
    assert psi["isolated"] == {"reorder": 0, "order": 0}
    assert psi["single"]["reorder"] > 0
    kept = np.load(out / "results" / "single-0.npz")["trec_dl19/trec_dl19"]
    # The canonical row and ten random ones of six candidates.
    assert kept.shape == (11, 6)
    before = {path: path.stat().st_mtime_ns for path in (out / "results").iterdir()}
    call(arms, monkeypatch, *second, "averaged-2")
    assert (out / "results" / "averaged-2-0.json").exists()
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(list(out.glob("labels-1-*.npz"))) == len(list(out.glob("labels-2-*.npz"))) == 1


def psi_of(out, name):
    looks = json.loads((out / "results" / f"{name}-0.json").read_text())["looks"]
    return {design: looks[design]["trec_dl19"]["means"]["psi"] for design in ("reorder", "order")}


@pytest.mark.slow
def test_an_adapter_is_trained_on_a_cut(scripts, prepared, base, tmp_path, monkeypatch):
    import heal
    import weights
    from safetensors.torch import load_file, save_file

    from evenhand.models.load import load

    monkeypatch.setattr(heal, "lists_of", sys.modules["arms"].lists_of)
    named = load(base, dtype="float32").model.named_parameters()
    start = tmp_path / "start.safetensors"
    save_file({name: (value.detach() * 1.1).half() for name, value in named}, start)
    weights.cut(start, 2, tmp_path / "cut", base)
    small = ("--base", base, "--plain", "--workers", 0, "--windows", 4, "--steps", 2, "--held", 1)
    out = tmp_path / "healed"
    call(heal, monkeypatch, tmp_path / "cut", start, prepared, tmp_path, out, "--arm", "across-4",
         "--rank", 2, *small)  # fmt: skip
    assert json.loads((out / "across-4-0.json").read_text())["tokens"] > 0
    adapter = load_file(out / "across-4-0" / "adapter_model.safetensors")
    assert {value.shape[0] for name, value in adapter.items() if "lora_A" in name} == {2}
    for name in ("heal", "weights"):
        sys.modules.pop(name, None)


def test_weights_in_a_byte_each_come_back_as_they_were_given(scripts):
    import torch
    import weights

    given = {
        "matrix": torch.tensor([[127.0, -64.0, 1.0], [0.0, 0.0, 0.0]]),
        "norm": torch.tensor([0.3]),
    }
    once = weights.from_bytes(weights.to_bytes(given))
    # The first row's largest is 127: a scale of 1, whole numbers stay.
    assert once["matrix"].tolist() == given["matrix"].tolist()
    assert once["norm"].item() == torch.tensor(0.3).half().item()
    again = weights.from_bytes(weights.to_bytes(once))
    assert all(torch.equal(once[name], again[name]) for name in once)
    sys.modules.pop("weights", None)


def test_labels_are_made_once(scripts, tmp_path):
    _, _, common = scripts
    slates = [make_slate("a", n=3), make_slate("b", n=2)]
    made = [np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]), np.array([[0.7, 0.8], [0.9, 1.0]])]
    path = tmp_path / "labels.npz"
    first = common.kept_labels(path, slates, lambda: made)
    again = common.kept_labels(path, slates, lambda: pytest.fail("labels were made again"))
    for one, other, wanted in zip(first, again, made, strict=True):
        assert one.tolist() == other.tolist()
        assert np.abs(one - wanted).max() < 1e-7
    other = common.kept_labels(path, slates[:1], lambda: made[:1])
    assert [one.shape for one in other] == [(2, 3)]
