"""The cost of a prediction of each method, from its networks: passes, parameters and multiply-adds per image.

Nothing is trained and no weight is allocated: networks are built on PyTorch's device "meta".
`python -m slova_bench.cost` writes `cost.csv`, which the tables read, because they do not import PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.distances import flip_averaged
from slova_bench.layers import is_random
from slova_bench.method import Backbone, Method
from slova_bench.methods import methods, rotpred
from slova_bench.tables.cost import PATH, Cost

__all__ = ["cost_of", "write"]

ON, CLASSES = "cifar10", 10
# Passes per image, by the argument `views` of what a network is adapted by, or by that itself.
VIEWS: dict[Any, int] = {"flip": 2, "turns": 4, flip_averaged: 2, rotpred.with_turns: rotpred.TURNS}


def cost_of(method: Method) -> Cost:
    """The cost with ResNet-20 on CIFAR-10, without the few operations that `adapt` adds."""
    once, each, parameters = _network(method.network)
    views = method.members * VIEWS.get(getattr(method.adapt, "keywords", {}).get("views", method.adapt), 1)
    work = views * (once + method.samples * each)
    return Cost(method.members, views * method.samples, int(once > each), method.members * parameters, work)


def write(path: Path = PATH) -> None:
    rows = {name: cost_of(method) for name, method in sorted(methods().items())}
    pd.DataFrame.from_dict(rows, orient="index", columns=Cost._fields).to_csv(path, index_label="method")


@cache
def _network(build: Callable[[Backbone, int], nn.Sequential]) -> tuple[int, int, int]:
    """Multiply-adds before the first random layer and from it on, and parameters."""
    with torch.device("meta"):
        network = build(dataset_recipe(ON).backbone, CLASSES).eval()
        images = torch.empty(1, 3, 32, 32)
    first = next((place for place, layer in enumerate(network) if is_random(layer)), 0)
    layers = list(network)
    once, features = _multiply_adds(nn.Sequential(*layers[:first]), images)
    each, _ = _multiply_adds(nn.Sequential(*layers[first:]), features)
    return once, each, sum(weight.numel() for weight in network.parameters())


def _multiply_adds(layers: nn.Sequential, images: torch.Tensor) -> tuple[int, torch.Tensor]:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        features = layers(images)
    return counter.get_total_flops() // 2, features


if __name__ == "__main__":
    write()
