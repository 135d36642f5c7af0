"""Three small networks of one architecture, trained on the same digits with the same number of steps.

- one-vs-all with `augment`: degraded and mixed images and outliers, calibrated by `Classifier.fit`
- softmax with a temperature
- softmax with a temperature on equal terms: trained with the same degraded and mixed images, and its temperature is
  fitted on degraded validation images as well
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import slova
from slova.classifier import Classifier
from slova.demo.digits import CLASSES, Digits
from slova.vision import CALIBRATION_DEGRADATIONS, augment, degrade

__all__ = ["MODELS", "SEED", "STEPS", "network", "train", "train_all"]

Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]
STEPS, BATCH, RATE, SEED = 300, 100, 2e-3, 0
MODELS = ("slova", "softmax", "softmax, same images")


def train_all(digits: Digits, report: Callable[[float], None] = lambda share: None) -> dict[str, Classifier]:
    """The three classifiers by name; `report` is called with the share of the work that is done."""
    images, labels = digits.validation
    seen = {
        "slova": train(slova.prepare(network()), digits, _one_vs_all, lambda share: report(share / 3)),
        "softmax": train(network(), digits, _softmax, lambda share: report((1 + share) / 3)),
        "softmax, same images": train(network(), digits, _softmax_degraded, lambda share: report((2 + share) / 3)),
    }
    worse = degrade(images, kinds=CALIBRATION_DEGRADATIONS, seed=SEED)
    plain: dict[str, Any] = {"head": "softmax", "calibration": "temperature"}
    both = torch.cat([images, worse]), torch.cat([labels, labels])
    return {
        "slova": Classifier.fit(seen["slova"], images, labels, progress=False),
        "softmax": Classifier.fit(seen["softmax"], images, labels, progress=False, **plain),
        "softmax, same images": Classifier.fit(seen["softmax, same images"], *both, progress=False, **plain),
    }


def network() -> nn.Sequential:
    """A small convolutional network, the same numbers at each call."""
    torch.manual_seed(SEED)
    layers: list[nn.Module] = []
    for before, after in ((1, 24), (24, 48), (48, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 4, CLASSES))


def train(model: nn.Module, digits: Digits, loss: Loss, report: Callable[[float], None]) -> nn.Module:
    images, labels = digits.training
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4 * RATE, total_steps=STEPS)
    torch.manual_seed(SEED)
    model.train()
    for step in range(STEPS):
        rows = torch.randint(len(images), (BATCH,))
        optimiser.zero_grad()
        loss(model, images[rows], labels[rows]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        report((step + 1) / STEPS)
    return model.eval()


def _one_vs_all(model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    images, labels = augment(images, labels)
    return slova.ova_loss(model(images), labels, cross_entropy=1.5)


def _softmax(model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(model(images), labels)


def _softmax_degraded(model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(model(augment(images, labels, outliers=0)[0]), labels)
