"""A small convolutional network of real digits, its validation and test images, and its classifier."""

from typing import NamedTuple

import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from slova import Classifier, ova_loss, prepare


class Digits(NamedTuple):
    network: nn.Sequential
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


def train(loss) -> Digits:
    torch.manual_seed(0)
    pixels, labels = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
    order = torch.randperm(len(labels))
    images, labels = pixels.float().view(-1, 1, 8, 8)[order] / 16, labels[order]
    layers = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 24, 3, padding=1), nn.ReLU()]
    network = nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(96, 10))
    optimiser = torch.optim.Adam((prepare(network) if loss is ova_loss else network).parameters(), 0.01)
    for _ in range(60):
        optimiser.zero_grad()
        loss(network(images[:700]), labels[:700]).backward()
        optimiser.step()
    return Digits(network.eval(), (images[700:1200], labels[700:1200]), (images[1200:], labels[1200:]))


@pytest.fixture(scope="session")
def digits() -> Digits:
    return train(ova_loss)


@pytest.fixture(scope="session")
def softmax_digits() -> Digits:
    return train(nn.functional.cross_entropy)


@pytest.fixture(scope="session")
def aware(digits) -> Classifier:
    return Classifier.fit(digits.network, *digits.validation)


@pytest.fixture(scope="session")
def unaware(digits) -> Classifier:
    return Classifier.fit(digits.network, *digits.validation, shift_aware=False)
