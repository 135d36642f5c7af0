"""Seconds of training ResNet-20 at batch 512 on one GPU: a compiled CUDA graph beside the plain eager loop, in one run.

    python benchmarks/training.py [--epochs 250] [--eager-epochs 10]

The pixels are random: the time of a step does not depend on them.
"""

from __future__ import annotations

import argparse
import time

import torch
from slova_bench.networks import resnet20
from slova_bench.train import Execution, Recipe, train

from slova.losses import ova_loss

ROWS = 45_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=250)
    parser.add_argument("--eager-epochs", type=int, default=10)
    options = parser.parse_args()
    device = torch.device("cuda")
    images = torch.randint(0, 256, (ROWS, 3, 32, 32), dtype=torch.uint8, device=device)
    labels = torch.randint(0, 10, (ROWS,), device=device)
    start = seconds(images, labels, 1, fast=True)
    fast = seconds(images, labels, options.epochs, fast=True)
    eager = seconds(images, labels, options.eager_epochs, fast=False) / options.eager_epochs * options.epochs
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: ResNet-20, {ROWS:,} images, batch 512")
    print(f"first epoch with compilation   {start:8.1f} s")
    print(f"{options.epochs} epochs, CUDA graph      {fast:8.1f} s")
    print(f"{options.epochs} epochs, eager float32   {eager:8.1f} s  (measured over {options.eager_epochs})")
    print(f"ratio                          {eager / fast:8.2f}")


def loss(network: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor, rows: int) -> torch.Tensor:
    return ova_loss(network(images), labels)


def seconds(images: torch.Tensor, labels: torch.Tensor, epochs: int, *, fast: bool) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    train(resnet20(10), loss, Recipe(epochs=epochs), (images, labels), 0, Execution(fast=fast))
    torch.cuda.synchronize()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
