"""Noise images made on the device from a batch of training images, for losses that want the network unsure of them
(Hein et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["low_pass_noise"]

KERNEL = 15


def low_pass_noise(images: Tensor) -> Tensor:
    """As many noise images as images: one half their pixels shuffled, one half uniform, all blurred by one random width
    of 1 to 2.5 pixels a batch, and each stretched to [0, 1]."""
    half = len(images) // 2
    shuffled = _shuffled(images[:half])
    noise = torch.cat([shuffled, torch.rand_like(images[half:])])
    return _stretched(_blurred(noise, 1 + 1.5 * torch.rand((), device=images.device)))


def _shuffled(images: Tensor) -> Tensor:
    """Pixel positions permuted, each image in its own way; a pixel keeps its colour."""
    order = torch.rand(len(images), 1, images.shape[-1] * images.shape[-2], device=images.device).argsort(-1)
    return images.flatten(2).gather(2, order.expand(-1, images.shape[1], -1)).view_as(images)


def _blurred(images: Tensor, width: Tensor) -> Tensor:
    size = min(KERNEL, 2 * images.shape[-1] + 1)  # a reflection is at most as long as the image
    offsets = torch.arange(size, device=images.device) - size // 2
    kernel = torch.softmax(-(offsets**2) / (2 * width**2), dim=0)
    rows = kernel.view(1, 1, -1, 1).repeat(images.shape[1], 1, 1, 1)
    padded = _reflected(_reflected(images, size // 2).mT, size // 2).mT
    blurred = functional.conv2d(padded, rows, groups=images.shape[1])
    return functional.conv2d(blurred, rows.mT, groups=images.shape[1])


def _reflected(images: Tensor, length: int) -> Tensor:
    """Columns added on both sides, mirrored at the edge, whose own column is repeated."""
    return torch.cat([images[..., :length].flip(-1), images, images[..., -length:].flip(-1)], dim=-1)


def _stretched(images: Tensor) -> Tensor:
    low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
    return (images - low) / (high - low).clamp_min(1e-6)  # an image of one colour becomes black
