"""Scorers by name; the models behind local names are replaced by stand-ins."""

import subprocess
import sys
from types import ModuleType

import pytest

import evenhand
from evenhand.errors import UsageError
from evenhand.score import open_scorer, scorer
from evenhand.score.toy import Toy


@pytest.fixture
def stand_ins(monkeypatch):
    """Put openers in place of the local ones that note what they were called with."""
    calls = []

    def open_local(spec, *, device=None, dtype="float32"):
        calls.append(("local", spec, device, dtype))
        return Toy()

    def open_likelihood(spec, **options):
        calls.append(("likelihood", spec, options))
        return Toy()

    local, likelihood = ModuleType("evenhand.score.local"), ModuleType("evenhand.score.likelihood")
    local.open_local = open_local
    likelihood.open_likelihood = open_likelihood
    monkeypatch.setitem(sys.modules, local.__name__, local)
    monkeypatch.setitem(sys.modules, likelihood.__name__, likelihood)
    return calls


def test_a_file_of_your_own_is_told_how_functions_are_wrapped():
    with pytest.raises(UsageError, match=r"'own.py:f': a function of your own is wrapped in Python"):
        open_scorer("own.py:f")


def test_toys_open_with_dials_in_the_spec_and_as_options():
    assert open_scorer("toy") == Toy()
    assert open_scorer("toy:slot_bias=.3,noise=.05", seed=2) == Toy(slot_bias=0.3, noise=0.05, seed=2)


@pytest.mark.parametrize(
    "spec",
    [
        "evenhand-smol",
        "evenhand-smol-single+adapters/a",
        "smollm2-135m",
        "smollm2-135m+adapters/a",
        "smollm2-135m+C:/adapters",
        "hf:Qwen/Qwen3-0.6B",
        "hf:folder+adapter",
        "gguf:model.gguf",
    ],
)
def test_local_specs_reach_the_local_opener_whole(stand_ins, spec):
    open_scorer(spec, device="cpu")
    assert stand_ins == [("local", spec, "cpu", "float32")]


@pytest.mark.parametrize(
    "model", ["smollm2-135m", "evenhand-smol", "hf:Qwen/Qwen3-0.6B", "gguf:model.gguf"]
)
def test_query_likelihood_specs_hand_over_the_model(stand_ins, model):
    open_scorer(f"ql:{model}", device="cpu")
    assert stand_ins == [("likelihood", model, {"device": "cpu"})]


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "gpt",
        "toys",
        "Toy",
        "hf",
        "hf:",
        "hf: ",
        "ql",
        "ql:",
        "gguf:",
        "smollm2-135m:x",
        "cross:",
        "listwise:",
    ],
)
def test_unknown_specs_list_the_known_forms(stand_ins, spec):
    with pytest.raises(
        UsageError,
        match=r"unknown scorer .*known forms are \"toy\".*\"evenhand-smol\", \"evenhand-smol-single\", "
        r"\"smollm2-135m\".*\"ql:",
    ):
        open_scorer(spec)
    assert stand_ins == []


def test_unknown_options_are_refused_by_name(stand_ins):
    with pytest.raises(
        UsageError, match=r"unknown options \['devise'\]; known are \['device', 'dtype'\]"
    ):
        open_scorer("hf:m", devise="cpu", dtype="float32")
    with pytest.raises(UsageError, match="unknown dial 'device'"):
        open_scorer("toy", device="cpu")
    with pytest.raises(TypeError, match="devise"):
        scorer(lambda query, texts: [], devise="cpu")
    assert stand_ins == []


def test_a_function_is_pointed_to_the_wrapper():
    with pytest.raises(UsageError, match=r"got function; .*evenhand\.scorer\(f\)"):
        open_scorer(lambda query, texts: [])


def test_the_package_hands_out_both():
    assert evenhand.open_scorer is open_scorer
    assert evenhand.scorer is scorer


def test_torch_free_scorers_import_without_torch():
    code = (
        "import sys, evenhand.score, evenhand.score.cache; evenhand.score.open_scorer('toy');"
        "print(sorted({'torch', 'transformers', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


HIDE_TORCH = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hide())
from evenhand.errors import MissingExtraError
from evenhand.score import open_scorer
from evenhand.decide import open_reader
for opener, spec in (
    [(open_scorer, s) for s in ("smollm2-135m", "hf:x/y", "ql:hf:x/y", "ql:smollm2-135m", "gguf:f")]
    + [(open_reader, s) for s in ("smollm2-135m", "hf:x/y", "gguf:f.gguf")]
):
    try:
        opener(spec)
    except MissingExtraError as error:
        print(spec, error.module, error.extra)
"""


def test_without_torch_every_model_is_a_missing_extra():
    done = subprocess.run(
        [sys.executable, "-c", HIDE_TORCH], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 8
    assert all(line.endswith(" torch hf") for line in lines), lines
