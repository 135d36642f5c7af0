"""The contents of a results folder: rows, histograms, planes and records, and the published numbers of the paper, which
come with the package. PyTorch is not needed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from slova_bench.frame import Frame, frame, histogram_frame
from slova_bench.histograms import Histograms
from slova_bench.results import Results, ResultsError

__all__ = ["MissingRowsError", "ResultsFolder", "parts", "read_record"]

PAPER = "paper"
EMBEDDED, QUICK = "-embedded", "-quick"
KINDS = ("", EMBEDDED, QUICK)  # of files, by priority
INSTEAD = {"ablation": "shift"}  # which has the same methods and more on the same sets
# Presets that train the same methods otherwise: shown beside the others only where asked for.
APART = ("authors", "interpolated", "paper", "searched", "small_batch")


class MissingRowsError(LookupError):
    """The rows do not exist; the message states the command that computes them."""


@dataclass(frozen=True)
class ResultsFolder:
    """The results of every experiment in a folder, by file name (`shift-cifar10`).

    Results from stored logits are used only without full ones, and those of quick runs only without either.
    """

    folder: Path
    names: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False)  # and what is used instead
    _read: dict[str, Frame] = field(default_factory=dict, compare=False, repr=False)  # rows by name, cached

    @classmethod
    def read(cls, folder: str | Path) -> ResultsFolder:
        """List the folder. Files are read on first access."""
        folder = Path(folder)
        closed = {path.stem for path in folder.glob("[!.]*.csv")} - {PAPER}
        journals = {path.name.removeprefix(".").removesuffix(".journal.csv") for path in folder.glob(".*.journal.csv")}
        kept = {name: _first(name, closed | journals) for name in sorted(closed | journals)}
        left_out = {name: other for name, other in kept.items() if name != other}
        return cls(folder, tuple(name for name in kept if name not in left_out), left_out)

    def sets(self, experiment: str) -> tuple[str, ...]:
        """The training sets of an experiment (`cifar10`)."""
        return tuple(on for name, on, _ in map(parts, self.names) if name == experiment)

    def mark(self, experiment: str, on: str) -> str:
        """The suffix of a title for rows of a quick run; with an empty training set, if any are."""
        kinds = {kind for name, where, kind in map(parts, self.names) if name == experiment and on in ("", where)}
        return f" ({QUICK[1:]})" if QUICK in kinds else ""

    def rows(self, experiment: str, on: str, *, preset: str | None = None) -> Frame:
        """The rows of one experiment on one training set, including interrupted runs: those of a preset as if it were
        the only one, or by default all but those of `APART`."""
        name = self._name(experiment, on)
        if name not in self._read:
            self._read[name] = frame(Results(self.folder, name).read())
        found = self._read[name]
        if preset is not None:
            own = found[found["preset"] == preset]
            return own.assign(preset="", variant=own["variant"].str.removeprefix(preset).str.strip())
        return found[~found["preset"].isin(APART)]

    def run_of(self, experiment: str, on: str) -> str:
        """The experiment that provides its rows: itself or, where it was not run, one that includes them."""
        other = INSTEAD.get(experiment, experiment)
        return other if on in self.sets(other) and on not in self.sets(experiment) else experiment

    def rows_of(self, experiment: str, on: str) -> Frame:
        return self.rows(self.run_of(experiment, on), on)

    def sets_of(self, experiment: str) -> tuple[str, ...]:
        """The training sets with such rows."""
        return tuple(dict.fromkeys((*self.sets(experiment), *self.sets(INSTEAD.get(experiment, "")))))

    def histograms(self, experiment: str, on: str) -> Frame:
        """The histograms of these rows, one per cell; empty if none were stored."""
        found = histogram_frame(Histograms(self.folder / f"{self._name(experiment, on)}.csv").read())
        return found[~found["preset"].isin(APART)]

    def record(self, experiment: str, on: str) -> Mapping[str, Any]:
        """The record of the runs behind the rows; empty without one."""
        return read_record(self.folder / f"{self._name(experiment, on)}.json")

    def planes(self, on: str) -> Frame:
        """The pictures of the experiment `plane`: mean confidence as `value` by alpha and beta, for each network."""
        path = self.folder / f"{self._name('plane', on)}-picture.parquet"
        if not path.exists():
            return pd.DataFrame()
        return pd.read_parquet(path).rename(columns={"preset": "variant", "confidence": "value"})

    @cached_property
    def paper(self) -> Frame:
        """The published numbers of the paper, in the same columns."""
        return frame(Results(Path(__file__).parent, PAPER).read())

    def _name(self, experiment: str, on: str) -> str:
        for kind in KINDS:
            if (name := f"{experiment}-{on}{kind}") in self.names:
                return name
        raise MissingRowsError(
            f"there are no rows of {experiment} on {on} in {self.folder}: run slova bench run {experiment} --on {on}"
        )


def read_record(path: Path) -> dict[str, Any]:
    """The record of the runs in a file; empty without one."""
    if not path.exists():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ResultsError(f"{path} is not a record: {error}") from None


def parts(name: str) -> tuple[str, str, str]:
    """Experiment, training set and kind of a file's name.

    >>> parts("shift-cifar10-embedded"), parts("ood-digits")
    (('shift', 'cifar10', '-embedded'), ('ood', 'digits', ''))
    """
    kind = next((kind for kind in KINDS if kind and name.endswith(kind)), "")
    experiment, _, on = name.removesuffix(kind).partition("-")
    return experiment, on, kind


def _first(name: str, there: Collection[str]) -> str:
    """The file with priority among those of the same experiment and training set."""
    whole = name.removesuffix(parts(name)[2])
    return next(whole + kind for kind in KINDS if whole + kind in there)
