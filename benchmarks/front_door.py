"""The front door on small networks: digits, 60, 150 and 600 steps, five seeds, as the README is written.

    python benchmarks/front_door.py

`Classifier.fit(network, images, labels)` with its defaults, against temperature, beta and isotonic calibration of the
same one-vs-all networks: ECE and NLL on test images, mean over seeds.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import slova

STEPS, SEEDS = (60, 150, 600), 5
RIVALS = ("temperature", "beta", "isotonic")


def digits(seed: int) -> tuple[tuple[Tensor, Tensor], ...]:
    """Images and labels: 800 to train on, 400 to validate on, and the rest to test on."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    images = torch.tensor(pixels[order] / 16, dtype=torch.float32)
    parts = (slice(0, 800), slice(800, 1200), slice(1200, None))
    return tuple((images[part], torch.tensor(labels[order])[part]) for part in parts)


def trained(images: Tensor, labels: Tensor, steps: int, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    network = slova.prepare(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimiser = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(steps):
        rows = torch.randint(0, len(labels), (64,))
        optimiser.zero_grad()
        slova.ova_loss(network(images[rows]), labels[rows]).backward()
        optimiser.step()
    return network


def compare(steps: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """ECE, NLL and accuracy by calibration, on one network."""
    train, validation, test = digits(seed)
    network = trained(*train, steps, seed)
    found = {}
    for name in ("posterior", *RIVALS):
        given = {} if name == "posterior" else {"calibration": name}
        with warnings.catch_warnings():
            if given:  # the default must not warn silently
                warnings.simplefilter("ignore")
            metrics = slova.Classifier.fit(network, *validation, **given).evaluate(*test)
        found[name] = metrics.ece.value, metrics.nll.value, metrics.accuracy.value
    return found


def main() -> None:
    print(f"{'steps':>5}  {'calibration':12} {'ECE':>6} {'NLL':>6} {'accuracy':>8}")
    for steps in STEPS:
        runs = [compare(steps, seed) for seed in range(SEEDS)]
        means = {name: np.mean([run[name] for run in runs], axis=0) for name in runs[0]}
        for name, (ece, nll, accuracy) in means.items():
            print(f"{steps:5}  {name:12} {ece:6.3f} {nll:6.3f} {accuracy:8.3f}")
        rest = np.array([means[name] for name in RIVALS])
        gaps = means["posterior"][:2] - rest[:, :2].min(axis=0)
        print(f"{steps:5}  above the best: ECE {gaps[0]:+.3f} (at most .015), NLL {gaps[1]:+.3f} (at most .02)\n")


if __name__ == "__main__":
    main()
