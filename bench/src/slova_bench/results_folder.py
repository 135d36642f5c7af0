"""Everything a folder of results holds, for those who draw and write: rows, histograms, planes and records; and the
paper's own numbers, which come with the package. Nothing here needs PyTorch."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from slova_bench.histograms import Histogram, Histograms
from slova_bench.parquet import load_table
from slova_bench.results import Results, ResultsError, Row

__all__ = ["MissingRowsError", "Plane", "ResultsFolder", "parts"]

PAPER = "paper"
EMBEDDED, QUICK = "-embedded", "-quick"
KINDS = ("", EMBEDDED, QUICK)  # of files; the first that is there counts


class MissingRowsError(LookupError):
    """What was asked for has not been run; the message says how to."""


@dataclass(frozen=True)
class Plane:
    """Mean confidence on planes through three images, by alpha and beta, for one network of a method."""

    train: str
    method: str
    preset: str
    seed: int
    points: tuple[tuple[float, float, float], ...]  # alpha, beta, confidence


@dataclass(frozen=True)
class ResultsFolder:
    """The results of every experiment in a folder, by the name of its file (`shift-cifar10`).

    Those from stored answers count only where there are no real ones, and those of a quick run where there are neither.
    """

    folder: Path
    names: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False)  # and what counts in its place
    _read: dict[str, list[Row]] = field(default_factory=dict, compare=False, repr=False)  # rows by name, read once

    @classmethod
    def read(cls, folder: str | Path) -> ResultsFolder:
        """Looks the folder over; files are read when they are asked for."""
        folder = Path(folder)
        closed = {path.stem for path in folder.glob("[!.]*.csv")} - {PAPER}
        journals = {path.name.removeprefix(".").removesuffix(".journal.csv") for path in folder.glob(".*.journal.csv")}
        kept = {name: _first(name, closed | journals) for name in sorted(closed | journals)}
        left_out = {name: other for name, other in kept.items() if name != other}
        return cls(folder, tuple(name for name in kept if name not in left_out), left_out)

    def sets(self, experiment: str) -> tuple[str, ...]:
        """The data sets that networks of this experiment were trained on (`cifar10`), whatever the kind of its file."""
        return tuple(on for name, on, _ in map(parts, self.names) if name == experiment)

    def mark(self, experiment: str, on: str) -> str:
        """What to add to a title: that the rows are of a quick run; with no training set, that some are."""
        kinds = {kind for name, where, kind in map(parts, self.names) if name == experiment and on in ("", where)}
        return f" ({QUICK[1:]})" if QUICK in kinds else ""

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
            key = (row["method"], row["preset"], row["seed"])
            points.setdefault(key, []).append((row["alpha"], row["beta"], row["confidence"]))
        return [Plane(f"{on}-train", *key, tuple(sorted(found))) for key, found in sorted(points.items())]

    @cached_property
    def paper(self) -> list[Row]:
        """The published numbers, in the same columns."""
        return Results(Path(__file__).parent, PAPER).read()

    def _name(self, experiment: str, on: str) -> str:
        for kind in KINDS:
            if (name := f"{experiment}-{on}{kind}") in self.names:
                return name
        raise MissingRowsError(
            f"there are no rows of {experiment} on {on} in {self.folder}: run slova bench run {experiment} --on {on}"
        )


def parts(name: str) -> tuple[str, str, str]:
    """Experiment, training set and kind of a file's name.

    >>> parts("shift-cifar10-embedded"), parts("ood-digits")
    (('shift', 'cifar10', '-embedded'), ('ood', 'digits', ''))
    """
    kind = next((kind for kind in KINDS if kind and name.endswith(kind)), "")
    experiment, _, on = name.removesuffix(kind).partition("-")
    return experiment, on, kind


def _first(name: str, there: Collection[str]) -> str:
    """The file that counts among those of the same experiment and training set."""
    whole = name.removesuffix(parts(name)[2])
    return next(whole + kind for kind in KINDS if whole + kind in there)
