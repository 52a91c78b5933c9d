"""From hidden states to scores: float32, grade rows of the output head only.

With h the hidden state just before a grade, W_g the head rows of the G grades:
P(g) = softmax_g(W_g h), score = sum_g g P(g) / (G - 1), in [0, 1]. The label
mass is the probability of the G grades under the full vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from evenhand.errors import ScorerError
from evenhand.models.forward import Forward

VOCABULARY_BLOCK = 32768
# Relative; a model's own logits are rounded to its dtype, those of a head are not.
_SAME_LOGITS = 0.02


@dataclass(frozen=True, eq=False)
class Head:
    """An output head and what the model does to its logits.

    Attributes:
        weight: (V, d). bias: (V,) or None.
        scale: factor on the logits. softcap: c in c tanh(logits / c), or None.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None = None
    scale: float = 1.0
    softcap: float | None = None

    def block(self, hidden: torch.Tensor, rows: slice) -> torch.Tensor:
        """Return float32 logits (s, rows) of hidden states (s, d) for a run of the vocabulary."""
        logits = hidden.float() @ self.weight[rows].float().T
        return self.finish(logits, None if self.bias is None else self.bias[rows])

    def at(self, hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Return float32 logits (s, k) of the tokens ids (s, k), their rows only."""
        logits = torch.einsum("sd,skd->sk", hidden.float(), self.weight[ids].float())
        return self.finish(logits, None if self.bias is None else self.bias[ids])

    def finish(self, logits: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return logits as the model gives them: with their bias, scaled and capped."""
        if bias is not None:
            logits = logits + bias.float()
        logits = logits * self.scale
        if self.softcap is not None:
            logits = torch.tanh(logits / self.softcap) * self.softcap
        return logits


def head_of(model: Any) -> Head:
    """Return the output head of a transformers causal language model."""
    output = model.get_output_embeddings()
    config = model.config.get_text_config()
    scale = 1.0
    if getattr(config, "logits_scaling", None):
        scale = 1.0 / float(config.logits_scaling)
    elif getattr(config, "logit_scale", None):
        scale = float(config.logit_scale)
    softcap = getattr(config, "final_logit_softcapping", None)
    return Head(output.weight, getattr(output, "bias", None), scale, softcap)


def checked_head(forward: Forward) -> Head:
    """Return the output head of a model, after comparing it with the model's own logits.

    Raises:
        ScorerError: the model does something else to its logits than `Head` knows.
    """
    head = head_of(forward.model)
    states, logits = forward.probe()
    ids = torch.linspace(0, logits.shape[-1] - 1, 64, device=logits.device).long()
    with torch.inference_mode():
        found, wanted = head.at(states, ids.expand(len(states), -1)), logits[:, ids]
        gap = float((found - wanted).norm() / wanted.norm())
    if not gap < _SAME_LOGITS:
        raise ScorerError(
            f"{type(forward.model).__name__} does not take its logits from its output head as known "
            f"here (they differ by {100 * gap:.3g}%); this architecture cannot be read"
        )
    return head


def grade_probabilities(hidden: torch.Tensor, head: Head, grade_ids: torch.Tensor) -> torch.Tensor:
    """Return (s, G) float32 probabilities over the grades alone.

    Args:
        hidden: (s, d) hidden states at the slots.
        grade_ids: (s, G) token ids of the grades at each slot, lowest first.
    """
    return torch.softmax(head.at(hidden, grade_ids), dim=-1)


def expected_score(probabilities: torch.Tensor) -> torch.Tensor:
    """Return (s,) expected grade divided by the highest, in [0, 1].

    Args:
        probabilities: (s, G), G >= 2; any positive row is normalised.
    """
    values = torch.arange(probabilities.shape[-1], dtype=torch.float32, device=probabilities.device)
    mass = probabilities.sum(-1)
    return (probabilities * values).sum(-1) / mass / (probabilities.shape[-1] - 1)


def log_normaliser(hidden: torch.Tensor, head: Head) -> torch.Tensor:
    """Return (s,) float32 log-sum-exp of the logits over the full vocabulary.

    Computed a block of the vocabulary at a time, so that no (s, V) array of a
    large vocabulary is held.
    """
    total = torch.full(hidden.shape[:1], -torch.inf, device=hidden.device)
    for start in range(0, head.weight.shape[0], VOCABULARY_BLOCK):
        rows = slice(start, start + VOCABULARY_BLOCK)
        total = torch.logaddexp(total, torch.logsumexp(head.block(hidden, rows), dim=-1))
    return total


def label_mass(hidden: torch.Tensor, head: Head, grade_ids: torch.Tensor) -> torch.Tensor:
    """Return (s,) probability of the grades under the full vocabulary, in [0, 1]."""
    grades = torch.logsumexp(head.at(hidden, grade_ids), dim=-1)
    # Two sums of floats: where the grades are all there is, their ratio may round above 1.
    return torch.exp(grades - log_normaliser(hidden, head)).clamp(max=1)


def log_probability(hidden: torch.Tensor, head: Head, targets: torch.Tensor) -> torch.Tensor:
    """Return (s,) log-probability of the target token (s,) under the full vocabulary."""
    return head.at(hidden, targets[:, None])[:, 0] - log_normaliser(hidden, head)
