"""Confidence on planes through three test images (Fig. 2), around the first of them: the mean over planes at each
point.

The rows are means over rings; `level` is the distance from the middle in units of the other two images. The whole
picture, by alpha and beta, is stored next to them as a Parquet file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch

from slova._backend import Array
from slova.artifact import atomic_path
from slova_bench import shifts
from slova_bench.calibrate import readout_of
from slova_bench.experiment import PerNetwork
from slova_bench.method import Method
from slova_bench.pipeline import Bench, Trained
from slova_bench.results import Cell, Results, Row, locked

AXIS = tuple(float(value) for value in np.linspace(-20, 20, 21))
PLANES = 50
KEY = ["method", "preset", "seed", "alpha", "beta"]


def required(method: Method, bench: Bench, seed: int) -> list[Row]:
    return _rings(_cell(method, bench, seed), np.zeros((len(AXIS), len(AXIS))))


def rows(method: Method, bench: Bench, results: Results, seed: int) -> list[Row]:
    picture = _picture(method, bench, bench.trained(method, seed))
    _add(results.path.with_name(f"{results.path.stem}-picture.parquet"), method, seed, picture)
    return _rings(_cell(method, bench, seed), picture)


def _cell(method: Method, bench: Bench, seed: int) -> Cell:
    train, test = bench.dataset.train, bench.dataset.test
    return Cell("plane", method.name, method.preset, train, test, "plane", 0, seed, PLANES)


def _picture(method: Method, bench: Bench, trained: Trained) -> Array:
    """Mean confidence (alphas, betas)."""
    images = bench.load(bench.dataset.test).images
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))[: 3 * PLANES]
    triplets = images[order].view(-1, 3, *images.shape[1:])
    readout, total = readout_of(method, bench, trained), 0.0
    for plane in shifts.planes(triplets, AXIS, AXIS):
        total = total + np.exp(readout(trained.outputs(plane.flatten(0, 1)).logits).log_probs).max(axis=-1)
    return np.asarray(total).reshape(len(AXIS), len(AXIS)) / len(triplets)


def _rings(cell: Cell, picture: Array) -> list[Row]:
    axis = np.array(AXIS)
    ring = np.round(np.hypot(axis[:, None], axis[None, :]) / 2) * 2
    levels = [float(level) for level in np.unique(ring)]
    return [Row.of(cell._replace(level=level), "mmc", picture[ring == level].mean()) for level in levels]


def _add(path: Path, method: Method, seed: int, picture: Array) -> None:
    """Add a picture to those of other runs; the file is replaced atomically."""
    alpha, beta = np.meshgrid(AXIS, AXIS, indexing="ij")
    points = {"alpha": alpha.ravel(), "beta": beta.ravel(), "confidence": picture.ravel()}
    new = pd.DataFrame({"method": method.name, "preset": method.preset, "seed": seed, **points})
    with locked(path.parent):
        found = pd.concat([pd.read_parquet(path), new]) if path.exists() else new
        found = found.drop_duplicates(KEY, keep="last").sort_values(KEY)
        with atomic_path(path) as temporary:
            found.to_parquet(temporary, compression="zstd", index=False)


EXPERIMENT = PerNetwork(name="plane", methods=("ova", "slova_raw"), required=required, rows=rows)
