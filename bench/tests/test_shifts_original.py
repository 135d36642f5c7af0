"""Our corruptions against the generator of CIFAR-10-C: the same images through both, the same statistics out of both.

`cifar10_c_original.csv` was measured by running hendrycks/robustness, ImageNet-C/create_c/make_cifar_c.py (commit
8190fe3, with ImageMagick 6.9.11, OpenCV 4.10, scikit-image 0.26), the random ones 4 to 40 times, on 200 patches of the
photographs of scikit-learn and on the first 500 test images of CIFAR-10. Its columns, in grey levels: mean absolute
change, mean change, mean deviation within an image, mean squared step between neighbours (down plus across).
"""

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_sample_images
from slova_bench import shifts

SEEDS = 8  # the gradient after motion blur varies by 3.5 % from seed to seed on 200 images; the mean of eight by 1.2 %
FEW = 3  # for the others on the photographs
FIXED = {"gaussian_blur", "defocus_blur", "zoom_blur", "brightness", "contrast", "saturate"}  # nothing is random
FIXED |= {"pixelate", "jpeg_compression"}
HOME = Path(os.environ.get("SLOVA_DATA", "nowhere"))
NEEDS = {"cifar10": "cifar10-test.npz", "frost": "frost"}  # images or corruptions that need a file in SLOVA_DATA
with open(Path(__file__).with_name("cifar10_c_original.csv"), newline="") as file:
    ROWS = {(row["images"], row["corruption"], int(row["severity"])): row for row in csv.DictReader(file)}


@cache
def photographs():
    halves = [photograph[: 2 * 212 : 2, ::2] for photograph in load_sample_images().images]
    cut = [half[r : r + 32, c : c + 32] for half in halves for r in range(0, 180, 16) for c in range(0, 288, 16)]
    return np.stack(cut[::2][:200]).transpose(0, 3, 1, 2)


@cache
def cifar10():
    with np.load(HOME / NEEDS["cifar10"]) as packed:
        return packed["images"][:500].transpose(0, 3, 1, 2)


def statistics(changed, images):
    difference, changed = changed.astype(float) - images, changed.astype(float)
    return {
        "change": np.abs(difference).mean(),
        "bias": difference.mean(),
        "contrast": changed.std(axis=(1, 2, 3)).mean(),
        "gradient": (np.diff(changed, axis=2) ** 2).mean() + (np.diff(changed, axis=3) ** 2).mean(),
    }


def test_the_table_has_every_corruption_at_every_severity():
    cells = {(name, severity) for name in shifts.CIFAR.names for severity in range(1, 6)}
    assert set(ROWS) == {(images, *cell) for images in ("photographs", "cifar10") for cell in cells}


@pytest.mark.parametrize(("images", "name", "severity"), ROWS)
def test_corruptions_have_the_statistics_of_the_original(images, name, severity):
    missing = [NEEDS[key] for key in (images, name) if key in NEEDS and not (HOME / NEEDS[key]).exists()]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} in SLOVA_DATA")
    clean = {"photographs": photographs, "cifar10": cifar10}[images]()
    several = SEEDS if images == "cifar10" or name == "motion_blur" else FEW
    seeds, relative, absolute = (1, 0.01, 0.1) if name in FIXED else (several, 0.05, 0.5)
    runs = [statistics(shifts.corrupt(clean, name, severity, seed=seed), clean) for seed in range(seeds)]
    ours = {column: np.mean([run[column] for run in runs]) for column in runs[0]}
    row = ROWS[images, name, severity]
    assert ours == {column: pytest.approx(float(row[column]), rel=relative, abs=absolute) for column in ours}
