"""The figures of the comparison, drawn from stored results. Their names, captions and plots are in `figures.toml`.

The functions that draw them are imported when a figure is drawn, because altair is slow to import.

    for exhibit in FIGURES: exhibit.make(ResultsFolder.read("results"), "cifar10")
"""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from slova_bench.exhibit import Exhibit, Kind
from slova_bench.figures import sources
from slova_bench.figures.sources import METRICS, Source, histograms, ranking, rows
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.ranks import shift_comparison, uncalibrated_comparison

__all__ = ["FIGURES"]

SOURCES: dict[str, Source] = {  # what each figure is drawn of
    "plane": sources.planes,
    "directions": rows("directions", "mmc", "confidence_std"),
    "shift": sources.usual_rows,
    "shift-beyond": sources.beyond_rows,
    "critical-distance-shift": ranking("shift", shift_comparison),
    "critical-distance-ood": ranking("ood", uncalibrated_comparison),
    "ablation": rows("ablation", *METRICS),
    "calibration-map": rows("maps", "observed", "calibrated"),
    "reliability": histograms(False),
    "reliability-shift": histograms(True),
    "risk-coverage": histograms(False, True),
    "ignorance": sources.curves,
    "stability": rows("stability", "nll", "ece", "brier"),
}


def _figure(name: str, *, plot: str, experiment: str = "", **words: Any) -> Exhibit:
    """`plot` is a function of a file here, "comparisons.shift"; it draws what its source returns."""

    def make(results: ResultsFolder, on: str) -> dict[str, Any]:
        found = [SOURCES[name](results, on)] if experiment else []
        module, _, function = plot.partition(".")
        drawn: dict[str, Any] = getattr(import_module(f"slova_bench.figures.{module}"), function)(*found)
        return drawn

    return Exhibit(Kind.FIGURE, name, experiment=experiment, make=make, **words)


FIGURES = tuple(
    _figure(name, **words)
    for name, words in tomllib.loads(Path(__file__).with_name("figures.toml").read_text(encoding="utf-8")).items()
)
