"""benchmarks/hein.py reads the networks that Hein et al. released, and computes what they compute."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from slova_bench.networks import PreactUnit, preact_resnet

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "hein.py"
spec = importlib.util.spec_from_file_location("hein", SCRIPT)
hein = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hein)


@pytest.fixture
def network():
    generator, found = torch.Generator().manual_seed(0), preact_resnet(10)
    for _, tensor in hein.named(found):
        tensor.data.copy_(torch.rand(tensor.shape, generator=generator) / 10)
    return found


@pytest.fixture
def file(network, tmp_path):
    """A training as TensorFlow saves it: tensors by name, each followed by its momentum, after the number of steps."""
    orders = {1: (0,), 2: (1, 0), 4: (2, 3, 1, 0)}
    tensors = {name: tensor.detach().permute(orders[tensor.ndim]) for name, tensor in hein.named(network)}
    tensors |= {f"{name}/Momentum": torch.full_like(t, 9) for name, t in tensors.items() if "moving" not in name}
    path = tmp_path / "network.data"
    parts = [np.zeros(1, "<f4"), *(tensors[name].numpy().ravel() for name in sorted(tensors))]
    np.concatenate(parts).astype("<f4").tofile(path)
    return path


def test_a_released_network_has_the_weights_of_its_file(network, file):
    found = hein.released(file, "cifar10")
    assert not found.training
    wanted = [value for name, value in network.state_dict().items() if "num_batches" not in name]
    read = [value for name, value in found.state_dict().items() if "num_batches" not in name]
    assert len(wanted) == len(read) > 90
    assert all(torch.equal(one, other) for one, other in zip(wanted, read, strict=True))


def test_a_convolution_with_a_stride_starts_at_the_first_pixel_as_in_tensorflow(file):
    units = [unit for unit in hein.released(file, "cifar10").children() if isinstance(unit, PreactUnit)]
    images = torch.rand(2, 16, 32, 32, generator=torch.Generator().manual_seed(1))
    strided = [unit for unit in units if isinstance(unit.body[0], torch.nn.ZeroPad2d)]
    assert [units.index(unit) for unit in strided] == [3, 6]
    convolution = strided[0].body[:2]
    weight = torch.zeros_like(convolution[1].weight)
    weight[:16, :, 0, 0] = torch.eye(16)  # the pixel in the corner of its window
    convolution[1].weight.data.copy_(weight)
    assert torch.equal(convolution(images)[:, :16], images[:, :, ::2, ::2])


def test_a_file_of_another_network_is_refused_with_both_sizes(file):
    with pytest.raises(ValueError, match=r"holds 540,820 numbers, a network of cifar100 has 552,520"):
        hein.released(file, "cifar100")
