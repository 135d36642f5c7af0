"""The networks that Hein et al. released, on our test sets: softmax, CEDA and ACET, each trained as they published, and
ReAct of their softmax.

    git clone …/max-andr/relu_networks_overconfident
    python benchmarks/hein.py --networks relu_networks_overconfident/exps_paper --data FOLDER    # of `slova bench run`

Their confidence on OOD images is that of the paper's Table 1, except on ImageNet. The files hold the tensors of a
training in the order of their names, so they are read without TensorFlow; a wrong order would give an error of 90 %.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from slova_bench import data
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.methods import react
from slova_bench.networks import PreactUnit, preact_resnet
from slova_bench.pipeline import Bench
from torch import Tensor, nn

from slova.metrics import auroc, fpr95, mmc

METHODS = {"softmax": "at_frac=0.0", "ceda": "at_frac=1.0 pgd_eps=0.1", "acet": "at_frac=1.0 pgd_eps=0.3"}
METHODS["react"] = METHODS["softmax"]
TRAINED = ("cifar10", "cifar100", "svhn")
EPOCHS = 100
COLUMNS = ("on", "method", "test", "n", "error", "mmc", "auroc", "fpr95")
ORDERS = {1: ((0,), (0,)), 2: ((1, 0), (1, 0)), 4: ((3, 2, 0, 1), (2, 3, 1, 0))}  # of axes, from TensorFlow and back
ACTIVATIONS = ("shared_activation", "residual_only_activation", "residual_only_activation")  # of a stage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=Path, required=True, help="the folder exps_paper of their repository")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="rows of others are kept")
    parser.add_argument("--data", type=Path, help="folder of the images")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "hein.csv")
    options = parser.parse_args()
    before = pd.read_csv(options.results) if options.results.exists() else pd.DataFrame(columns=COLUMNS)
    rows = before[~before["method"].isin(options.methods)]
    for on, method in itertools.product(TRAINED, options.methods):
        for row in measured(on, method, options.networks, options.data):
            print(on, method, *row)
            rows.loc[len(before) + len(rows)] = (on, method, *row)
            rows.sort_values(["on", "method"], kind="stable").to_csv(options.results, index=False, lineterminator="\n")


def measured(on: str, method: str, folder: Path, images: Path | None) -> Iterator[tuple[object, ...]]:
    pattern, test = f"*dataset={on} *{METHODS[method]}*/models/*-{EPOCHS}.data*", f"{on}-test"
    files = sorted(folder.glob(pattern))
    if not files:
        raise FileNotFoundError(f"there is no {pattern} in {folder}")
    network, inside = released(files[0], on), data.load(test, folder=images)
    if method == "react":
        network = react.adapt(network, Bench(dataset_recipe(on), folder=images))
    probs = probabilities(network, inside.images)
    error = (probs.argmax(axis=-1) != inside.labels.numpy()).mean()
    yield test, len(probs), round(error, 5), round(mmc(probs), 5), None, None
    for other in data.ood_for(on):
        try:
            outside = probabilities(network, data.load(other, folder=images).images)
        except FileNotFoundError as missing:
            print(f"left out: {missing}")
            continue
        scores = (auroc(probs.max(axis=-1), outside.max(axis=-1)), fpr95(probs.max(axis=-1), outside.max(axis=-1)))
        yield other, len(outside), None, *(round(value, 5) for value in (mmc(outside), *scores))


@torch.no_grad()
def probabilities(network: nn.Sequential, images: Tensor) -> np.ndarray:
    batch = max(1, 100 * 32**2 // images.shape[-1] ** 2)
    parts = [network(part.float() / 255).softmax(dim=-1) for part in images.split(batch)]
    return torch.cat(parts).double().numpy()


def released(path: Path, on: str) -> nn.Sequential:
    """The network with the weights of a file."""
    network = preact_resnet(data.classes(f"{on}-train"))
    weights = dict(named(network))
    shapes = {name: _shape(tensor) for name, tensor in weights.items()}
    learned = {f"{name}/Momentum": shape for name, shape in shapes.items() if "/moving_" not in name}
    stored = np.fromfile(path, "<f4")[1:]  # the first is the number of steps
    shapes |= learned
    sizes = {name: int(np.prod(shapes[name])) for name in sorted(shapes)}
    if len(stored) != sum(sizes.values()):
        raise ValueError(f"{path} holds {len(stored):,} numbers, a network of {on} has {sum(sizes.values()):,}")
    parts = np.split(stored, np.cumsum([*sizes.values()])[:-1])
    for name, values in zip(sizes, parts, strict=True):
        if name in weights:
            found = torch.from_numpy(values.reshape(shapes[name]).copy())
            weights[name].data.copy_(found.permute(*ORDERS[found.ndim][0]))
    for unit in network.children():
        if isinstance(unit, PreactUnit) and unit.body[0].stride == (2, 2):  # TensorFlow pads at the end alone
            unit.body[0].padding = (0, 0)
            unit.body.insert(0, nn.ZeroPad2d((0, 1, 0, 1)))
    return network.eval()


def named(network: nn.Sequential) -> Iterator[tuple[str, Tensor]]:
    """The tensors of the network by their names in the files."""
    yield "block_init/conv/weights", network[0].weight
    units = [unit for unit in network.children() if isinstance(unit, PreactUnit)]
    for number, unit in enumerate(units):
        start = f"block_{1 + number // 3}_{number % 3}"
        yield from _norm(f"{start}/{ACTIVATIONS[number % 3]}", unit.before[0])
        yield f"{start}/sub1/conv1/weights", unit.body[0].weight
        yield from _norm(f"{start}/sub2", unit.body[1])
        yield f"{start}/sub2/conv2/weights", unit.body[3].weight
    yield from _norm("unit_last", network[-5])
    yield "logit/fc/weights", network[-1].weight
    yield "logit/fc/biases", network[-1].bias


def _norm(start: str, norm: nn.Module) -> Iterator[tuple[str, Tensor]]:
    parts = {"beta": norm.bias, "gamma": norm.weight}
    parts |= {"moving_mean": norm.running_mean, "moving_variance": norm.running_var}
    yield from ((f"{start}/batch_normalization/{name}", tensor) for name, tensor in parts.items())


def _shape(tensor: Tensor) -> tuple[int, ...]:
    """As TensorFlow has it: height, width, inputs, outputs."""
    return tuple(tensor.permute(*ORDERS[tensor.ndim][1]).shape)


if __name__ == "__main__":
    main()
