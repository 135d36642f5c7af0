"""The sets a trained network is asked about: the clean test set, shifted versions of it, and sets that show something
else."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from slova.heads import NONE
from slova_bench import data, shifts
from slova_bench.labels import PAPER_SHIFTS as PAPER
from slova_bench.pipeline import Bench

__all__ = ["DIRECTION", "PAPER", "TestSet", "clean", "foreign_sets", "shifted_sets"]

SEVERITIES = (1, 2, 3, 4, 5)
DIRECTION = "direction"
DIRECTIONS = 500  # images from which a direction is followed


@dataclass(frozen=True)
class TestSet:
    """A set by its name, and how far it is shifted: `shift` is empty and `level` 0 for images as they are."""

    __test__ = False  # not a test, whatever pytest thinks of its name

    test: str
    shift: str = ""
    level: float = 0

    def load(self, bench: Bench) -> tuple[Tensor, Tensor]:
        """Images and labels; NONE for every image that belongs to no class of the training set."""
        base = bench.load(bench.setting.test if self.is_made else self.test)
        if self.is_made:
            family = shifts.family(bench.setting.name)
            return shifts.foreign(base.images, self.test, family=family), base.labels * 0 + NONE
        if not self.shift:
            foreign = self.test.partition("-")[0] != bench.setting.name
            return base.images, base.labels * 0 + NONE if foreign else base.labels
        if self.shift == DIRECTION:
            images, labels = base.images[:DIRECTIONS], base.labels[:DIRECTIONS]
            return shifts.directions(images, [self.level])[0], labels
        return self._shifted(bench, base), base.labels

    @property
    def is_made(self) -> bool:
        """Made from the test set's shape rather than loaded: noise and the like."""
        return self.test not in data.names()

    def _shifted(self, bench: Bench, base: data.Split) -> Tensor:
        what = {"images": self.test, "limit": bench.limit, "shift": self.shift, "level": self.level}
        corruption = shifts.Corruption(self.shift, int(self.level), family=shifts.family(bench.setting.name))
        found: Tensor = bench.store.get("images", what, lambda: {"images": corruption(base.images)})["images"]
        return found


def clean(bench: Bench) -> list[TestSet]:
    return [TestSet(bench.setting.test)]


def shifted_sets(bench: Bench) -> list[TestSet]:
    """The clean set, and every shift this data set has at every severity."""
    names = shifts.family(bench.setting.name).names
    return clean(bench) + [TestSet(bench.setting.test, name, level) for name in names for level in SEVERITIES]


def foreign_sets(bench: Bench) -> list[TestSet]:
    """The clean set, the other data sets that are there, and what is made from nothing."""
    made = shifts.family(bench.setting.name).foreign
    return clean(bench) + [TestSet(name) for name in (*bench.foreign, *made)]
