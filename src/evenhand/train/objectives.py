"""Training losses over views: pure functions of tensors.

A step holds C candidates, of one or many slates, each scored in N views. Scores
are (N, C), labels (C,) in [0, 1]. Every loss is a mean over candidates, so the loss
of a batch is the candidate-weighted mean of the losses of its parts.

With s_i the scores of view i, y the label, sbar the mean over views:

- anchor: mean_d w_d (s_1 - y)^2, weights of mean 1, on the first view or on all;
- consistency: sum_i mean_d (s_i - sbar)^2, times lambda (for N = 2 it is half the
  mean squared difference).

Source of OC-SFT, single-order, augmentation: arXiv:2608.26762, section 4. The soft
Jaccard and the channel-wise penalty are ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from evenhand.errors import UsageError

# Candidates that both sets of a soft Jaccard hold without being there: where nothing
# is kept the two agree, as two empty sets do.
_EMPTY = 1e-6


def weighted_mean(values: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return mean_d w_d v_d over candidates; the plain mean without weights.

    Weights have mean 1 over all candidates of a step (`mean_one`), so that the loss of
    a step is the candidate-weighted mean of the losses of its parts.

    Args:
        values: (C,). weights: (C,), not negative, or None.

    Raises:
        UsageError: no candidates, or shapes differ.
    """
    if values.ndim != 1 or not len(values):
        raise UsageError(f"a loss needs (C,) values of at least 1 candidate, got {tuple(values.shape)}")
    if weights is None:
        return values.mean()
    if weights.shape != values.shape:
        raise UsageError(f"{tuple(weights.shape)} weights for {tuple(values.shape)} values")
    return (weights * values).mean()


def squared_error(scores: Tensor, labels: Tensor) -> Tensor:
    """Return (s - y)^2 with the labels spread over views.

    Args:
        scores: (N, C). labels: (C,).

    Raises:
        UsageError: shapes do not match.
    """
    _require_views(scores)
    if labels.shape != scores.shape[1:]:
        raise UsageError(f"{tuple(labels.shape)} labels for scores of {tuple(scores.shape)}")
    return (scores - labels) ** 2


def soft_grades(labels: Tensor, grades: int) -> Tensor:
    """Return (C, G) target probabilities: (G - 1) y split over its two neighbouring grades.

    The expected grade of the target is exactly (G - 1) y: label .4 of four grades is
    1.2, which is .8 on grade 1 and .2 on grade 2.

    Args:
        labels: (C,) in [0, 1]. grades: G >= 2.
    """
    scaled = (labels * (grades - 1)).clamp(0, grades - 1)
    values = torch.arange(grades, dtype=labels.dtype, device=labels.device)
    return (1 - (scaled[:, None] - values).abs()).clamp(min=0)


def soft_grade_error(probabilities: Tensor, labels: Tensor) -> Tensor:
    """Return (N, C) cross-entropies of grade probabilities (N, C, G) against soft grades."""
    targets = soft_grades(labels, probabilities.shape[-1])
    floor = torch.finfo(probabilities.dtype).tiny
    return -(targets * probabilities.clamp(min=floor).log()).sum(-1)


def consistency(scores: Tensor) -> Tensor:
    """Return (C,) sums over views of the squared distance to the mean over views.

    Args:
        scores: (N, C).

    Returns:
        0 where all views agree; for two views half their squared difference.
    """
    _require_views(scores)
    return ((scores - scores.mean(dim=0)) ** 2).sum(dim=0)


def channel_consistency(
    scores: Tensor, channels: Sequence[str], weights: Sequence[tuple[str, float]]
) -> Tensor:
    """Return (C,) weighted sums of the consistency of view 1 with the views of each channel.

    Args:
        scores: (N, C), the anchor view first.
        channels: what view 2, 3, ... varies against view 1, N - 1 names.
        weights: lambda of each channel.

    Raises:
        UsageError: a channel has no view or a view no weight, or counts differ.
    """
    _require_views(scores)
    if len(channels) != len(scores) - 1:
        raise UsageError(f"{len(channels)} channels for {len(scores) - 1} views beside the first")
    known = dict(weights)
    if set(channels) != set(known):
        raise UsageError(f"views vary {sorted(set(channels))}, weights name {sorted(known)}")
    total = torch.zeros_like(scores[0])
    for name, weight in known.items():
        rows = [0, *(1 + place for place, channel in enumerate(channels) if channel == name)]
        total = total + weight * consistency(scores[rows])
    return total


def soft_jaccard_error(scores: Tensor, groups: Tensor, threshold: float, temperature: float) -> Tensor:
    """Return the mean over candidates' slates and pairs of views of 1 - soft Jaccard at a threshold.

    A candidate is kept to the degree k = sigmoid((s - t) / temperature); the soft
    Jaccard of two views is (sum min(k, k') + e) / (sum max(k, k') + e) over a slate,
    e = 1e-6. Towards temperature 0 it is the retained-set overlap, that of two empty
    sets being 1.

    Args:
        scores: (N, C), N >= 2. groups: (C,) int64, which slate each candidate is of, from 0.

    Raises:
        UsageError: fewer than two views, or a temperature that is not above 0.
    """
    _require_views(scores, least=2)
    if not temperature > 0:
        raise UsageError(f"temperature must be above 0, got {temperature}")
    kept = torch.sigmoid((scores - threshold) / temperature)
    slates = int(groups.max()) + 1
    empty = torch.zeros(slates, dtype=scores.dtype, device=scores.device)
    share = empty.index_add(0, groups, torch.ones_like(scores[0])) / scores.shape[1]
    losses = []
    for first in range(len(scores)):
        for second in range(first + 1, len(scores)):
            low = torch.minimum(kept[first], kept[second])
            high = torch.maximum(kept[first], kept[second])
            both = empty.index_add(0, groups, low) + _EMPTY
            alike = both / (empty.index_add(0, groups, high) + _EMPTY)
            losses.append(1 - (share * alike).sum())
    return torch.stack(losses).mean()


def near_threshold(labels: Tensor, threshold: float, width: float) -> Tensor:
    """Return (C,) weights exp(-|y - t| / width): candidates near a cut count most.

    Raises:
        UsageError: a width that is not above 0.
    """
    if not width > 0:
        raise UsageError(f"width must be above 0, got {width}")
    return torch.exp(-(labels - threshold).abs() / width)


def grade_divergence(probabilities: Tensor, base: Tensor) -> Tensor:
    """Return (N, C) divergences KL(base || model) of grade probabilities (N, C, G), in nats."""
    floor = torch.finfo(probabilities.dtype).tiny
    ratio = base.clamp(min=floor).log() - probabilities.clamp(min=floor).log()
    return (base * ratio).sum(-1)


def position_weights(shares: Sequence[float]) -> list[float]:
    """Return DebiasFirst's weights: (1/p_s) / mean(1/p) for positive shares p_s by first-stage slot.

    The loss is then divided by the total weight of the candidates it is over.

    Args:
        shares: of all positives, the share with each first-stage index mod B; 1e-3 is added.

    Raises:
        UsageError: no shares, or one is negative.
    """
    if not shares or min(shares) < 0:
        raise UsageError(f"shares of positives by slot are needed, none negative; got {list(shares)}")
    inverse = [1 / (share + 1e-3) for share in shares]
    mean = sum(inverse) / len(inverse)
    return [value / mean for value in inverse]


def _require_views(scores: Tensor, least: int = 1) -> None:
    if scores.ndim != 2 or len(scores) < least:
        raise UsageError(f"scores must be (N, C) with N >= {least} views, got {tuple(scores.shape)}")
