"""A small network of four overlapping clouds in the plane, and its classifier."""

from dataclasses import fields

import numpy as np
import pytest
import torch
from torch import nn

from slova import Classifier, init_bias, ova_loss


@pytest.fixture(scope="session")
def blobs():
    """A function of a number of rows and a seed to points and labels."""

    def draw(rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        labels = torch.randint(0, 4, (rows,), generator=generator)
        centres = torch.tensor([[2.0, 2.0], [-2.0, 2.0], [-2.0, -2.0], [2.0, -2.0]])
        return centres[labels] + 1.3 * torch.randn(rows, 2, generator=generator), labels

    return draw


@pytest.fixture(scope="session")
def mlp():
    """A function to a network that is not trained."""
    return lambda: nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Dropout(0.1), nn.Linear(32, 4))


@pytest.fixture(scope="session")
def train(blobs, mlp):
    """A function of a loss to a network trained with it."""

    def trained(loss) -> nn.Sequential:
        torch.manual_seed(0)
        network, (points, labels) = mlp(), blobs(600, 0)
        init_bias(network[-1])
        optimiser = torch.optim.Adam(network.parameters(), 0.02)
        for _ in range(60):
            optimiser.zero_grad()
            loss(network(points), labels).backward()
            optimiser.step()
        return network.eval()

    return trained


@pytest.fixture(scope="module")
def network(train) -> nn.Sequential:
    return train(ova_loss)


@pytest.fixture(scope="module")
def classifier(network, blobs) -> Classifier:
    return Classifier.fit(network, blobs(1000, 1))


@pytest.fixture(scope="session")
def same_calibrator():
    def same(left: Classifier, right: Classifier) -> bool:
        one, other = left.scorer.calibrator, right.scorer.calibrator
        numbers = [field.name for field in fields(one) if isinstance(getattr(one, field.name), np.ndarray)]
        return type(one) is type(other) and all(
            np.allclose(getattr(one, name), getattr(other, name), rtol=1e-3, atol=1e-4) for name in numbers
        )

    return same


class TwoInputs(nn.Module):
    """Takes two inputs, the second of which decides which features count."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, points: torch.Tensor, mask: torch.Tensor | None = None):
        return self.network(points if mask is None else points * mask)


@pytest.fixture(scope="session")
def two_inputs() -> type[nn.Module]:
    return TwoInputs
