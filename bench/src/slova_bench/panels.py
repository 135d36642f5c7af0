"""Panels of the page: the numbers of an experiment on one training set, or the command to run where there are none.
They are listed in `panels.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

from slova_bench.exhibit import Exhibit, Kind
from slova_bench.frame import Frame, Name, frame
from slova_bench.results_folder import MissingRowsError, ResultsFolder

__all__ = ["CONFIDENT", "PANELS", "Source", "panel"]

CONFIDENT = ("shift", "ood", "ablation")  # experiments with histograms


class Source(NamedTuple):
    """The results of one experiment on one training set. `chart` is how they are drawn; `missing` is the command to run
    where there are none."""

    chart: str
    rows: Frame
    histograms: Frame
    planes: Frame
    missing: str = ""

    @property
    def names(self) -> list[Name]:
        """The series that are drawn; where the variant is the axis, one per method."""
        pairs = self.rows[["method", "preset" if self.chart == "variants" else "variant"]].drop_duplicates()
        return list(pairs.itertuples(index=False, name=None))


def panel(experiment: str, chart: str, title: str, about: str = "") -> Exhibit:
    """A panel of the page: the numbers of one experiment. It is there without rows, too, with the command to run."""

    def make(results: ResultsFolder, on: str) -> Source:
        nothing = frame(())
        try:
            rows, histograms = results.rows(experiment, on), results.histograms(experiment, on)
        except MissingRowsError as error:
            return Source(chart, nothing, nothing, nothing, str(error))
        return Source(chart, rows, histograms, results.planes(on) if chart == "plane" else nothing)

    return Exhibit(Kind.PANEL, experiment, title, "", experiment, make, about)


_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PANELS = tuple(panel(experiment, **words) for experiment, words in _WORDS.items())
