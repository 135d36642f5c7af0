"""Layers with random outputs or weights, also at test time, and the distance classifier.

Stochastic layers always sample, so a Monte-Carlo method only needs several passes.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = [
    "AlwaysDropout",
    "BayesianConv2d",
    "BayesianLinear",
    "DistanceLinear",
    "is_random",
    "kl_divergence",
    "with_prior",
]

START_SCALE = -3.0  # softplus(-3) = 0.049, the usual start of a posterior's standard deviation


class AlwaysDropout(nn.Module):
    """Dropout at training and test time (Gal & Ghahramani 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, features: Tensor) -> Tensor:
        return functional.dropout(features, self.rate, training=True)


class _Bayesian(nn.Module):
    """Weights N(mean, softplus(scale)^2), independent; prior N(prior_mean, prior_scale^2), whose mean is learned and
    whose scale is a number. The bias has no distribution."""

    def __init__(self, shape: tuple[int, ...], std: float, prior_scale: float) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.randn(shape) * std)
        self.scale = nn.Parameter(START_SCALE + 0.1 * torch.randn(shape))
        self.prior_mean = nn.Parameter(torch.zeros(shape))
        self.bias = nn.Parameter(torch.zeros(shape[0]))
        self.prior_scale = prior_scale

    @property
    def sigma(self) -> Tensor:
        return functional.softplus(self.scale)

    def kl(self) -> Tensor:
        """KL(posterior || prior), in closed form, summed over weights."""
        sigma = self.sigma
        ratio = (sigma**2 + (self.mean - self.prior_mean) ** 2) / (2 * self.prior_scale**2)
        return (math.log(self.prior_scale) - torch.log(sigma) + ratio - 0.5).sum()


class BayesianConv2d(_Bayesian):
    """A convolution with one draw of the weights per batch, decorrelated over the images by random signs (Flipout, Wen
    et al. 2018)."""

    def __init__(self, width: int, filters: int, *, stride: int = 1, size: int = 3, prior_scale: float = 0.127) -> None:
        std = (2 / (width * size * size)) ** 0.5 * 20**-0.25  # smaller than usual, since no batch norm follows
        super().__init__((filters, width, size, size), std, prior_scale)
        self.stride, self.padding = stride, size // 2

    def forward(self, images: Tensor) -> Tensor:
        noise = self.sigma * torch.randn_like(self.mean)
        signs_in, signs_out = _signs(images, images.shape[1]), _signs(images, self.mean.shape[0])
        mean = functional.conv2d(images, self.mean, self.bias, self.stride, self.padding)
        return mean + signs_out * functional.conv2d(images * signs_in, noise, None, self.stride, self.padding)


class BayesianLinear(_Bayesian):
    """A linear layer with one draw of the weights per batch (the reparameterisation trick, Blundell et al. 2015)."""

    def __init__(self, features: int, classes: int, *, prior_scale: float = 0.127) -> None:
        super().__init__((classes, features), (2 / features) ** 0.5, prior_scale)

    def forward(self, features: Tensor) -> Tensor:
        return functional.linear(features, self.mean + self.sigma * torch.randn_like(self.mean), self.bias)


class DistanceLinear(nn.Module):
    """Logits from distances to one centre per class (Padhy et al. 2020): -||x - w_k||, or its -sqrt with `root`."""

    def __init__(self, features: int, classes: int, *, root: bool = False) -> None:
        super().__init__()
        self.centres = nn.Parameter(torch.randn(classes, features) * (2 / features) ** 0.5)
        self.root = root

    def forward(self, features: Tensor) -> Tensor:
        square = (features.float().unsqueeze(-2) - self.centres).square().sum(-1)
        distance = (square + 1e-12).sqrt()  # the slope of a norm at zero is infinite
        return -(distance.sqrt() if self.root else distance)


def is_random(layer: nn.Module) -> bool:
    """Whether the output of a layer, or of one within it, is random."""
    return any(isinstance(part, AlwaysDropout | _Bayesian) for part in layer.modules())


def kl_divergence(network: nn.Module) -> Tensor:
    """The KL of all Bayesian layers of a network."""
    return torch.stack([layer.kl() for layer in network.modules() if isinstance(layer, _Bayesian)]).sum()


def with_prior(network: nn.Module) -> set[nn.Parameter]:
    """The parameters of Bayesian layers, which are excluded from weight decay."""
    layers = [layer for layer in network.modules() if isinstance(layer, _Bayesian)]
    return {parameter for layer in layers for parameter in layer.parameters()}


def _signs(images: Tensor, channels: int) -> Tensor:
    shape = (len(images), channels, 1, 1)
    return torch.empty(shape, device=images.device, dtype=images.dtype).bernoulli_(0.5).mul_(2).sub_(1)
