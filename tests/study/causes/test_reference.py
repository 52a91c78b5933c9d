import math
from dataclasses import replace

import pytest

from evenhand.errors import InputError, UsageError
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.study.causes.decompose import decompose
from evenhand.study.causes.reference import open_reference
from evenhand.study.rows.kept import kept, write_result
from evenhand.types import Candidate, Slate

SHAPE = {"partitions": 3, "orders": 2, "width": 4, "rule": "contiguous", "seed": 0}


def slates(count=6, n=8):
    return [
        Slate(f"q{q}", f"query {q}", tuple(Candidate(f"c{q}.{i}", "x") for i in range(n)))
        for q in range(count)
    ]


def toy(noise):
    return Toy(relevance="hash", slot_bias=0.2, noise=noise)


@pytest.fixture
def base(tmp_path):
    """A kept decomposition of a toy with noise of sd .2."""
    out = tmp_path / "base"
    with kept(toy(0.2), out, "decompose", SHAPE, slates()) as asked:
        found = decompose(asked, slates(), **SHAPE)
    write_result(out, {"decomposition": found.to_dict(), "width": None})
    return out


def test_half_the_noise_leaves_a_quarter_of_the_residual(base):
    against = open_reference(base, toy(0.1), slates(), SHAPE)
    assert against.name == toy(0.2).name
    same = decompose(toy(0.2), slates(), **SHAPE).nested
    assert against.fit == same
    assert against.residual_share(same) == 1
    # Nothing but slot and noise moves this toy, and its noise is sd times the same draws: (.1 / .2)^2.
    assert against.residual_share(decompose(toy(0.1), slates(), **SHAPE).nested) == pytest.approx(0.25)


def test_other_candidates_have_no_share(base):
    against = open_reference(base, toy(0.1), slates(), SHAPE)
    assert math.isnan(against.residual_share(replace(against.fit, documents=7)))


def test_other_slates_rows_and_scales_are_refused(base):
    with pytest.raises(UsageError, match=r"no reference for toy.*: seed: 0 there, 1 here\. Decompose"):
        open_reference(base, toy(0.1), slates(), {**SHAPE, "seed": 1})
    with pytest.raises(UsageError, match="slates: '"):
        open_reference(base, toy(0.1), slates(5), SHAPE)
    other = scorer(lambda query, texts: [0.0] * len(texts), scale="log_likelihood")
    with pytest.raises(UsageError, match=f"scale: {toy(0.2).scale!r} there, 'log_likelihood' here"):
        open_reference(base, other, slates(), SHAPE)


def test_a_folder_without_a_finished_decomposition_is_refused(base, tmp_path):
    with pytest.raises(InputError, match="is not there; name the folder"):
        open_reference(tmp_path / "none", toy(0.1), slates(), SHAPE)
    (base / "result.json").write_text("{}")
    with pytest.raises(InputError, match="holds no finished decomposition"):
        open_reference(base, toy(0.1), slates(), SHAPE)
    (base / "result.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read as JSON"):
        open_reference(base, toy(0.1), slates(), SHAPE)
