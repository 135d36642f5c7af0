"""The two small networks of the demo, for torch on one CPU thread, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from slova.backend import Array
from slova.demo.images import Labelled

__all__ = ["Tell", "train"]

EPOCHS, BATCH, RATE = 30, 64, 2e-3
Tell = Callable[[float], None]


def train(data: Labelled, seed: int, *, one_vs_all: bool, tell: Tell) -> Callable[[Array], Array]:
    """A trained network as a function from images (N, 8, 8) to logits (N, 10)."""
    import torch

    from slova.losses import ova_loss

    loss = ova_loss if one_vs_all else torch.nn.functional.cross_entropy
    images, labels = torch.from_numpy(data.images).unsqueeze(1), torch.from_numpy(data.labels)
    with torch.random.fork_rng(devices=[]), _one_thread():
        torch.manual_seed(seed)
        network = _network(one_vs_all)
        optimiser = torch.optim.Adam(network.parameters(), lr=RATE, weight_decay=1e-4)
        for epoch in range(EPOCHS):
            for rows in np.split(torch.randperm(len(labels)).numpy(), range(BATCH, len(labels), BATCH)):
                optimiser.zero_grad()
                loss(network(images[rows]), labels[rows]).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            tell((epoch + 1) / EPOCHS)
    return lambda batch: _logits(network, batch)


def _network(one_vs_all: bool) -> Any:
    from torch import nn

    from slova.losses import init_bias

    last = nn.Linear(128, 10)
    maps = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    hidden = [nn.Flatten(), nn.Linear(512, 128), nn.ReLU()]
    return nn.Sequential(*maps, *hidden, init_bias(last) if one_vs_all else last)


@contextmanager
def _one_thread() -> Iterator[None]:
    """The networks are too small for two: they would wait for each other, for minutes on a busy machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _logits(network: Any, images: Array) -> Array:
    import torch

    with torch.no_grad(), _one_thread():
        return network(torch.from_numpy(images).unsqueeze(1)).numpy()
