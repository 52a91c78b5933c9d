"""Values on their way from the device."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import ScorerError
from evenhand.models.later import Later, finite


def test_values_come_as_they_are_in_double_precision():
    values = torch.tensor([[0.1, 2.0], [3.0, 4.0]])
    found = Later(values).get()
    assert found.dtype == np.float64
    # The nearest float32 to .1 is not that of float64.
    assert found.tolist() == [[float(np.float32(0.1)), 2.0], [3.0, 4.0]]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="a copy runs beside the host on CUDA alone")
def test_a_copy_is_whole_when_it_is_asked_for():
    values = torch.rand(4096, 64, device="cuda")
    held = Later(values @ values.T @ values)
    assert np.array_equal(held.get(), (values @ values.T @ values).cpu().double().numpy())


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_values_that_are_none_name_their_slate(wrong):
    assert finite(np.ones((2, 2)), "s1").sum() == 4
    with pytest.raises(ScorerError, match="slate 's1': the model gave NaN or infinite values"):
        finite(np.array([[1.0, wrong]]), "s1")
