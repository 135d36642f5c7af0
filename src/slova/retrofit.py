"""A softmax network as a one-vs-all one: without training data, or with a new last layer.

Softmax says nothing about the level of a row of logits (..., K): f and f + c give the same probabilities. `log_odds`
replaces it by the one level at which each sigmoid says what softmax said of its class; a scale and an offset fitted on
validation data then turn K shares of one into K answers of their own:

    slova.Classifier.fit(OneVsAll(network), validation, rescale=True)

With training data at hand the last layer can be fitted anew, one-vs-all, on features (N, D) that stay as they are:

    network.fc = refit(network.fc, *features_of(network, network.fc, training))
    slova.Classifier.fit(network, validation)
"""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from slova._backend import Array, floating
from slova._batches import as_tensors, batches, evaluation_mode, logits_of
from slova.losses import ova_loss

__all__ = ["NotConvergedWarning", "OneVsAll", "features_of", "log_odds", "refit"]


class NotConvergedWarning(UserWarning):
    """The steps of `refit` ended before the minimum, so the layer depends on where it started."""


def log_odds(logits: Array) -> Array:
    """log p_k / (1 - p_k) = f_k - log sum_{j != k} e^f_j for p = softmax(f): one-vs-all logits whose sigmoids are p.

    A shift of a row changes nothing, so log-probabilities serve as logits. For two classes this is temperature scaling
    by another name; from three on, a scale below one raises the small ones, and "several" and "none" become possible.

    >>> log_odds(torch.tensor([0.5, 0.25, 0.25]).log()).sigmoid()
    tensor([0.5000, 0.2500, 0.2500])
    """
    logits, ops = floating(logits, "logits")
    if logits.shape[-1] < 2:
        raise ValueError(f"odds want at least two classes, got logits of shape {tuple(logits.shape)}")
    top, index = ops.top(logits)
    shifted = ops.minus(logits, top)
    rivals = ops.put(shifted, index, ops.full(top, -float("inf")))
    odds = ops.exp(rivals)
    others = ops.clip(odds.sum(-1)[..., None] - odds, 0.0, None)  # of a class that is not the top: 1 + others, so >= 1
    return ops.put(shifted - ops.log1p(others), index, -ops.logsumexp(rivals)[..., None])


class OneVsAll(nn.Module):
    """The network with `log_odds` of its logits in place of them: it trains, saves and exports like any other."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        odds: Tensor = log_odds(logits_of(self.network(*inputs, **named)))
        return odds


def features_of(network: nn.Module, last: nn.Linear, source: Any, *, batch_size: int = 256) -> tuple[Tensor, Tensor]:
    """What goes into the network's `last` layer (N, D), and the labels (N,), on the host; the source as for
    `Classifier.fit`."""
    given = as_tensors(source, network)
    seen: list[Tensor] = []
    labels: list[Tensor] = []
    hook = last.register_forward_pre_hook(lambda _, given: seen.append(given[0].float().cpu()))
    try:
        with evaluation_mode(network):
            for (inputs, named), truth in batches(given, batch_size, last.weight.device, labelled=True):
                network(*inputs, **named)
                labels.append(truth.cpu())
    finally:
        hook.remove()
    if len(seen) != len(labels) or not seen:
        raise ValueError(f"the layer {last} was passed {len(seen)} times in {len(labels)} batches; once each is wanted")
    return torch.cat(seen), torch.cat(labels)


def refit(last: nn.Linear, features: Array, labels: Array, *, decay: float = 1e-3, steps: int = 100) -> nn.Linear:
    """A layer like `last` of least mean `ova_loss` plus decay / 2 |weight|^2, found from `last` by L-BFGS.

    K logistic regressions: a convex problem, so where the steps suffice neither the start nor a seed decides the
    answer; where they do not there is a warning. NONE labels allowed.
    """
    if last.bias is None:
        raise ValueError(f"{last} has no bias, and the level of one-vs-all logits wants one")
    if not 0 <= decay < math.inf:
        raise ValueError(f"decay must be finite and not negative, got {decay}")
    layer = copy.deepcopy(last).cpu().double().requires_grad_(True)
    inputs, labels = _checked(layer, features, labels)
    optimiser = torch.optim.LBFGS(
        layer.parameters(), max_iter=steps, tolerance_grad=1e-6, tolerance_change=1e-12, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = ova_loss(layer(inputs), labels) + decay / 2 * layer.weight.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    loss = float(closure().detach())  # the line search may have ended elsewhere
    if not _slope(layer) <= loss:
        warnings.warn(
            f"within {steps} steps the layer did not come near its minimum: scale the features, to a standard "
            "deviation of about one, or raise the decay",
            NotConvergedWarning,
            stacklevel=2,
        )
    return layer.to(last.weight)


def _checked(layer: nn.Linear, features: Array, labels: Array) -> tuple[Tensor, Tensor]:
    """On the host and in the precision of the layer there."""
    features, labels = as_tensors((features, labels), layer)
    if not (isinstance(features, Tensor) and isinstance(labels, Tensor)):
        kinds = f"{type(features).__name__} and {type(labels).__name__}"
        raise TypeError(f"features and labels want to be tensors or numpy arrays, got {kinds}")
    if labels.ndim != 1 or not len(labels):
        raise ValueError(f"labels want shape (N,) with at least one row, got {tuple(labels.shape)}")
    if features.shape != (len(labels), layer.in_features):
        raise ValueError(f"features {tuple(features.shape)} are not ({len(labels)}, {layer.in_features})")
    features = features.detach().to(layer.weight)
    wrong = int((~features.isfinite()).any(1).sum())
    if wrong:
        raise ValueError(f"features must be finite, and {wrong} of {len(features)} rows hold NaN or infinity")
    return features, labels.cpu()


def _slope(layer: nn.Linear) -> float:
    """By how much the loss would change, were the weights to change by their own size along the gradient: next to
    nothing at a minimum, and the same however the features are scaled."""
    return sum(float(part.grad.norm() * part.detach().norm()) for part in layer.parameters() if part.grad is not None)
