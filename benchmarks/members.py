"""What must a member of an ensemble cost? Five one-vs-all networks, against members that share one training: averages
of the weights at five moments of it, five last layers on one trunk, five last stages on one trunk.

python benchmarks/members.py digits 0,1,2
python benchmarks/members.py cifar10 0,1,2 2000     # so many images of every set; requires a GPU

Logits are averaged, read out and calibrated on validation images as in `slova_ensemble`. Quartiles are over the clean
set and the shifts, means over seeds; the work of a pass is a multiple of one network's.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy import ndarray as Array
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.method import Backbone, Method
from slova_bench.methods import find
from slova_bench.networks import last_linear, with_last
from slova_bench.pipeline import Bench
from slova_bench.runner import EMBEDDED, MODELS
from slova_bench.stable import stable
from slova_bench.store import Store, describe
from slova_bench.test_sets import shifted_sets
from slova_bench.train import Execution, Run, seeded
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from slova import Ensemble
from slova.calibration import ExponentialCalibration
from slova.heads import log_slova
from slova.losses import init_bias, ova_loss
from slova.metrics import accuracy, brier, ece, nll

MEMBERS = 5
SPAN = 0.02  # of the training, that the moving average of the weights looks back
MOMENTS = (0.6, 0.7, 0.8, 0.9, 1.0)  # of the training, when the average is kept
TRUNK = 5 / 8  # of the layers: all of ResNet-20 but its last stage
NAMES = ("accuracy", "clean", *(f"{name} {q}" for name in ("ECE", "NLL", "Brier") for q in ("25", "50", "75")))


def main() -> None:
    warnings.simplefilter("ignore")  # small validation sets
    place = Execution(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    store = Store(".slova", MODELS, EMBEDDED)
    bench = Bench(dataset_recipe(sys.argv[1]), store, place, limit=int(sys.argv[3]) if len(sys.argv) > 3 else None)
    tables = [measured(bench, int(seed)) for seed in sys.argv[2].split(",")]
    print(f"{sys.argv[1]}, seeds {sys.argv[2]}".ljust(24), *(name.rjust(8) for name in NAMES), "    work")
    for kind in tables[0]:
        print(kind.ljust(24), *(f"{value:8.3f}" for value in np.mean([table[kind] for table in tables], axis=0)))


def measured(bench: Bench, seed: int) -> dict[str, list[float]]:
    averages = checkpoints(bench, seed)
    kinds = {
        "one network": networks(bench, seed, 1),
        "its average": Ensemble(averages.members[-1:]),
        "averages of one training": averages,
        "five last layers": shared(bench, seed, last_layers),
        "five last stages": shared(bench, seed, last_stages),
        "five networks": networks(bench, seed, MEMBERS),
    }
    image = torch.zeros(1, *bench.validation.images.shape[1:], device=bench.execution.device)
    work = {kind: operations(ensemble, image) for kind, ensemble in kinds.items()}
    return {kind: [*scores(bench, one), work[kind] / work["one network"]] for kind, one in kinds.items()}


def networks(bench: Bench, seed: int, members: int) -> Ensemble:
    """Networks that were trained by themselves."""
    (ova,) = find(["ova"])
    return Ensemble(bench.trained(replace(ova, members=members), seed).networks)


def checkpoints(bench: Bench, seed: int) -> Ensemble:
    """The moving average of the weights of one training, at several moments."""
    (ova,) = find(["ova"])
    recipe = bench.dataset.recipe(ova)
    steps = recipe.epochs * (len(bench.training.labels) // recipe.batch)
    method = replace(ova, recipe=replace(recipe, ema=1 - 1 / (SPAN * steps)))
    what = {**bench.weights(method, seed), "moments": describe(MOMENTS)}
    found = bench.store.get("weights", what, lambda: followed(bench, method, seed))
    members = [built(bench, method) for _ in MOMENTS]
    for number, member in enumerate(members):
        own = f"{number}."
        member.load_state_dict({n.removeprefix(own): value for n, value in found.items() if n.startswith(own)})
    return Ensemble(members)


def followed(bench: Bench, method: Method, seed: int) -> dict[str, Tensor]:
    """The averages, each tensor under the number of its moment; trained as `slova_bench.train` does."""
    recipe, device = bench.dataset.recipe(method), bench.execution.device
    images, labels = bench.training.images.to(device), bench.training.labels.to(device)
    with seeded(torch.device("cpu"), seed, epoch=-1):
        network = built(bench, method).train()
    run = Run(network, method.loss, recipe, bench.execution, rows=len(images))
    moments = {round(moment * recipe.epochs): number for number, moment in enumerate(MOMENTS)}
    kept: dict[str, Tensor] = {}
    for epoch in range(recipe.epochs):
        with seeded(device, seed, epoch):
            run.epoch(images, labels, seed, epoch)
        if epoch + 1 in moments:
            names = run.network.state_dict()
            own = {f"{moments[epoch + 1]}.{n}": v.cpu().clone() for n, v in zip(names, run.average, strict=True)}
            kept |= own
    return kept


def built(bench: Bench, method: Method) -> nn.Sequential:
    return method.network(bench.dataset.backbone, classes(bench)).to(bench.execution.device).eval()


def shared(bench: Bench, seed: int, network: Callable[[Backbone, int], nn.Sequential]) -> Ensemble:
    """Members that are parts of one network, which says the logits of all side by side (N, members x K)."""
    (ova,) = find(["ova"])
    (found,) = bench.trained(replace(ova, network=network, loss=sum_of_losses), seed).networks
    return Ensemble([nn.Sequential(found, Pooled())])


@stable("members_loss")
def sum_of_losses(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    """Each member's loss as if it were alone."""
    logits = network(images).unflatten(1, (MEMBERS, -1))
    return MEMBERS * ova_loss(logits, labels[:, None].expand(-1, MEMBERS))


@stable("last_layers_network")
def last_layers(backbone: Backbone, classes: int) -> nn.Sequential:
    """One network with five classifiers, which differ in how they began."""
    base = backbone(classes)
    width = last_linear(base).in_features
    heads = [init_bias(nn.Linear(width, classes)) for _ in range(MEMBERS)]
    return with_last(base, Fork(heads))


@stable("last_stages_network")
def last_stages(backbone: Backbone, classes: int) -> nn.Sequential:
    """The first layers of one network, and the others of five; one module: feature maps are no features."""
    networks = [backbone(classes) for _ in range(MEMBERS)]
    for network in networks:
        init_bias(last_linear(network))
    cut = int(TRUNK * len(networks[0]))
    return nn.Sequential(nn.Sequential(*list(networks[0])[:cut], Fork([network[cut:] for network in networks])))


class Fork(nn.Module):
    """Several ways on from here, side by side. What is shared before it learns from their mean, each from its own."""

    def __init__(self, ways: list[Any]) -> None:
        super().__init__()
        self.ways = nn.ModuleList(ways)

    def forward(self, shared: Tensor) -> Tensor:
        part = shared / len(self.ways)
        return torch.cat([way(part + (shared - part).detach()) for way in self.ways], dim=1)


class Pooled(nn.Module):
    """The mean of logits that are side by side."""

    def forward(self, logits: Tensor) -> Tensor:
        return logits.unflatten(1, (MEMBERS, -1)).mean(1)


def operations(ensemble: Ensemble, image: Tensor) -> float:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        ensemble(image)
    return float(counter.get_total_flops())


@torch.no_grad()
def scores(bench: Bench, ensemble: Ensemble) -> list[float]:
    device = bench.execution.device

    def read(images: Tensor) -> Array:
        exact = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
        with exact:
            parts = [ensemble(part.to(device).float() / 255) for part in torch.split(images, 1000)]
        return log_slova(torch.cat(parts).float().cpu().numpy())

    validation = replace(bench, limit=None).validation
    calibrator = ExponentialCalibration.fit(read(validation.images), validation.labels.numpy())
    rows = []
    for test in shifted_sets(bench):
        if test.shift and bench.dataset.name != "digits" and test.shift not in PAPER_SHIFTS:
            continue
        images, truth = test.load(bench)
        answer, labels = calibrator(read(images)), truth.numpy()
        probs = np.exp(answer)
        rows.append([accuracy(probs, labels), ece(probs, labels), nll(answer, labels), brier(probs, labels)])
    table = np.array(rows)
    return [table[0, 0], table[0, 1], *np.percentile(table[:, 1:], [25, 50, 75], axis=0).T.ravel()]


def classes(bench: Bench) -> int:
    return int(bench.training.labels.max()) + 1


if __name__ == "__main__":
    main()
