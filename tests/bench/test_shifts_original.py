"""Our corruptions against the generator of CIFAR-10-C, on the first 500 test images of CIFAR-10.

`cifar10_c_original.csv` was measured by running hendrycks/robustness, ImageNet-C/create_c/make_cifar_c.py (commit
8190fe3, with ImageMagick 6.9.11, OpenCV 4.10, scikit-image 0.26), the random ones four times, fog forty times, for its
brightness varies most. Its columns, in grey levels: mean absolute change, mean change, mean deviation within an image,
and mean squared step between neighbouring pixels (down plus across).
"""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from slova.bench import shifts

HOME = Path(os.environ.get("SLOVA_DATA", "nowhere"))
with_images = pytest.mark.skipif(
    not ((HOME / "cifar10-test.npz").is_file() and (HOME / "frost").is_dir()),
    reason="wants cifar10-test.npz and frost/ in SLOVA_DATA",
)
with open(Path(__file__).with_name("cifar10_c_original.csv"), newline="") as file:
    ROWS = {(row["corruption"], int(row["severity"])): row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def images():
    with np.load(HOME / "cifar10-test.npz") as packed:
        return np.ascontiguousarray(packed["images"][:500].transpose(0, 3, 1, 2))


def statistics(changed, images):
    difference, changed = changed.astype(float) - images, changed.astype(float)
    steps = (np.diff(changed, axis=2) ** 2).mean() + (np.diff(changed, axis=3) ** 2).mean()
    return {
        "change": np.abs(difference).mean(),
        "bias": difference.mean(),
        "contrast": changed.std(axis=(1, 2, 3)).mean(),
        "gradient": steps,
    }


def test_the_table_has_every_corruption_at_every_severity():
    assert set(ROWS) == {(name, severity) for name in shifts.CIFAR.names for severity in range(1, 6)}


@with_images
@pytest.mark.parametrize(("name", "severity"), ROWS)
def test_corruptions_have_the_statistics_of_the_original(name, severity, images):
    runs = [statistics(shifts.corrupt(images, name, severity, seed=seed), images) for seed in range(4)]
    ours = {column: np.mean([run[column] for run in runs]) for column in runs[0]}
    theirs = {column: float(ROWS[name, severity][column]) for column in ours}
    assert ours == {column: pytest.approx(value, rel=0.05, abs=0.5) for column, value in theirs.items()}
