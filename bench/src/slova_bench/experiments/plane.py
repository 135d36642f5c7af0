"""Confidence on planes through three test images (Fig. 2), around the first of them: the mean over planes at each
point.

The rows are means over rings; `level` is the distance from the middle in units of the other two images. The whole
picture, by alpha and beta, is stored next to them as a Parquet file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from slova._backend import Array
from slova_bench import shifts
from slova_bench.calibrate import readout_of
from slova_bench.experiment import PerNetwork
from slova_bench.method import Method
from slova_bench.parquet import load_table, save_table
from slova_bench.pipeline import Bench, Trained
from slova_bench.results import Cell, Results, Row

AXIS = tuple(float(value) for value in np.linspace(-20, 20, 21))
PLANES = 50

Key = tuple[str, str, int]  # method, preset, seed


def done(bench: Bench, results: Results) -> Callable[[Method, int], bool]:
    """Whether a picture and its rows are present."""
    pictures, rows = _pictures(_file(results)).keys(), {row.key for row in results.read()}
    nothing = np.zeros((len(AXIS), len(AXIS)))

    def there(method: Method, seed: int) -> bool:
        required = {row.key for row in _rings(_cell(method, bench, seed), nothing)}
        return (method.name, method.preset, seed) in pictures and required <= rows

    return there


def rows(method: Method, bench: Bench, results: Results, seed: int) -> list[Row]:
    picture = _picture(method, bench, bench.trained(method, seed))
    _add(_file(results), {(method.name, method.preset, seed): picture})
    return list(_rings(_cell(method, bench, seed), picture))


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


def _rings(cell: Cell, picture: Array) -> Iterator[Row]:
    axis = np.array(AXIS)
    ring = np.round(np.hypot(axis[:, None], axis[None, :]) / 2) * 2
    for level in np.unique(ring):
        yield Row.of(cell._replace(level=float(level)), "mmc", picture[ring == level].mean())


def _file(results: Results) -> Path:
    return results.path.with_name(f"{results.path.stem}-picture.parquet")


def _pictures(path: Path) -> dict[Key, Array]:
    """The pictures of all runs."""
    found: dict[Key, Array] = {}
    for row in load_table(path) if path.exists() else []:
        picture = found.setdefault((row["method"], row["preset"], row["seed"]), np.zeros((len(AXIS), len(AXIS))))
        picture[AXIS.index(row["alpha"]), AXIS.index(row["beta"])] = row["confidence"]
    return found


def _add(path: Path, new: dict[Key, Array]) -> None:
    """Add pictures; the file is replaced atomically."""
    points = [
        (*key, AXIS[i], AXIS[j], float(value))
        for key, picture in sorted((_pictures(path) | new).items())
        for (i, j), value in np.ndenumerate(picture)
    ]
    names = ("method", "preset", "seed", "alpha", "beta", "confidence")
    save_table(path, dict(zip(names, zip(*points, strict=True), strict=True)))


EXPERIMENT = PerNetwork(name="plane", methods=("ova", "slova_raw"), done=done, rows=rows)
