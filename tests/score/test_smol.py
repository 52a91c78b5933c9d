"""The shipped scorers, their real weights on the real base."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.data.demo import demo_slates
from evenhand.errors import ScorerError
from evenhand.models.fetch import SHA256
from evenhand.models.load import load
from evenhand.models.shipped import DEFAULT, FILE, SINGLE, folder
from evenhand.present.design import design
from evenhand.remedy import apply
from evenhand.remedy.arrange import isolated
from evenhand.score import open_scorer
from evenhand.seeds import content_hash, file_hash
from evenhand.types import Slate, Surface

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.slow, pytest.mark.timeout(900)]
# The first bundled slate: how many of its candidates.
CANDIDATES = 5


@pytest.fixture(scope="module")
def opened():
    """Both scorers by name."""
    try:
        return {name: open_scorer(name, device="cpu") for name in (DEFAULT, SINGLE)}
    except ScorerError as error:
        pytest.skip(f"the base is neither here nor can it be fetched: {error}")


@pytest.fixture(scope="module")
def slate():
    first = demo_slates(1)[0]
    return Slate(first.id, first.query, first.candidates[:CANDIDATES])


def scores(scorer, slate, rows=2):
    """(1 + rows, n) scores of the canonical and some random orders."""
    drawn = design("reorder", rows=rows, width=10, surface=scorer.surface, repeat=False, seed=1)
    return np.array([one.scores for one in scorer.score(list(drawn.draw(slate).shown(slate)))])


def test_it_scores_in_the_form_of_its_training(opened, slate):
    found = opened[DEFAULT]
    assert found.surface == Surface(markers="single", enclose=True, query="around")
    assert (found.default_window, found.options.max_candidate_tokens) == (10, 64)
    values = scores(found, slate, rows=1)
    assert values.shape == (2, CANDIDATES)
    assert ((values >= 0) & (values <= 1)).all()
    assert values.std() > 0.02


def test_the_twins_differ_in_scores_and_revision(opened, slate):
    first, other = opened[DEFAULT], opened[SINGLE]
    assert first.revision != other.revision
    assert np.abs(scores(first, slate, rows=1) - scores(other, slate, rows=1)).max() > 1e-3
    hashes = {name: file_hash(folder(name) / FILE) for name in (DEFAULT, SINGLE)}
    assert load(SINGLE, device="cpu").revision == f"{SHA256}+{hashes[SINGLE]}"
    assert content_hash(hashes[DEFAULT]) != content_hash(hashes[SINGLE])


def test_candidates_blind_to_each_other_have_no_order(opened, slate):
    alone = apply(opened[DEFAULT], [isolated()])
    assert alone.order_free
    values = scores(alone, slate)
    # Equal but for float error: where a branch stands in the batch moves the last digits.
    assert np.abs(values - values[0]).max() < 1e-5
    assert np.abs(scores(opened[DEFAULT], slate) - values).max() > 1e-4
