"""What a server tells of itself: adapters, the surface that is shown, measures of the training."""

import json
from types import SimpleNamespace

import pytest

from evenhand.models.shipped import DEFAULT, folder
from evenhand.models.store import folder_sha256
from evenhand.present.surface import texts_hash
from evenhand.score.shipped import NAME
from evenhand.serve.ask import Reader
from evenhand.serve.info import facts
from evenhand.serve.settings import Serving
from evenhand.types import Surface

RECORD = json.loads((folder(DEFAULT) / NAME).read_bytes())


@pytest.fixture
def trained(lengths):
    """A scorer that says of itself what the shipped one does."""
    lengths.trained = SimpleNamespace(path=str(folder(DEFAULT) / NAME))
    lengths.surface, lengths.default_window = Surface(**RECORD["surface"]), RECORD["width"]
    lengths.channels = lengths.channels | {"rubric"}
    return lengths


def told(scorer, spec="held", **serving):
    return facts(Reader(scorer, Serving(**serving), spec), spec)


def test_measures_of_the_training_as_it_was_trained(trained):
    found = told(trained, DEFAULT)
    measured = found["measured"]
    assert measured["measures"] == RECORD["measures"]
    assert (measured["as_served"], measured["differs"]) == (True, [])
    assert found["rubric_hash"] == RECORD["texts_hash"]
    assert found["adapter"] is None


@pytest.mark.parametrize(
    ("serving", "differs"),
    [
        ({"remedies": ("average:2",)}, ["remedies"]),
        ({"width": 5}, ["width"]),
        ({"rule": "interleaved", "width": 5}, ["width", "rule"]),
    ],
)
def test_measures_of_another_form_are_marked(trained, serving, differs):
    measured = told(trained, DEFAULT, **serving)["measured"]
    assert (measured["as_served"], measured["differs"]) == (False, differs)


def test_measures_under_another_surface_are_marked(trained):
    trained.surface = Surface()
    assert told(trained, DEFAULT)["measured"]["differs"] == ["surface"]


def test_the_surface_is_the_one_that_is_shown(trained):
    # Behind `isolated` another one is shown than to the bare scorer.
    trained.surface = Surface(visibility="sequential")
    trained.visibilities = ("sequential", "isolated")
    found = told(trained, remedies=("isolated",))
    assert found["surface"]["visibility"] == "isolated"
    assert found["rubric_hash"] == texts_hash(Surface(visibility="isolated"))


@pytest.mark.parametrize("base", ["evenhand-smol", "evenhand-smol-single", "smollm2-135m"])
def test_an_adapter_is_told_by_name_and_content(lengths, tmp_path, base):
    laid = tmp_path / "laid"
    laid.mkdir()
    (laid / "adapter_model.safetensors").write_bytes(b"weights")
    found = told(lengths, f"{base}+{laid}")
    assert found["adapter"] == {"name": "laid", "revision": folder_sha256(laid)}
    assert found["models"][0] == f"{base}+laid"
    assert str(tmp_path) not in json.dumps(found)
    assert told(lengths, f"{base}+org/laid")["adapter"] == {"name": "org/laid", "revision": None}
