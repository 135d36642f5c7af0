"""Label vectors in fewer dimensions: a code of D bits per class in place of one output per class.

    python benchmarks/label_codes.py FOLDER     # with letter.csv.gz

The classes are pairs of letters, 676 in all; a row holds the measurements of two real letters. A network has D outputs,
one per bit, trained by the sum of binary cross-entropies. With code bits c_kj the readout is SLOVA's formula,
P(k) = prod_j p_j^c_kj (1 - p_j)^(1 - c_kj): for the identity code it is SLOVA, and what no class has as its code is
NONE. Rows: benchmarks/results/label_codes.csv.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

import slova
from slova.calibration import ExponentialCalibration
from slova.metrics import ece

LETTERS, WIDTHS, SEEDS = 26, (10, 20, 40, 80, 160), 3
ROWS, STEPS, HIDDEN = {"train": 60_000, "val": 5_000, "test": 10_000}, 3000, 256
RESULTS = Path(__file__).parent / "results" / "label_codes.csv"


def main() -> None:
    torch.set_num_threads(1)
    found = pd.read_csv(Path(sys.argv[1]) / "letter.csv.gz")
    inputs, labels = found.drop(columns="label"), found["label"].astype("category").cat.codes
    table = torch.tensor(((inputs - inputs.mean()) / inputs.std()).to_numpy()).float()
    rows = [
        row(table, torch.tensor(labels.to_numpy()).long(), width, seed)
        for seed in range(SEEDS)
        for width in (*WIDTHS, LETTERS**2)
    ]
    pd.DataFrame(rows).to_csv(RESULTS, index=False, float_format="%.5g")


def row(table: Tensor, letters: Tensor, width: int, seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    order, sets, first = torch.randperm(len(letters)), {}, 0
    for name, share in (("train", 0.6), ("val", 0.2), ("test", 0.2)):  # no letter is in two of them
        own = order[first : first + int(share * len(order))]
        first += len(own)
        one, two = (own[torch.randint(len(own), (ROWS[name],))] for _ in range(2))
        sets[name] = torch.cat([table[one], table[two]], 1), LETTERS * letters[one] + letters[two]
    code = codes(width, seed)
    network = trained(*sets["train"], code)
    (known, labels), (log_probs, truth) = (
        (readout(network(inputs), code).numpy(), classes.numpy()) for inputs, classes in (sets["val"], sets["test"])
    )
    calibrated = ExponentialCalibration.fit(known, labels, which="top")
    probs, raw = np.exp(calibrated(log_probs)), np.exp(log_probs)
    return {
        "outputs": width, "seed": seed, "accuracy": float((log_probs.argmax(1) == truth).mean()),
        "ece_raw": ece(raw, truth), "ece": ece(probs, truth), "sum": float(raw.sum(1).mean()),
        "weights": HIDDEN * width,
    }  # fmt: skip


def codes(width: int, seed: int) -> Tensor:
    """Random code words (K, D) without repetition; with one output per class, the identity."""
    classes = LETTERS**2
    if width == classes:
        return torch.eye(classes)
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(2, (20 * classes, width), generator=generator).unique(dim=0)
    return words[torch.randperm(len(words), generator=generator)[:classes]].float()


def readout(outputs: Tensor, code: Tensor) -> Tensor:
    """log P(k) = sum_j c_kj f_j - softplus(f_j); in double, as the sums are long."""
    outputs = outputs.double()
    return outputs @ code.double().T - functional.softplus(outputs).sum(1, keepdim=True)


def trained(inputs: Tensor, labels: Tensor, code: Tensor) -> nn.Module:
    width = code.shape[1]
    network = nn.Sequential(nn.Linear(inputs.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
    network.append(nn.Linear(HIDDEN, width))
    network = slova.prepare(network) if width == LETTERS**2 else network
    optimiser = torch.optim.AdamW(network.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=STEPS)
    for _ in range(STEPS):
        batch = torch.randint(len(labels), (256,))
        optimiser.zero_grad()
        loss = functional.binary_cross_entropy_with_logits(network(inputs[batch]), code[labels[batch]], reduction="sum")
        (loss / 256).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    return network.requires_grad_(False)


if __name__ == "__main__":
    main()
