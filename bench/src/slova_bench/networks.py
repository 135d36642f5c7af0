"""Networks of the comparison: images in [0, 1] (N, C, H, W) to logits (N, K), as nn.Sequential with the classifier
last.

`network[:-1]` computes the features and `network[-1]` the logits, for ReAct, the last-layer methods and the distance
classifier. Normalisation is the first layer, so that images, noise and attacks are all in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from slova_bench.layers import AlwaysDropout, BayesianConv2d
from slova_bench.stable import stable

__all__ = [
    "Backbone",
    "Normalize",
    "digits_net",
    "last_linear",
    "on_preact_resnet",
    "on_resnet18",
    "preact_resnet",
    "resnet18",
    "resnet20",
    "with_last",
]

CIFAR_MEAN, CIFAR_STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
Conv = Callable[..., nn.Module]
Backbone = Callable[..., nn.Sequential]  # (classes, *, dropout=0.0, bayesian=False) -> network


def last_linear(network: nn.Sequential) -> nn.Linear:
    """The linear classifier of a network."""
    layer = network[-1]
    if not isinstance(layer, nn.Linear):
        raise TypeError(f"the network must end in a linear layer, got {type(layer).__name__}")
    return layer


def with_last(network: nn.Sequential, *layers: nn.Module) -> nn.Sequential:
    """The network with its last layer replaced by these."""
    return nn.Sequential(*list(network.children())[:-1], *layers)


class Normalize(nn.Module):
    """(images - mean) / std per channel."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        return (images - self.mean) / self.std


@dataclass(frozen=True)
class Parts:
    """The components of a residual block: two convolutions, the norm after each, and the activation."""

    first: Conv
    second: Conv
    norm_first: Callable[[int], nn.Module]
    norm_second: Callable[[int], nn.Module]
    activation: Callable[[], nn.Module]


@stable("resnet20")
def resnet20(classes: int, *, dropout: float = 0.0, bayesian: bool = False) -> nn.Sequential:
    """ResNet-20 v1 with 0.27 million parameters (He et al. 2016, as in the Keras example that the benchmarks use).

    `dropout`: always-on dropout of this rate in front of every convolution but the first, and of the classifier.
    `bayesian`: the second convolution of every block has weights with a distribution, no batch norm, and SELU
    throughout.
    """
    parts = _parts(dropout, bayesian)
    first = [Normalize(CIFAR_MEAN, CIFAR_STD), _conv(3, 16), parts.norm_first(16), parts.activation()]
    blocks = [Block(*shape, parts) for shape in _shapes((16, 32, 64), 3)]
    tail = [AlwaysDropout(dropout)] if dropout else []
    return nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), *tail, _linear(64, classes))


def _shapes(stages: Sequence[int], blocks: int) -> list[tuple[int, int, int]]:
    """The width, the filters and the stride of each block: the first of a stage but the first halves the image."""
    widths = [filters for filters in stages for _ in range(blocks)]
    before = [stages[0], *widths]
    return [(width, filters, 1 if width == filters else 2) for width, filters in zip(before, widths, strict=False)]


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut, which is a 1x1 convolution where the shape changes."""

    def __init__(self, width: int, filters: int, stride: int, parts: Parts) -> None:
        super().__init__()
        self.body = nn.Sequential(
            parts.first(width, filters, stride=stride),
            parts.norm_first(filters),
            parts.activation(),
            parts.second(filters, filters),
            parts.norm_second(filters),
        )
        same = stride == 1 and width == filters
        self.shortcut = nn.Identity() if same else parts.first(width, filters, stride=stride, size=1)
        self.activation = parts.activation()

    def forward(self, images: Tensor) -> Tensor:
        return self.activation(self.shortcut(images) + self.body(images))  # type: ignore[no-any-return]


@stable("resnet18")
def resnet18(classes: int) -> nn.Sequential:
    """ResNet-18 for 32 x 32 images, with 11.2 million parameters, as OpenOOD and most work on CIFAR use it."""
    first = [Normalize(CIFAR_MEAN, CIFAR_STD), _conv(3, 64, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    blocks = [WideBlock(*shape) for shape in _shapes((64, 128, 256, 512), 2)]
    return nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


class WideBlock(nn.Module):
    """Two 3x3 convolutions without biases and a shortcut, each followed by a norm."""

    def __init__(self, width: int, filters: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _conv(width, filters, stride=stride, bias=False),
            nn.BatchNorm2d(filters),
            nn.ReLU(),
            _conv(filters, filters, bias=False),
            nn.BatchNorm2d(filters),
        )
        same = stride == 1 and width == filters
        shortcut = nn.Sequential(_conv(width, filters, stride=stride, size=1, bias=False), nn.BatchNorm2d(filters))
        self.shortcut = nn.Identity() if same else shortcut

    def forward(self, images: Tensor) -> Tensor:
        return (self.shortcut(images) + self.body(images)).relu()  # type: ignore[no-any-return]


@stable("on_resnet18")
def on_resnet18(network: Callable[[Backbone, int], nn.Sequential], backbone: Backbone, classes: int) -> nn.Sequential:
    """The network of a method on ResNet-18 in place of the backbone of the data set."""
    return network(resnet18, classes)


@stable("preact_resnet")
def preact_resnet(classes: int) -> nn.Sequential:
    """The pre-activation ResNet of Hein et al. 2019: like ResNet-20 in size; shortcuts are average pools with zero
    channels."""
    first, shapes = _conv(3, 16, bias=False), _shapes((16, 32, 64), 3)
    units = [PreactUnit(*shape, shared=number % 3 == 0) for number, shape in enumerate(shapes)]
    norm = [nn.BatchNorm2d(64, momentum=0.01), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(first, *units, *norm, _linear(64, classes))


@stable("on_preact_resnet")
def on_preact_resnet(
    network: Callable[[Backbone, int], nn.Sequential], backbone: Backbone, classes: int
) -> nn.Sequential:
    """The network of a method on Hein et al.'s in place of the backbone of the data set."""
    return network(preact_resnet, classes)


class PreactUnit(nn.Module):
    """BN-ReLU-conv twice; the first unit of a stage shares its BN-ReLU with the shortcut."""

    def __init__(self, width: int, filters: int, stride: int, *, shared: bool) -> None:
        super().__init__()
        self.before = nn.Sequential(nn.BatchNorm2d(width, momentum=0.01), nn.ReLU())
        self.body = nn.Sequential(
            _conv(width, filters, stride=stride, bias=False),
            nn.BatchNorm2d(filters, momentum=0.01),
            nn.ReLU(),
            _conv(filters, filters, bias=False),
        )
        self.pool = nn.AvgPool2d(stride) if stride > 1 else nn.Identity()
        self.shared, self.extra = shared, filters - width

    def forward(self, images: Tensor) -> Tensor:
        active = self.before(images)
        shortcut = self.pool(active if self.shared else images)
        padded = nn.functional.pad(shortcut, (0, 0, 0, 0, self.extra // 2, self.extra - self.extra // 2))
        return padded + self.body(active)  # type: ignore[no-any-return]


@stable("digits_net")
def digits_net(classes: int, *, dropout: float = 0.0, bayesian: bool = False) -> nn.Sequential:
    """A small convolutional network for 8x8 grey images."""
    parts = _parts(dropout, bayesian)
    return nn.Sequential(
        Normalize((0.3,), (0.37,)),
        _conv(1, 16),
        parts.norm_first(16),
        parts.activation(),
        Block(16, 32, 2, parts),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 64),
        parts.activation(),
        *([AlwaysDropout(dropout)] if dropout else []),
        _linear(64, classes),
    )


def _parts(dropout: float, bayesian: bool) -> Parts:
    norm = partial(nn.BatchNorm2d, momentum=0.01, eps=1e-3)
    if bayesian:
        return Parts(_conv, BayesianConv2d, norm, lambda _: nn.Identity(), nn.SELU)
    conv = partial(_dropped_conv, dropout) if dropout else _conv
    return Parts(conv, conv, norm, norm, nn.ReLU)


def _conv(width: int, filters: int, *, stride: int = 1, size: int = 3, bias: bool = True) -> nn.Conv2d:
    conv = nn.Conv2d(width, filters, size, stride, padding=size // 2, bias=bias)
    nn.init.trunc_normal_(conv.weight, std=(2 / (width * size * size)) ** 0.5)
    if conv.bias is not None:
        nn.init.zeros_(conv.bias)
    return conv


def _dropped_conv(rate: float, width: int, filters: int, *, stride: int = 1, size: int = 3) -> nn.Sequential:
    return nn.Sequential(AlwaysDropout(rate), _conv(width, filters, stride=stride, size=size))


def _linear(features: int, classes: int) -> nn.Linear:
    layer = nn.Linear(features, classes)
    nn.init.normal_(layer.weight, std=(2 / features) ** 0.5)
    nn.init.zeros_(layer.bias)
    return layer
