"""What a batch gave, on its way from the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenhand.errors import ScorerError


class Later:
    """Values that are copied as soon as the device has them, and waited for when asked.

    Args:
        values: (s, k), on any device.
    """

    def __init__(self, values: torch.Tensor) -> None:
        waits = values.device.type == "cuda"
        # Into memory that the device writes by itself.
        self._values = values.to("cpu", non_blocking=waits)
        self._done: Any = None
        if waits:
            self._done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._done.record(torch.cuda.current_stream(values.device))

    def get(self) -> NDArray[np.float64]:
        """Return the (s, k) values once they are there."""
        if self._done is not None:
            self._done.synchronize()
        return self._values.double().numpy()


def finite(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return the values of a prompt.

    Args:
        name: of its slate, for messages.

    Raises:
        ScorerError: the model gave none.
    """
    if not np.isfinite(values).all():
        raise ScorerError(
            f"slate {name!r}: the model gave NaN or infinite values; "
            "check its weights, or use dtype='float32'"
        )
    return values
