"""Conversion of a softmax network to a one-vs-all network, without training data or with a new last layer.

A calibrated confidence needs no conversion: `slova.Classifier.fit(network, validation)` recognises softmax logits. They
have no evidence of NONE, and P(none) is 0. The one-vs-all readout of the paper, with its P(none), needs one.

Softmax does not determine the level of a row of logits (..., K): f and f + c have the same probabilities. `log_odds`
chooses the level at which the sigmoid of each logit is the softmax probability of its class. A scale and an offset that
are fitted on validation data then make the K probabilities independent of each other::

    slova.Classifier.fit(OneVsAll(network), validation, head="slova", rescale=True)

If training data are available, the last layer can be fitted again, one-vs-all, on fixed features (N, D)::

    network.fc = refit(network.fc, *features_of(network, network.fc, training))
    slova.Classifier.fit(network, validation, head="slova")
"""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from slova._batches import batches, evaluation_mode, logits_of
from slova._collect import as_tensors
from slova._types import FeatureRows, Labels, Logits, LogOdds
from slova._validation import check_logits
from slova.heads import SLOVA, SOFTMAX
from slova.losses import ova_loss

__all__ = ["NotConvergedWarning", "OneVsAll", "features_of", "log_odds", "refit"]


class NotConvergedWarning(UserWarning):
    """`refit` stopped before the minimum, so that its result depends on the initial layer."""


def log_odds(logits: Logits) -> LogOdds:
    """log p_k / (1 - p_k) = f_k - log sum_{j != k} e^f_j for p = softmax(f): one-vs-all logits whose sigmoids are p.

    Adding a constant to a row changes nothing, so log-probabilities can be used as logits. Scaling the result is
    temperature scaling for two classes; for more classes a scale below one increases P(none) and P(several).

    >>> log_odds(torch.tensor([0.5, 0.25, 0.25]).log()).sigmoid()
    tensor([0.5000, 0.2500, 0.2500])
    """
    logits, ops = check_logits(logits)
    if logits.shape[-1] < 2:
        raise ValueError(f"logits must have at least two classes, got shape {tuple(logits.shape)}")
    return SOFTMAX.log_odds(logits, ops)


class OneVsAll(nn.Module):
    """A network whose outputs are the `log_odds` of the logits of another network.

    >>> OneVsAll(nn.Identity())(torch.tensor([[0.5, 0.25, 0.25]]).log()).sigmoid()
    tensor([[0.5000, 0.2500, 0.2500]])
    """

    slova_head = SLOVA.name  # what `Classifier.fit` reads the outputs as

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        odds: Tensor = log_odds(logits_of(self.network(*inputs, **named)))
        return odds


def features_of(network: nn.Module, last: nn.Linear, source: Any, *, batch_size: int = 256) -> tuple[Tensor, Tensor]:
    """The inputs (N, D) of the `last` layer of a network and the labels (N,), on the host.

    `source` is as for `Classifier.fit`.

    >>> network = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 3))
    >>> features, labels = features_of(network, network[2], (torch.rand(30, 8), torch.arange(30) % 3))
    >>> features.shape
    torch.Size([30, 4])
    """
    given = as_tensors(source, network)
    seen: list[Tensor] = []
    labels: list[Tensor] = []
    hook = last.register_forward_pre_hook(lambda _, args: seen.append(args[0].float().cpu()))
    try:
        with evaluation_mode(network):
            for (inputs, named), truth in batches(given, batch_size, last.weight.device, labelled=True):
                network(*inputs, **named)
                labels.append(truth.cpu())
    finally:
        hook.remove()
    if len(seen) != len(labels) or not seen:
        raise ValueError(f"the layer {last} must run once per batch, got {len(seen)} runs in {len(labels)} batches")
    return torch.cat(seen), torch.cat(labels)


def refit(
    last: nn.Linear, features: FeatureRows, labels: Labels, *, decay: float = 1e-3, steps: int = 100
) -> nn.Linear:
    """A layer like `last` that minimises the mean `ova_loss` plus decay / 2 |weight|^2, by L-BFGS starting from `last`.

    The problem is convex (K logistic regressions), so the result does not depend on the start. A `NotConvergedWarning`
    is issued if `steps` are not enough. Labels may be NONE.

    >>> features, labels = torch.eye(3).repeat(20, 1), torch.arange(3).repeat(20)
    >>> refit(nn.Linear(3, 3), features, labels)(torch.eye(3)).sigmoid().diagonal() > 0.9
    tensor([True, True, True])
    """
    if last.bias is None:
        raise ValueError(f"{last} must have a bias, which sets the level of one-vs-all logits")
    if not 0 <= decay < math.inf:
        raise ValueError(f"decay must be finite and not negative, got {decay}")
    layer = copy.deepcopy(last).cpu().double().requires_grad_(True)
    inputs, labels = _check_features(layer, features, labels)
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
            f"the layer did not converge within {steps} steps: scale the features to a standard deviation of "
            "about one, or raise the decay",
            NotConvergedWarning,
            stacklevel=2,
        )
    return layer.to(last.weight)


def _check_features(layer: nn.Linear, features: FeatureRows, labels: Labels) -> tuple[Tensor, Tensor]:
    """Features and labels on the host, in the precision of the layer."""
    features, labels = as_tensors((features, labels), layer)
    if not (isinstance(features, Tensor) and isinstance(labels, Tensor)):
        kinds = f"{type(features).__name__} and {type(labels).__name__}"
        raise TypeError(f"features and labels must be tensors or numpy arrays, got {kinds}")
    if labels.ndim != 1 or not len(labels):
        raise ValueError(f"labels must have shape (N,) with at least one row, got {tuple(labels.shape)}")
    if features.shape != (len(labels), layer.in_features):
        raise ValueError(f"features {tuple(features.shape)} must have shape ({len(labels)}, {layer.in_features})")
    features = features.detach().to(layer.weight)
    wrong = int((~features.isfinite()).any(1).sum())
    if wrong:
        raise ValueError(f"features must be finite, but {wrong} of {len(features)} rows have NaN or infinity")
    return features, labels.cpu()


def _slope(layer: nn.Linear) -> float:
    """The first-order change of the loss if the weights move by their own norm along the gradient: zero at a minimum,
    and invariant to the scale of the features."""
    return sum(float(part.grad.norm() * part.detach().norm()) for part in layer.parameters() if part.grad is not None)
