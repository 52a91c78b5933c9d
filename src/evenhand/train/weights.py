"""What of a model is trained, and how it is kept."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from evenhand.errors import ResumeError, UsageError
from evenhand.models.compiled import compile_blocks
from evenhand.models.load import Loaded
from evenhand.models.quiet import first_line, quiet, require
from evenhand.train.settings import Run, Training, Weights

STATE = "state.pt"


def prepare(loaded: Loaded, weights: Weights, seed: int) -> Any:
    """Return the model with gradients where it is trained: adapters, or everything.

    Adapters start from a draw of the seed alone.

    Raises:
        UsageError: the model has none of the layers that adapters are to be put on.
    """
    model = loaded.model
    if weights.method == "full":
        model.requires_grad_(True)
        return model.train()
    peft = require("peft")
    config = peft.LoraConfig(
        r=weights.rank,
        lora_alpha=weights.alpha,
        lora_dropout=weights.dropout,
        target_modules=list(weights.targets),
        task_type="CAUSAL_LM",
    )
    torch.manual_seed(seed)
    try:
        with quiet():
            return peft.get_peft_model(model, config).train()
    except ValueError as error:
        raise UsageError(
            f"{type(model).__name__} takes no adapters on {', '.join(weights.targets)} "
            f"({first_line(error)}); name its own layers as weights.targets"
        ) from error


def set_blocks(model: Any, run: Run) -> None:
    """Have the blocks of a transformers model recomputed or compiled, as a run asks."""
    if run.checkpointing:
        recompute_blocks(model)
    if run.compiled:
        compile_blocks(model)


def recompute_blocks(model: Any) -> None:
    """Have a transformers model recompute its blocks going back instead of keeping their states."""
    # The name of transformers 6; the older one warns.
    name = "activation_checkpointing_enable"
    enable = getattr(model, name, None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})


def frozen_copy(module: torch.nn.Module) -> torch.nn.Module:
    """Return a copy without gradients."""
    return copy.deepcopy(module).eval().requires_grad_(False)


def follow(average: torch.nn.Module, model: torch.nn.Module, decay: float) -> None:
    """Move an averaged model's weights: decay x average + (1 - decay) x model."""
    with torch.no_grad():
        for old, new in zip(average.parameters(), model.parameters(), strict=True):
            old.lerp_(new.to(old.dtype), 1 - decay)


class Checkpoint:
    """The state of a run on disk: trained weights, optimiser, step and log.

    Args:
        folder: where it stands.
        settings, labels, model: what a run that goes on must repeat; `labels` and `model`
            are hashes.
    """

    def __init__(self, folder: Path, settings: Training, labels: str, model: str) -> None:
        self._path = folder / STATE
        self._identity = {"settings": settings.plain(), "labels": labels, "model": model}

    def save(self, model: torch.nn.Module, optimiser: Any, done: int, **more: Any) -> None:
        """Write the state whole: a stop while it is written leaves the one before."""
        state = {
            "identity": self._identity,
            "done": done,
            "weights": trained(model),
            "optimiser": optimiser.state_dict(),
            **more,
        }
        partial = self._path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self._path)

    def load(self, model: torch.nn.Module, optimiser: Any) -> dict[str, Any] | None:
        """Put a saved state into model and optimiser and return it; None when there is none.

        Raises:
            ResumeError: it is of another run, or damaged.
        """
        if not self._path.exists():
            return None
        try:
            state: dict[str, Any] = torch.load(self._path, map_location="cpu", weights_only=True)
        except Exception as error:
            raise ResumeError(
                f"the checkpoint is damaged ({type(error).__name__}); delete it to start over",
                path=str(self._path),
            ) from error
        other = differences(state["identity"], self._identity)
        if other:
            raise ResumeError(
                f"this checkpoint was written with other {', '.join(other)}; train into another "
                "folder, or delete it to start over",
                path=str(self._path),
            )
        _put(model, state["weights"])
        optimiser.load_state_dict(state["optimiser"])
        return state


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the dotted names whose values differ between two nested mappings."""
    first, second, nothing = dict(_leaves(old)), dict(_leaves(new)), object()
    names = sorted(first.keys() | second.keys())
    return [name for name in names if first.get(name, nothing) != second.get(name, nothing)]


def _leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def trained(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the weights that are trained, by name, on the CPU."""
    named = model.named_parameters()
    return {name: value.detach().cpu().clone() for name, value in named if value.requires_grad}


def _put(model: torch.nn.Module, weights: dict[str, torch.Tensor]) -> None:
    own = {name: value for name, value in model.named_parameters() if value.requires_grad}
    if own.keys() != weights.keys():
        raise ResumeError("the checkpoint holds other weights than this run trains")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(weights[name])
