"""Confidence on planes through three test images (Fig. 2), around the first of them: the mean over planes at each
point.

The rows are means over rings, `level` the distance from the middle in units of the other two images; the whole picture,
by alpha and beta, lies beside them as a Parquet file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from slova.backend import Array
from slova.bench import shifts
from slova.bench.method import Method
from slova.bench.pipeline import Bench, Trained, calibration, pooled
from slova.bench.results import Cell, Results, Row
from slova.bench.tables import save_table

AXIS = tuple(float(value) for value in np.linspace(-20, 20, 21))
PLANES = 50


@dataclass(frozen=True)
class Plane:
    name: str = "plane"
    methods: tuple[str, ...] = ("ova", "slova_raw")

    def run(
        self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]
    ) -> Iterator[list[Row]]:
        seeds, known = list(seeds), {row.key for row in results.read()}
        pictures = []
        for seed in seeds:
            for method in methods:
                picture = _picture(method, bench, bench.trained(method, seed))
                pictures.append((method.name, seed, picture))
                rows = [row for row in _rings(self._cell(method, bench, seed), picture) if row.key not in known]
                results.append(rows)
                yield rows
        save_table(results.path.with_suffix(".parquet"), _points(pictures))

    def _cell(self, method: Method, bench: Bench, seed: int) -> Cell:
        return Cell(self.name, method.name, "", bench.setting.train, bench.setting.test, "plane", 0, seed, PLANES)


def _picture(method: Method, bench: Bench, trained: Trained) -> Array:
    """Mean confidence (alphas, betas)."""
    images = bench.load(bench.setting.test).images
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))[: 3 * PLANES]
    triplets = images[order].view(-1, 3, *images.shape[1:])
    fitted, total = calibration(method, bench, trained), 0.0
    for plane in shifts.planes(triplets, AXIS, AXIS):
        log_probs = pooled(method.head, trained.outputs(plane.flatten(0, 1)).logits).log_probs
        total = total + np.exp(log_probs if fitted is None else fitted(log_probs)).max(axis=-1)
    return np.asarray(total).reshape(len(AXIS), len(AXIS)) / len(triplets)


def _rings(cell: Cell, picture: Array) -> Iterator[Row]:
    axis = np.array(AXIS)
    ring = np.round(np.hypot(axis[:, None], axis[None, :]) / 2) * 2
    for level in np.unique(ring):
        yield Row.of(cell._replace(level=float(level)), "mmc", picture[ring == level].mean())


def _points(pictures: list[tuple[str, int, Array]]) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {"method": [], "seed": [], "alpha": [], "beta": [], "confidence": []}
    for name, seed, picture in pictures:
        for (i, j), value in np.ndenumerate(picture):
            for column, entry in zip(columns.values(), (name, seed, AXIS[i], AXIS[j], float(value)), strict=True):
                column.append(entry)
    return columns


EXPERIMENT = Plane()
