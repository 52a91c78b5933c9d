"""What does the steps: model, optimiser and, where the objective asks for them, average and base."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenhand.errors import ScorerError
from evenhand.models.compiled import plain_blocks
from evenhand.models.load import Loaded
from evenhand.models.packing import carried
from evenhand.seeds import generator
from evenhand.train.batch import Micro
from evenhand.train.feed import Fed, Steps
from evenhand.train.grader import Grader, refuse_unless
from evenhand.train.schedule import ramp_at, rate_at
from evenhand.train.settings import Training
from evenhand.train.step import Step, terms
from evenhand.train.weights import follow, frozen_copy, prepare, set_blocks
from evenhand.types import FloatArray

# Among the terms of a loss: how many grades were not finite.
BROKEN = "not finite"


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
        # Kept: to ask a model of many modules for its weights takes a millisecond.
        self._trained = [value for value in self.grader.parameters() if value.requires_grad]
        self.optimiser: Any = torch.optim.AdamW(
            self._trained,
            lr=descent.rate, betas=descent.betas, weight_decay=descent.decay,
            # One kernel for all weights of a step, where there is one.
            fused=True if device.type == "cuda" else None,
        )  # fmt: skip
        # Its kernel can leave the weights where they are, so the host need not look before.
        self._ahead = device.type == "cuda"
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
        # Asked first: to tell every module takes half a millisecond.
        if not self.grader.training:
            self._module.train()
        _seed(settings.run.seed, fed.number, steps.rank)
        try:
            sums = self._backward(fed, steps, ramp)
            norm = self._accelerator.clip_grad_norm_(self._trained, descent.clip)
            if self._ahead:
                self.optimiser.optimizer.found_inf = _broken(sums, norm)
                self.optimiser.step()
            read = self._read(sums, norm, fed)
        except ScorerError as error:
            raise ScorerError(f"step {fed.number + 1}: {error}") from error
        if not self._ahead:
            self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        if self._average is not None:
            follow(self._average, self.grader, settings.objective.mean_teacher or 0.0)
        return {
            "step": fed.number + 1, "rate": rate, "ramp": ramp, "norm": read.pop("norm"),
            "windows": fed.windows, "candidates": fed.candidates, "tokens": int(read.pop("tokens")),
            "truncated": int(read.pop("truncated")), **read,
        }  # fmt: skip

    def _read(self, sums: dict[str, Tensor], norm: Tensor, fed: Fed) -> dict[str, float]:
        """Return the terms of the loss and the counts of all processes, and the norm.

        The one time in a step that the host waits for the device.

        Raises:
            ScorerError: grades, loss or norm are not finite.
        """
        device = self.grader.device
        # Counts are whole numbers; float64 is not on every device.
        kind = torch.float32 if device.type == "mps" else torch.float64
        counts: list[float] = [fed.tokens, fed.truncated]
        values = torch.stack([value.to(kind) for value in sums.values()])
        if self._accelerator.num_processes > 1:
            own = torch.tensor(counts, dtype=kind, device=device)
            values = self._accelerator.reduce(torch.cat([values, own]), "sum")
        read = torch.cat([values, norm.detach().to(kind)[None]]).tolist()
        counts = read[len(sums) : -1] or counts
        found = {**dict(zip(sums, read, strict=False)), "norm": read[-1]}
        refuse_unless(not found.pop(BROKEN))
        for name, says in (("loss", "loss"), ("norm", "norm of the gradient")):
            if not math.isfinite(found[name]):
                raise ScorerError(
                    f"the {says} is {found[name]}; lower the learning rate, or use float32"
                )
        return {**found, "tokens": counts[0], "truncated": counts[1]}

    def _backward(self, fed: Fed, steps: Steps, ramp: float) -> dict[str, Tensor]:
        """Add up the gradients of this process's micro-batches; return the terms of the loss.

        Beside them stands how many of the grades were not finite.
        """
        sums: dict[str, Tensor] = {}
        weights = _scaled(
            [steps.weights(micro) for micro in fed.micros], self._accelerator, idle=fed.idle
        )
        for index, micro in enumerate(fed.micros):
            share = 0.0 if fed.idle else len(micro.labels) / fed.candidates
            last = index == len(fed.micros) - 1
            with self._accelerator.no_sync(self._module) if not last else nullcontext():
                step = self._step(micro, weights[index])
                found = terms(self._settings.objective, step, ramp)
                # Gradients are averaged over processes; the step's loss is their sum.
                self._accelerator.backward(found["loss"] * share * steps.world)
            added = {name: value.detach() * share for name, value in found.items()}
            added[BROKEN] = (~torch.isfinite(step.probabilities.detach())).sum()
            for name, value in added.items():
                sums[name] = sums[name] + value if name in sums else value
        return sums

    def _step(self, micro: Micro, weights: FloatArray | None) -> Step:
        objective, shape = self._settings.objective, (micro.count, len(micro.labels))
        parts: list[NDArray[Any]] = [micro.view, micro.column, micro.groups, _bits(micro.labels)]
        parts += [] if weights is None else [_bits(weights)]
        view, column, groups, *real = carried(parts, self.grader.device)
        view, column, groups = view.long(), column.long(), groups.long()
        labels, *scaled = (one.view(torch.float32) for one in real)
        read = self._module(micro.prompts)
        teacher = base = None
        with torch.no_grad():
            if self._average is not None:
                other = spread(self._average(micro.prompts), view, column, shape)
                teacher = Step(other, labels, groups).scores.mean(0)
            if self._base is not None:
                base = spread(self._base(micro.prompts), view, column, shape)
        return Step(
            spread(read, view, column, shape), labels, groups,
            micro.channels if objective.channels else (), scaled[0] if scaled else None, teacher, base,
        )  # fmt: skip


def _broken(sums: Mapping[str, Tensor], norm: Tensor) -> Tensor:
    """Return 1.0 on the device where a step must change no weight, else 0.0."""
    fine = torch.isfinite(norm) & torch.isfinite(sums["loss"]) & (sums[BROKEN] == 0)
    return (~fine).float()


def _bits(values: FloatArray) -> NDArray[np.int32]:
    """Return float32 numbers as whole ones of the same bits, to be copied with others."""
    return np.asarray(values, dtype=np.float32).view(np.int32)


def spread(read: Tensor, view: Tensor, column: Tensor, shape: tuple[int, int]) -> Tensor:
    """Put (S, G) readouts at their view and candidate: (N, C, G)."""
    empty = read.new_zeros((*shape, read.shape[-1]))
    return empty.index_put((view, column), read)


def _seed(seed: int, step: int, rank: int) -> None:
    """Seed torch from the step, so that dropout does not depend on what ran before."""
    torch.manual_seed(int(generator(seed, "", "step", step * 4096 + rank).integers(2**62)))


def _scaled(weights: Sequence[Any], accelerator: Any, *, idle: bool) -> list[Any]:
    """Return weights with mean 1 over all candidates of the step, in all processes.

    What an idle process reads is another's, and does not count.
    """
    if any(one is None for one in weights) or not weights:
        return [None] * len(weights)
    tensors = [torch.as_tensor(one, dtype=torch.float32) for one in weights]
    total = torch.stack([torch.stack([one.sum(), one.new_tensor(len(one))]) for one in tensors]).sum(0)
    if accelerator.num_processes > 1:
        total = accelerator.reduce((total * (not idle)).to(accelerator.device), "sum").cpu()
    if not total[0] > 0:
        raise ScorerError("every candidate has a weight of 0; raise the objective's temperature")
    return [(one * (total[1] / total[0])).numpy() for one in tensors]
