"""Everything a folder of results holds, for those who draw and write: rows, histograms, planes, records, and the
paper's own numbers. Nothing here needs PyTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from slova.bench.histograms import Histogram, Histograms
from slova.bench.parquet import load_table
from slova.bench.results import Results, ResultsError, Row

__all__ = ["Evidence", "MissingRowsError", "Plane"]

PAPER = "paper"
QUICK = "-quick"


class MissingRowsError(LookupError):
    """What was asked for has not been run; the message says how to."""


@dataclass(frozen=True)
class Plane:
    """Mean confidence on planes through three images, by alpha and beta, for one network of a method."""

    train: str
    method: str
    variant: str
    seed: int
    points: tuple[tuple[float, float, float], ...]  # alpha, beta, confidence


@dataclass(frozen=True)
class Evidence:
    """The results of every experiment in a folder, by the name of its file (`shift-cifar10`).

    Those of a quick run count only where there are no others.
    """

    folder: Path
    names: tuple[str, ...]
    _read: dict[str, list[Row]] = field(default_factory=dict, compare=False, repr=False)  # rows by name, read once

    @classmethod
    def read(cls, folder: str | Path) -> Evidence:
        """Looks the folder over; files are read when they are asked for."""
        folder = Path(folder)
        closed = {path.stem for path in folder.glob("[!.]*.csv")} - {PAPER}
        journals = {path.name.removeprefix(".").removesuffix(".journal.csv") for path in folder.glob(".*.journal.csv")}
        there = closed | journals
        kept = [name for name in there if not (name.endswith(QUICK) and name.removesuffix(QUICK) in there)]
        return cls(folder, tuple(sorted(kept)))

    def sets(self, experiment: str) -> tuple[str, ...]:
        """The data sets that networks of this experiment were trained on (`cifar10`), without the word quick."""
        found = [name.removesuffix(QUICK).partition("-") for name in self.names]
        return tuple(on for name, _, on in found if name == experiment)

    def rows(self, experiment: str, on: str) -> list[Row]:
        """Those of one experiment on one training set, of an interrupted run too."""
        name = self._name(experiment, on)
        if name not in self._read:
            self._read[name] = Results(self.folder, name).read()
        return self._read[name]

    def histograms(self, experiment: str, on: str) -> list[Histogram]:
        """One for each cell; none where the rows were made without."""
        return Histograms(self.folder / f"{self._name(experiment, on)}.csv").read()

    def record(self, experiment: str, on: str) -> Mapping[str, Any]:
        """Who made these rows, and with what; empty where nobody wrote it down."""
        path = self.folder / f"{self._name(experiment, on)}.json"
        if not path.exists():
            return {}
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise ResultsError(f"{path} is not a record: {error}") from None

    def planes(self, on: str) -> list[Plane]:
        """The pictures of the experiment `plane`."""
        path = self.folder / f"{self._name('plane', on)}-picture.parquet"
        points: dict[tuple[str, str, int], list[tuple[float, float, float]]] = {}
        for row in load_table(path) if path.exists() else []:
            key = (row["method"], row["variant"], row["seed"])
            points.setdefault(key, []).append((row["alpha"], row["beta"], row["confidence"]))
        return [Plane(f"{on}-train", *key, tuple(sorted(found))) for key, found in sorted(points.items())]

    @cached_property
    def paper(self) -> list[Row]:
        """The published numbers, in the same columns."""
        return Results(self.folder, PAPER).read()

    def _name(self, experiment: str, on: str) -> str:
        for name in (f"{experiment}-{on}", f"{experiment}-{on}{QUICK}"):
            if name in self.names:
                return name
        raise MissingRowsError(
            f"there are no rows of {experiment} on {on} in {self.folder}: run slova bench run {experiment} --on {on}"
        )
