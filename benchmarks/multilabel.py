"""Sets of labels on real multi-label data, before and after calibration: 2-layer networks, five splits.

    python benchmarks/multilabel.py FOLDER     # with emotions.arff, yeast.arff, scene-train.arff and scene-test.arff

The files are those of the Mulan collection; labels are the last attributes. The fourth set is made of two real digits
side by side. Rows: benchmarks/results/multilabel.csv.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.io import arff
from sklearn.datasets import load_digits
from torch import nn

from slova.calibration import BetaCalibration
from slova.losses import multilabel_loss
from slova.multilabel import LabelCalibration, SetPrediction, SetScorer, hamming, set_ece, set_nll, subset_accuracy

NAMES = ("subset_accuracy", "hamming", "ece", "nll", "mmc")
KINDS = ("nothing", "set", "set, beta", "labels", "labels and set", "labels, set beta")
FILES = {"emotions": (["emotions"], 6), "yeast": (["yeast"], 14), "scene": (["scene-train", "scene-test"], 6)}
SPLITS = 5
RESULTS = Path(__file__).parent / "results" / "multilabel.csv"


def main() -> None:
    torch.set_num_threads(1)
    folder, found = Path(sys.argv[1]), []
    sets = {name: from_arff([folder / f"{file}.arff" for file in files], n) for name, (files, n) in FILES.items()}
    for name, (inputs, targets) in (sets | {"digits": digit_pairs()}).items():
        for seed in range(SPLITS):
            for kind, values in zip(KINDS, split(inputs, targets, seed), strict=True):
                row = {"data": name, "rows": len(targets), "labels": targets.shape[1], "seed": seed, "calibrated": kind}
                found.append(row | dict(zip(NAMES, values, strict=True)))
    pd.DataFrame(found).to_csv(RESULTS, index=False, float_format="%.5g")


def from_arff(paths: list[Path], labels: int) -> tuple[np.ndarray, np.ndarray]:
    table = np.concatenate([np.array([list(row) for row in arff.loadarff(path)[0]]).astype(float) for path in paths])
    inputs = table[:, :-labels]
    return (inputs - inputs.mean(0)) / (inputs.std(0) + 1e-9), table[:, -labels:].astype(int)


def digit_pairs() -> tuple[np.ndarray, np.ndarray]:
    """Two of scikit-learn's digits side by side: the set of labels has one or two members."""
    images, digits = load_digits(return_X_y=True)
    pairs = np.random.default_rng(0).permutation(len(digits))[:1796].reshape(-1, 2)  # each digit once
    return np.hstack([images[pairs[:, 0]], images[pairs[:, 1]]]) / 16, np.eye(10, dtype=int)[digits[pairs]].max(1)


def split(inputs: np.ndarray, targets: np.ndarray, seed: int) -> list[list[float]]:
    """The measures of every kind of calibration: 50 % of the rows to train on, 25 % to calibrate, 25 % to test."""
    order = np.random.default_rng(seed).permutation(len(targets))
    train, validation, test = np.split(order, [len(order) // 2, len(order) * 3 // 4])
    network = trained(inputs[train], targets[train], seed)
    with torch.no_grad():
        known, logits = (network(torch.tensor(inputs[part]).float()).numpy() for part in (validation, test))
    fit = partial(SetScorer.fit, known, targets[validation])
    scorers = [SetScorer(), fit(), fit(calibration=BetaCalibration.fit)]
    scorers += [SetScorer(before=LabelCalibration.fit(known, targets[validation])), fit(by_label=True)]
    scorers += [fit(by_label=True, calibration=BetaCalibration.fit)]
    return [measures(one.predict(logits), one.logits(logits), targets[test]) for one in scorers]


def trained(inputs: np.ndarray, targets: np.ndarray, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(inputs.shape[1], 128), nn.ReLU(), nn.Linear(128, targets.shape[1]))
    optimiser = torch.optim.AdamW(network.parameters(), 3e-3, weight_decay=1e-2)
    given, wanted = torch.tensor(inputs).float(), torch.tensor(targets)
    for _ in range(100):
        optimiser.zero_grad()
        multilabel_loss(network(given), wanted).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return network


def measures(answers: SetPrediction, logits: np.ndarray, targets: np.ndarray) -> list[float]:
    ece = set_ece(answers.confidence, answers.sets, targets)
    sets = answers.sets
    return [subset_accuracy(sets, targets), hamming(sets, targets), ece, set_nll(logits, targets),
            float(answers.confidence.mean())]  # fmt: skip


if __name__ == "__main__":
    main()
