"""What the defaults give, called as in the README, beside other calibrators of the same networks.

    python benchmarks/front_door.py digits                          # networks of 60, 150 and 600 steps, five seeds
    python benchmarks/front_door.py softmax --logits FOLDER         # the command `slova fit` on networks of seed 0
    python benchmarks/front_door.py imagenet --logits FOLDER        # the same with 200 and 500 rows of 1,000 classes
    python benchmarks/front_door.py cifar10 --logits FOLDER         # ResNet-20, softmax and one-vs-all, clean images

FOLDER is what `network_logits.py` writes. Every part writes its rows to benchmarks/results, from which
`docs/make_measurements.py` makes the tables of docs/measurements/defaults.md. NLL and Brier score are those of the
classes, with P(none) left out; probabilities below 1e-12 count as 1e-12, because isotonic regression gives zeros.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from click.testing import CliRunner
from sklearn.datasets import load_digits
from torch import Tensor, nn

import slova
from slova import Scorer, metrics
from slova.cli import main as command_line

Row = dict[str, Any]

STEPS, SEEDS, SPLITS = (60, 150, 600), 5, 20
RIVALS = ("temperature", "beta", "isotonic")
ALL_RIVALS = ("temperature", "exponential", "beta", "isotonic")
FIT_ROWS = {"imagenet": (200, 500), "softmax": (500, 5000)}
LEAST = 1e-12
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["digits", "softmax", "imagenet", "cifar10"])
    parser.add_argument("--logits", type=Path, help="folder of the files of logits")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="folder of the rows")
    options = parser.parse_args()
    if options.part != "digits" and not (options.logits and options.logits.is_dir()):
        parser.error("give the folder of the logits, see network_logits.py: --logits")
    torch.set_num_threads(1)
    rows = list(digits_rows() if options.part == "digits" else rows_of_files(options.part, options.logits))
    text = ",\n".join(json.dumps(row) for row in rows)
    (options.output / f"front_door-{options.part}.json").write_text(f"[\n{text}\n]\n")


def digits_rows() -> Iterator[Row]:
    for steps in STEPS:
        for seed in range(SEEDS):
            for row in compare(steps, seed):
                yield {"steps": steps, "seed": seed} | row


def rows_of_files(part: str, folder: Path) -> Iterator[Row]:
    """Files of networks, each with its own calibrations or its own twenty splits."""
    pattern = {"softmax": "softmax-*-0.npz", "imagenet": "efficientnet_lite0.npz", "cifar10": "*-cifar10-*.npz"}[part]
    for path in sorted(folder.glob(pattern)):
        with np.load(path) as file:
            arrays = dict(file)
        for row in clean(arrays) if part == "cifar10" else split_rows(arrays, FIT_ROWS[part]):
            yield {"network": path.stem} | row


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


def compare(steps: int, seed: int) -> list[Row]:
    """The metrics of each calibration of one network."""
    train, validation, test = digits(seed)
    network = trained(*train, steps, seed)
    with torch.inference_mode():
        logits = network(test[0]).numpy()
    found = []
    for name in ("posterior", *RIVALS):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            options = {} if name == "posterior" else {"calibration": name}
            classifier = slova.Classifier.fit(network, *validation, **options)
        row = measured(classifier.scorer, logits, test[1].numpy())
        found.append({"calibration": name, "warnings": len(caught)} | row)
    return found


def clean(arrays: dict[str, np.ndarray]) -> Iterator[Row]:
    """The metrics of each calibration on test images, fitted on validation images."""
    for name in ("posterior", *ALL_RIVALS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scorer = Scorer.fit(arrays["validation"], arrays["validation_labels"], calibration=name)
        about = {"calibration": name, "part": getattr(scorer.calibrator, "part", "")}
        yield about | measured(scorer, arrays["test"], arrays["test_labels"])


def split_rows(arrays: dict[str, np.ndarray], sizes: tuple[int, ...]) -> Iterator[Row]:
    """Twenty draws of rows to fit on, of all that were not trained on; the others test."""
    kinds = [kind for kind in ("validation", "test") if kind in arrays]
    logits = np.concatenate([arrays[kind] for kind in kinds])
    labels = np.concatenate([arrays[f"{kind}_labels"] for kind in kinds])
    for size in sizes:
        for split in range(SPLITS):
            order = np.random.default_rng(split).permutation(len(labels))
            fit, test = order[:size], order[size:]
            scorers = {
                "posterior": by_command(logits[fit], labels[fit]),
                "temperature": Scorer.fit(logits[fit], labels[fit], head="softmax", calibration="temperature"),
            }
            for name, scorer in scorers.items():
                about = {"rows": size, "split": split, "calibration": name, "head": scorer.head.name}
                about["part"] = getattr(scorer.calibrator, "part", "")
                yield about | measured(scorer, logits[test], labels[test])


def by_command(logits: np.ndarray, labels: np.ndarray) -> Scorer:
    """What `slova fit` makes of a file."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/val.npz", logits=logits, labels=labels)
        done = CliRunner().invoke(command_line, ["fit", f"{folder}/val.npz", "-o", f"{folder}/model.slova"])
        if done.exit_code:
            raise RuntimeError(done.output)
        return Scorer.load(f"{folder}/model.slova")


def measured(scorer: Scorer, logits: np.ndarray, labels: np.ndarray) -> Row:
    found = scorer.evaluate(logits, labels)
    only_classes = replace(scorer, head=replace(scorer.head, log_none=None))
    log_probs = np.maximum(only_classes(logits).log_probs, np.log(LEAST))
    numbers = {"ece": found.ece.value, "nll": metrics.nll(log_probs, labels)}
    numbers |= {"brier": metrics.brier(np.exp(log_probs), labels)}
    return {name: round(float(number), 5) for name, number in (numbers | {"accuracy": found.accuracy.value}).items()}


if __name__ == "__main__":
    main()
