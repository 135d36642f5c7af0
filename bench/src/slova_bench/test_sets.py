"""Test sets: the clean one, shifted versions of it, and out-of-distribution (OOD) sets."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import torch
from torch import Tensor

from slova.heads import NONE
from slova_bench import data, shifts
from slova_bench.pipeline import Bench

__all__ = ["DIRECTION", "TestSet", "clean", "ood_sets", "prepare", "shifted_sets"]

SEVERITIES = (1, 2, 3, 4, 5)
DIRECTION = "direction"
DIRECTIONS = 500  # number of images with a random direction


@dataclass(frozen=True)
class TestSet:
    """A test set by name, with its shift and level; unshifted sets have an empty `shift` and level 0."""

    __test__ = False  # pytest: not a test class

    test: str
    shift: str = ""
    level: float = 0

    def load(self, bench: Bench) -> tuple[Tensor, Tensor]:
        """Images and labels. OOD images are labelled NONE."""
        base = bench.load(bench.dataset.test if self.is_synthetic else self.test)
        if self.is_synthetic:
            family = shifts.family(bench.dataset.name)
            return shifts.ood_images(base.images, self.test, family=family), base.labels * 0 + NONE
        if not self.shift:
            outside = self.test.partition("-")[0] != bench.dataset.name
            return base.images, base.labels * 0 + NONE if outside else base.labels
        if self.shift == DIRECTION:
            images, labels = base.images[:DIRECTIONS], base.labels[:DIRECTIONS]
            return shifts.directions(images, self.level), labels
        return self._shifted(bench, base), base.labels

    @property
    def is_synthetic(self) -> bool:
        """Whether the images are generated rather than loaded, for example noise."""
        return self.test not in data.names()

    def _shifted(self, bench: Bench, base: data.Split) -> Tensor:
        what = {"images": self.test, "limit": bench.limit, "shift": self.shift, "level": self.level}
        family = shifts.family(bench.dataset.name)

        def compute() -> dict[str, Tensor]:
            return {"images": shifts.corrupt(base.images, self.shift, int(self.level), family=family)}

        found: Tensor = bench.store.get("images", what, compute)["images"]
        return found


def clean(bench: Bench) -> list[TestSet]:
    return [TestSet(bench.dataset.test)]


def shifted_sets(bench: Bench) -> list[TestSet]:
    """The clean set, and every shift of this data set at every severity."""
    names = shifts.family(bench.dataset.name).names
    return clean(bench) + [TestSet(bench.dataset.test, name, level) for name in names for level in SEVERITIES]


def ood_sets(bench: Bench) -> list[TestSet]:
    """The clean set, the OOD data sets that are available, and the synthetic OOD sets."""
    synthetic = shifts.family(bench.dataset.name).ood
    return clean(bench) + [TestSet(name) for name in (*bench.ood, *synthetic)]


def prepare(bench: Bench, workers: int) -> Iterator[TestSet]:
    """Store every shifted set of the data set, made by several processes so that a GPU does not wait for them, and
    yield each when it is done."""
    if bench.store.folder is None:
        raise ValueError("a store is needed to keep the images")
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        jobs = {pool.submit(_make, bench, test): test for test in shifted_sets(bench) if test.shift}
        for job in as_completed(jobs):
            job.result()
            yield jobs[job]


def _make(bench: Bench, test: TestSet) -> None:
    test.load(bench)  # which stores the images
