"""What does the steps: model, optimiser and, where the objective asks for them, average and base."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from evenhand.errors import ScorerError
from evenhand.models.load import Loaded
from evenhand.seeds import generator
from evenhand.train.batch import Micro
from evenhand.train.feed import Fed, Steps
from evenhand.train.grader import Grader
from evenhand.train.schedule import ramp_at, rate_at
from evenhand.train.settings import Training
from evenhand.train.step import Step, terms
from evenhand.train.weights import follow, frozen_copy, plain_blocks, prepare, set_blocks


class Machine:
    """Model and optimiser of a run.

    Args:
        loaded: the model; its weights are changed in place, adapters are put into it.
        settings: of the run. device: where it trains.

    Attributes:
        grader: the model as it is trained. optimiser: AdamW.
    """

    def __init__(self, loaded: Loaded, settings: Training, device: torch.device) -> None:
        run, self._settings = settings.run, settings
        model = prepare(loaded, settings.weights, run.seed)
        half = torch.bfloat16 if run.half else None
        self.grader = Grader(model, length=run.token_budget, half=half).to(device)
        self._base = frozen_copy(self.grader) if settings.objective.base_kl else None
        self._average = (
            frozen_copy(self.grader) if settings.objective.mean_teacher is not None else None
        )
        set_blocks(self.grader.inner, run)
        descent = settings.descent
        self.optimiser: Any = torch.optim.AdamW(
            [value for value in self.grader.parameters() if value.requires_grad],
            lr=descent.rate, betas=descent.betas, weight_decay=descent.decay,
            # One kernel for all weights of a step, where there is one.
            fused=True if device.type == "cuda" else None,
        )  # fmt: skip
        self._module: Any = self.grader
        self._accelerator: Any = None

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put the averaged model back."""
        if self._average is not None and "average" in state:
            self._average.load_state_dict(state["average"])

    def extra(self) -> dict[str, Any]:
        """Return what a checkpoint keeps beside weights and optimiser."""
        return {} if self._average is None else {"average": self._average.state_dict()}

    def spread(self, accelerator: Any) -> None:
        """Hand model and optimiser to accelerate, which averages gradients over processes."""
        self._accelerator = accelerator
        self._module, self.optimiser = accelerator.prepare(self.grader, self.optimiser)

    def shown(self, loaded: Loaded) -> Loaded:
        """Return the model as it stands, for an evaluation."""
        self.grader.eval()
        return Loaded(
            self.grader.inner, loaded.tokenizer, loaded.name, loaded.revision, self.grader.device,
            loaded.dtype,
        )  # fmt: skip

    def finished(self) -> Any:
        """Return what was trained, in eval mode, to be read at any length."""
        if self._settings.run.compiled:
            plain_blocks(self.grader.inner)
        return self.grader.model.eval()

    def descend(self, fed: Fed, steps: Steps, total: int) -> dict[str, Any]:
        """Do one step and return its record.

        Raises:
            ScorerError: the loss or the gradient is not finite.
        """
        settings, descent = self._settings, self._settings.descent
        rate, ramp = rate_at(fed.number, total, descent), ramp_at(fed.number, total, descent)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self._module.train()
        _seed(settings.run.seed, fed.number, steps.rank)
        try:
            sums = self._backward(fed, steps, ramp)
        except ScorerError as error:
            raise ScorerError(f"step {fed.number + 1}: {error}") from error
        norm = float(self._accelerator.clip_grad_norm_(self.grader.parameters(), descent.clip))
        for name, value in (("loss", sums["loss"]), ("norm of the gradient", norm)):
            if not math.isfinite(value):
                raise ScorerError(
                    f"step {fed.number + 1}: the {name} is {value}; lower the learning rate, or use "
                    "float32"
                )
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        if self._average is not None:
            follow(self._average, self.grader, settings.objective.mean_teacher or 0.0)
        read = torch.tensor([fed.tokens, fed.truncated], device=self.grader.device)
        tokens, truncated = self._accelerator.reduce(read, "sum").tolist()
        return {
            "step": fed.number + 1, "rate": rate, "ramp": ramp, "norm": norm, "windows": fed.windows,
            "candidates": fed.candidates, "tokens": tokens, "truncated": truncated, **sums,
        }  # fmt: skip

    def _backward(self, fed: Fed, steps: Steps, ramp: float) -> dict[str, float]:
        """Add up the gradients of this process's micro-batches; return the terms of the loss."""
        sums: dict[str, Tensor] = {}
        weights = _scaled(
            [steps.weights(micro) for micro in fed.micros], self._accelerator, idle=fed.idle
        )
        for index, micro in enumerate(fed.micros):
            share = 0.0 if fed.idle else len(micro.labels) / fed.candidates
            last = index == len(fed.micros) - 1
            with self._accelerator.no_sync(self._module) if not last else nullcontext():
                found = terms(self._settings.objective, self._step(micro, weights[index]), ramp)
                # Gradients are averaged over processes; the step's loss is their sum.
                self._accelerator.backward(found["loss"] * share * steps.world)
            for name, value in found.items():
                sums[name] = (
                    sums.get(name, torch.zeros((), device=value.device)) + value.detach() * share
                )
        summed = {name: self._accelerator.reduce(value, "sum") for name, value in sums.items()}
        return {name: float(value) for name, value in summed.items()}

    def _step(self, micro: Micro, weights: Tensor | None) -> Step:
        device, objective = self.grader.device, self._settings.objective

        def tensor(values: Any, kind: torch.dtype = torch.float32) -> Tensor:
            return torch.as_tensor(values, dtype=kind, device=device)

        view, column = tensor(micro.view, torch.int64), tensor(micro.column, torch.int64)
        shape = (micro.count, len(micro.labels))
        read = self._module(micro.prompts)
        teacher = base = None
        with torch.no_grad():
            if self._average is not None:
                other = spread(self._average(micro.prompts), view, column, shape)
                teacher = Step(other, tensor(micro.labels), tensor(micro.groups)).scores.mean(0)
            if self._base is not None:
                base = spread(self._base(micro.prompts), view, column, shape)
        return Step(
            spread(read, view, column, shape), tensor(micro.labels),
            tensor(micro.groups, torch.int64),
            micro.channels if objective.channels else (), weights, teacher, base,
        )  # fmt: skip


def spread(read: Tensor, view: Tensor, column: Tensor, shape: tuple[int, int]) -> Tensor:
    """Put (S, G) readouts at their view and candidate: (N, C, G)."""
    empty = read.new_zeros((*shape, read.shape[-1]))
    return empty.index_put((view, column), read)


def _seed(seed: int, step: int, rank: int) -> None:
    """Seed torch from the step, so that dropout does not depend on what ran before."""
    torch.manual_seed(int(generator(seed, "", "step", step * 4096 + rank).integers(2**62)))


def _scaled(weights: Sequence[Any], accelerator: Any, *, idle: bool) -> list[Tensor | None]:
    """Return weights with mean 1 over all candidates of the step, in all processes.

    What an idle process reads is another's, and does not count.
    """
    if any(one is None for one in weights) or not weights:
        return [None] * len(weights)
    device = accelerator.device
    tensors = [torch.as_tensor(one, dtype=torch.float32, device=device) for one in weights]
    total = torch.stack([torch.stack([one.sum(), one.new_tensor(len(one))]) for one in tensors]).sum(0)
    total = accelerator.reduce(total * (not idle), "sum")
    if not total[0] > 0:
        raise ScorerError("every candidate has a weight of 0; raise the objective's temperature")
    return [one * (total[1] / total[0]) for one in tensors]
