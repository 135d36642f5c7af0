"""Semi-supervised learning: pseudo-labels chosen by the calibrated confidence of SLOVA, or by that of softmax.

    python benchmarks/pseudo_labels.py FOLDER     # with letter.csv.gz, phoneme.csv.gz and segment.csv.gz

A network learns from few labelled rows, labels the rows of a pool of which it is sure (confidence >= 0.95), and learns
again, four times, with as many pseudo-labels as true labels in a batch. Half of the labelled rows calibrate; a
supervised network has the same rows. "open": some classes are only in the pool, where every label is wrong. Rows:
benchmarks/results/pseudo_labels.csv.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import slova
from slova.calibration import ExponentialCalibration, TemperatureScaling

SURE, ROUNDS, SEEDS, PER_CLASS, POOL, TEST = 0.95, 4, 5, 20, 3000, 2000
RESULTS = Path(__file__).parent / "results" / "pseudo_labels.csv"
Kind = tuple[str, Callable[[Tensor, Tensor], Tensor], Callable[[np.ndarray], np.ndarray], Callable[..., object] | None]
KINDS: dict[str, Kind] = {
    "softmax": ("softmax", nn.functional.cross_entropy, slova.log_softmax, None),
    "softmax, temperature": ("softmax", nn.functional.cross_entropy, slova.log_softmax, TemperatureScaling.fit),
    "OVA": ("ova", slova.ova_loss, slova.log_ova, None),
    "SLOVA, uncalibrated": ("ova", slova.ova_loss, slova.log_slova, None),
    "SLOVA": ("ova", slova.ova_loss, slova.log_slova, ExponentialCalibration.fit),
}


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of fits on few rows
    sets = {"digits": digits()} | {name: table(Path(sys.argv[1]), name) for name in ("letter", "phoneme", "segment")}
    found = [
        {"data": name, "pool": pool, "seed": seed, **row}
        for name, data in sets.items()
        for pool in ("closed", *(("open",) if len(data[1].unique()) > 2 else ()))
        for seed in range(SEEDS)
        for row in rows(*data, pool == "open", seed)
    ]
    pd.DataFrame(found).to_csv(RESULTS, index=False, float_format="%.5g")


def rows(inputs: Tensor, labels: Tensor, is_open: bool, seed: int) -> Iterator[dict[str, object]]:
    torch.manual_seed(seed)
    known = int(labels.max()) + 1
    known = known - max(1, known // 5) if is_open else known
    order = torch.randperm(len(labels))
    inputs, labels = inputs[order], labels[order]
    few = torch.cat([(labels == k).nonzero()[:PER_CLASS, 0] for k in range(known)])
    rest = torch.ones(len(labels), dtype=torch.bool)
    rest[few] = False
    rest = rest.nonzero()[:, 0]
    inside = rest[labels[rest] < known]
    test = inside[: min(TEST, len(inside) // 3)]
    pool = rest[~torch.isin(rest, test)][-POOL:]
    half = torch.arange(len(few)) % 2 == 0
    train, val = few[half], few[~half]
    for name, (_, loss, head, fit) in KINDS.items():
        used, wanted, shares = train[:0], labels[:0], (0.0, float("nan"))
        for step in range(ROUNDS + 1):
            torch.manual_seed(seed)
            network = trained((inputs[train], labels[train]), (inputs[used], wanted), known, loss)
            if step in (0, ROUNDS):
                hits = (network(inputs[test]).argmax(1) == labels[test]).float().mean().item()
                yield {"method": name, "round": step, "accuracy": hits, "used": shares[0], "right": shares[1]}
            calibrator = fit(head(network(inputs[val]).numpy()), labels[val].numpy()) if fit else (lambda found: found)
            probs = np.exp(calibrator(head(network(inputs[pool]).numpy())))  # type: ignore[operator]
            sure, said = torch.tensor(probs.max(1) >= SURE), torch.tensor(probs.argmax(1))
            right = (said == labels[pool])[sure].float().mean().item()
            shares = (sure.float().mean().item(), right)
            used, wanted = pool[sure], said[sure]


def trained(
    labelled: tuple[Tensor, Tensor], pseudo: tuple[Tensor, Tensor], classes: int, loss: Callable[..., Tensor]
) -> nn.Module:
    """Half of each batch has true labels, if there are others."""
    network = nn.Sequential(nn.Linear(labelled[0].shape[1], 128), nn.ReLU(), nn.Linear(128, classes))
    network = slova.prepare(network) if loss is slova.ova_loss else network
    optimiser = torch.optim.AdamW(network.parameters(), 5e-3, weight_decay=1e-2)
    parts = [part for part in (labelled, pseudo) if len(part[1])]
    for _ in range(150):
        chosen = [torch.randint(len(part[1]), (128 // len(parts),)) for part in parts]
        inputs, labels = (torch.cat([part[i][rows] for part, rows in zip(parts, chosen, strict=True)]) for i in (0, 1))
        optimiser.zero_grad()
        loss(network(inputs), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return network.requires_grad_(False)


def digits() -> tuple[Tensor, Tensor]:
    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images / 8 - 1).float(), torch.tensor(labels)


def table(folder: Path, name: str) -> tuple[Tensor, Tensor]:
    found = pd.read_csv(folder / f"{name}.csv.gz")
    inputs, labels = found.drop(columns="label"), found["label"].astype("category").cat.codes
    inputs = (inputs - inputs.mean()) / (inputs.std() + 1e-9)
    return torch.tensor(inputs.to_numpy()).float(), torch.tensor(labels.to_numpy()).long()


if __name__ == "__main__":
    main()
