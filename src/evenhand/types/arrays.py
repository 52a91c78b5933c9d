"""Names for the arrays and literals that the types are made of."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

RowKind = Literal["canonical", "random", "repeat"]
Visibility = Literal["sequential", "parallel", "isolated"]
Scale = Literal["unit", "log_likelihood", "raw"]
