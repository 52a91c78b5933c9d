"""A model as a small difference to another one: two narrow int8 matrices for each weight.

One safetensors file. A matrix NAME of (out, in) is kept as `NAME.left` (out, r) and
`NAME.right` (r, in), int8, with float16 scales `NAME.left.scale` and `NAME.right.scale`,
(r,) each: one for every column of left and every row of right. r may differ from weight
to weight. Other weights, such as norms, are kept under their own name as float16
differences. The file's metadata say the format, the base and its revision, the largest r
and the number type.

A scale for every row of left and every column of right would halve the rounding error
and cost as many bytes as two more ranks, which are worth more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import InputError, ScorerError, UsageError
from evenhand.models.quiet import first_line, require

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = "evenhand-difference-1"
DTYPE = "int8"
LEFT, RIGHT, SCALE = ".left", ".right", ".scale"
_MOST = 127
_FACTORS = (LEFT, RIGHT)
_PARTS = (LEFT, RIGHT, LEFT + SCALE, RIGHT + SCALE)


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """What is added to the weights of a base.

    Attributes:
        base: the base, as people call it.
        revision: of the base, as `models.load.Loaded.revision` has it.
        factors: float32 (out, r) and (r, in) of each matrix, by its name.
        plain: float32 differences of the other weights, by their names.
        path: of the file, for messages.
    """

    base: str
    revision: str
    factors: Mapping[str, tuple[Tensor, Tensor]]
    plain: Mapping[str, Tensor]
    path: str = "a difference"

    @property
    def rank(self) -> int:
        """The largest r; 0 where there is no matrix."""
        return max((int(left.shape[1]) for left, _ in self.factors.values()), default=0)


def split(tensors: Mapping[str, Tensor]) -> tuple[dict[str, tuple[Tensor, Tensor]], dict[str, Tensor]]:
    """Return the factors of matrices and the plain differences of named tensors, in float32.

    Args:
        tensors: `NAME.left` (out, r) and `NAME.right` (r, in) of any floating type, and
            plain differences under the names of their weights.

    Raises:
        UsageError: a left without its right or the other way round, shapes that do not
            make a product, or a value that is no finite number.
    """
    for name, value in tensors.items():
        if not bool(value.isfinite().all()):
            raise UsageError(f"{name} holds a value that is no finite number; train or cut it again")
    names = sorted(
        {name.removesuffix(end) for name in tensors for end in _FACTORS if name.endswith(end)}
    )
    factors: dict[str, tuple[Tensor, Tensor]] = {}
    for name in names:
        lacking = [name + end for end in _FACTORS if name + end not in tensors]
        if lacking:
            raise UsageError(f"{lacking[0]} is missing: a matrix needs its left and its right")
        left, right = (tensors[name + end].float() for end in _FACTORS)
        if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
            raise UsageError(
                f"{name}: left {tuple(left.shape)} and right {tuple(right.shape)} make no product; "
                "they must be (out, r) and (r, in)"
            )
        factors[name] = (left, right)
    plain = {name: value.float() for name, value in tensors.items() if not name.endswith(_FACTORS)}
    return factors, plain


def quantise(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a difference as it is kept: int8 with float16 scales, the rest in float16.

    Column k of left and row k of right are first brought to one largest value, which
    leaves their product as it is; then each is rounded to 127 steps of its own.

    Args:
        tensors: as `split` takes them.

    Raises:
        UsageError: as `split`; or a value is beyond float16.
    """
    factors, plain = split(tensors)
    kept: dict[str, Tensor] = {}
    for name, (left, right) in factors.items():
        for part, value in zip(_FACTORS, _balanced(left, right), strict=True):
            rounded, scale = _rounded(value, dim=0 if part == LEFT else 1)
            kept[name + part], kept[name + part + SCALE] = rounded, scale
    for name, value in plain.items():
        kept[name] = value.half().contiguous()
    for name, value in kept.items():
        if value.is_floating_point() and not bool(value.isfinite().all()):
            raise UsageError(f"{name} is beyond the range of float16, too large for a difference")
    return {name: value.cpu() for name, value in sorted(kept.items())}


def _balanced(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Bring each column of left and its row of right to the same largest value."""
    high, wide = left.abs().amax(dim=0), right.abs().amax(dim=1)
    ratio = (wide / high).sqrt()
    # A rank without effect, one of its two being all zeros, stays as it is.
    ratio = ratio.where(ratio.isfinite() & (ratio > 0), ratio.new_ones(()))
    return left * ratio, right / ratio[:, None]


def _rounded(value: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return int8 values and their (r,) float16 scales; `dim` runs within one rank."""
    torch = require("torch")
    scale = (value.abs().amax(dim=dim, keepdim=True) / _MOST).half()
    # Divided by the scale as it is kept: that it was rounded too then costs nothing.
    steps = (value / scale.float()).nan_to_num(0.0, 0.0, 0.0).round().clamp(-_MOST, _MOST)
    return steps.to(torch.int8).contiguous(), scale.flatten().contiguous()


def write(path: Path, tensors: Mapping[str, Tensor], *, base: str, revision: str) -> Difference:
    """Quantise a difference, write it and return what a reader gets.

    Args:
        path: of the file; one that is there is replaced.
        tensors: as `split` takes them.
        base: the spec of the base. revision: of its weights (`Loaded.revision`).

    Raises:
        UsageError: as `quantise`.
        MissingExtraError: torch or safetensors is not installed.
    """
    kept = quantise(tensors)
    ranks = [int(value.shape[1]) for name, value in kept.items() if name.endswith(LEFT)]
    said = {
        "format": FORMAT, "base": base, "base_revision": revision, "dtype": DTYPE,
        "rank": str(max(ranks, default=0)),
    }  # fmt: skip
    path.write_bytes(require("safetensors.torch").save(kept, metadata=said))
    return read(path)


def read(path: Path) -> Difference:
    """Read a file and check that it is whole.

    Raises:
        InputError: there is none, it is damaged or of another format, a part of a weight
            is missing, has the wrong type or shape, or holds a value that is no number.
        MissingExtraError: torch or safetensors is not installed.
    """
    if not path.is_file():
        raise InputError("no such file; install evenhand again, or build it again", path=str(path))
    said, tensors = _opened(path)
    if said.get("format") != FORMAT or said.get("dtype") != DTYPE:
        raise InputError(
            f"is of format {said.get('format')!r} and type {said.get('dtype')!r}; this version reads "
            f"{FORMAT!r} of {DTYPE!r}",
            path=str(path),
        )
    lacking = [name for name in ("base", "base_revision") if not said.get(name)]
    if lacking:
        raise InputError(f"does not say its {lacking[0]}; build it again", path=str(path))
    try:
        factors, plain = split(_floats(tensors))
    except UsageError as error:
        raise InputError(f"is damaged: {error}", path=str(path)) from error
    return Difference(said["base"], said["base_revision"], factors, plain, str(path))


def _opened(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    try:
        with require("safetensors").safe_open(str(path), framework="pt") as file:
            return dict(file.metadata() or {}), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except Exception as error:
        raise InputError(
            f"is no safetensors file ({type(error).__name__}: {first_line(error)}); install evenhand "
            "again, or build it again",
            path=str(path),
        ) from error


def _floats(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return int8 parts times their scales, under the names that `split` takes."""
    torch = require("torch")
    found: dict[str, Tensor] = {}
    for name, value in tensors.items():
        wanted = torch.int8 if name.endswith(_FACTORS) else torch.float16
        if value.dtype != wanted:
            raise UsageError(f"{name} is {value.dtype}, not {wanted}")
        if name.endswith(_FACTORS):
            found[name] = value.float() * _scales(tensors, name, value)
        elif not name.endswith(_PARTS):
            found[name] = value
        elif name.removesuffix(SCALE) not in tensors:
            raise UsageError(f"{name.removesuffix(SCALE)} is missing, and its scale is there")
    return found


def _scales(tensors: Mapping[str, Tensor], name: str, value: Tensor) -> Tensor:
    """Return the scales of a part, shaped to be multiplied with it."""
    if name + SCALE not in tensors:
        raise UsageError(f"{name}{SCALE} is missing")
    scale, of_left = tensors[name + SCALE].float(), name.endswith(LEFT)
    if value.ndim != 2 or scale.shape != (value.shape[1] if of_left else value.shape[0],):
        raise UsageError(
            f"{name} is {tuple(value.shape)} and its scales are {tuple(scale.shape)}; one is needed "
            f"for each {'column' if of_left else 'row'}"
        )
    return scale if of_left else scale[:, None]


def add(model: Any, difference: Difference, revision: str) -> None:
    """Add a difference to the weights of a model in place.

    Nothing is changed where something does not fit.

    Args:
        model: the base, in float32.
        difference: of `read`.
        revision: of the base's weights (`Loaded.revision`).

    Raises:
        ScorerError: it is a difference to other weights, or lacks a weight, has one that
            the model has not, or one of another shape; or the model is not in float32.
    """
    torch = require("torch")
    if revision != difference.revision:
        raise ScorerError(
            f"{difference.path} is a difference to {difference.base} of revision "
            f"{difference.revision[:16]}, and these weights are of {revision[:16]}; add it to those it "
            "was made from"
        )
    weights = dict(model.named_parameters())
    _require_fit(weights, difference)
    with torch.no_grad():
        for name, (left, right) in difference.factors.items():
            weights[name].add_((left @ right).to(weights[name].device))
        for name, value in difference.plain.items():
            weights[name].add_(value.to(weights[name].device))


def _require_fit(weights: Mapping[str, Tensor], difference: Difference) -> None:
    """Refuse a difference that is not one for exactly these weights."""
    shapes: dict[str, tuple[int, ...]] = {
        name: (left.shape[0], right.shape[1]) for name, (left, right) in difference.factors.items()
    }
    shapes |= {name: tuple(value.shape) for name, value in difference.plain.items()}
    for what, names in (
        ("lacks", sorted(weights.keys() - shapes.keys())),
        ("has, unlike the model,", sorted(shapes.keys() - weights.keys())),
    ):
        if names:
            raise ScorerError(f"{difference.path} {what} {len(names)} weights (first: {names[0]})")
    for name, shape in shapes.items():
        weight = weights[name]
        if tuple(weight.shape) != shape:
            raise ScorerError(
                f"{difference.path}: {name} is of shape {shape}, the model's of {tuple(weight.shape)}"
            )
        if weight.dtype != require("torch").float32:
            raise ScorerError(f"{name} is {weight.dtype}; a difference is added in float32")
