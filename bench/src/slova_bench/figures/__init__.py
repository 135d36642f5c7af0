"""The figures of the comparison, drawn from stored results.

The functions that draw them are imported when a figure is drawn, because altair is slow to import.

    for exhibit in FIGURES: exhibit.make(ResultsFolder.read("results"), "cifar10")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from slova_bench.exhibit import Exhibit, Kind
from slova_bench.figures import sources
from slova_bench.figures.sources import METRICS, Source, histograms, ranking, rows
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.ranks import shift_comparison, uncalibrated_comparison

__all__ = ["FIGURES"]

ABOUT = {
    "confidence-map": "Two classes with probabilities p(class 1) and p(class 2). One-vs-all is confident if one of "
    "them is large, SLOVA only if exactly one is.",
    "plane": "Mean confidence on planes through three test images: the first in the middle, the others one unit away "
    "along α and β. Far from the middle the confidence should be low.",
    "directions": "Confidence at x + α times a random direction, for test images x: mean and standard deviation over "
    "the images, cut off at 0 and 1. Theorem 3.1 concerns the right end.",
    "shift": "One box per method: quartiles over the kinds of shift at one severity, with whiskers from the least to "
    "the greatest value; every value is a mean over seeds. The arrow points in the better direction. More than eight "
    "methods are in columns with the same axes, SLOVA in each.",
    "shift-beyond": "The same for methods that the paper does not have, next to temperature scaling, the ensemble "
    "and SLOVA.",
    "critical-distance-shift": "Mean ranks by ECE, NLL and Brier score together, over the clean set and every shift "
    "and severity, seed by seed and then averaged. Methods in the shaded band cannot be distinguished from SLOVA; the "
    "cells share images and networks, so the band is narrower than it should be.",
    "critical-distance-ood": "Mean ranks by mean maximal confidence (MMC) on OOD images, where less is better. "
    "Methods in the shaded band cannot be distinguished from SLOVA. Over the pairs of a training set and an OOD set of "
    "the paper that have rows.",
    "ablation": "One box per method: quartiles over the clean set and all shifts and severities, with whiskers from "
    "the least to the greatest value; every value is a mean over seeds.",
    "calibration-map": "Dots are moving averages over the pairs of probability and hit of the validation set, for "
    "the first seed; the line is the fitted calibrator, in grey those of other seeds. On the right both axes are "
    "logarithmic; windows without hits are not shown.",
    "reliability": "Accuracy by confidence in twenty bins of equal width, with exact 95 % intervals for the number "
    "of images in the bin; grey: the distribution of the confidence. On the diagonal a method is calibrated.",
    "reliability-shift": "The same for all shifts and severities together.",
    "risk-coverage": "Predictions below a threshold of confidence are rejected: the error among the others by their "
    "share, at a hundred thresholds from 0.99 down. At most eight methods in a row, SLOVA in each.",
    "ignorance": "The calibration of a product of uniform numbers: exact, the paper's approximation, and a sum of "
    "powers fitted to the exact curve.",
    "stability": "Above by the number of terms M, below by the number of points n_b, the other as in the paper: "
    "means over seeds, with lines from the least to the greatest value. Dashed: the optimal fit, which has neither.",
}


def _figure(
    name: str, title: str, answers: str, experiment: str, plot: str, source: Source | None = None, across: bool = False
) -> Exhibit:
    """`plot` is a function of a file here, "comparisons.shift"; it draws what `source(results, on)` returns."""

    def make(results: ResultsFolder, on: str) -> dict[str, Any]:
        found = [source(results, on)] if source else []
        module, _, function = plot.partition(".")
        drawn: dict[str, Any] = getattr(import_module(f"slova_bench.figures.{module}"), function)(*found)
        return drawn

    return Exhibit(Kind.FIGURE, name, title, answers, experiment, make, ABOUT[name], across)


_MAP, _FIT = rows("maps", "observed", "calibrated"), rows("stability", "nll", "ece", "brier")
_FAR, _STEPS = rows("directions", "mmc", "confidence_std"), rows("ablation", *METRICS)
_BEYOND = "Accuracy and calibration under shift, beyond the paper"
FIGURES = (
    _figure("confidence-map", "Confidence over two probabilities", "Fig. 1, Sec. 1", "", "curves.confidence_map"),
    _figure(
        "plane", "Confidence on planes through test images", "Fig. 2, Sec. 1", "plane", "curves.planes", sources.planes
    ),
    _figure(
        "directions", "Confidence along random directions", "Fig. 4, Sec. 3.5", "directions", "curves.directions", _FAR
    ),
    _figure(
        "shift",
        "Accuracy and calibration under shift",
        "Fig. 5, Sec. 4.1",
        "shift",
        "comparisons.shift",
        sources.usual_rows,
    ),
    _figure("shift-beyond", _BEYOND, "Sec. 4.1", "shift", "comparisons.shift", sources.beyond_rows),
    _figure(
        "critical-distance-shift",
        "Ranks under shift",
        "Fig. 6, Sec. 4.1",
        "shift",
        "comparisons.critical",
        ranking("shift", shift_comparison),
    ),
    _figure(
        "critical-distance-ood",
        "Ranks on OOD data",
        "Fig. 7, Sec. 4.2",
        "ood",
        "comparisons.critical",
        ranking("ood", uncalibrated_comparison),
        True,
    ),
    _figure("ablation", "Effect of each step", "Fig. 8, Sec. 4.3", "ablation", "comparisons.steps", _STEPS),
    _figure("calibration-map", "Calibrators and their data", "Sec. 3.6", "maps", "curves.maps", _MAP),
    _figure(
        "reliability",
        "Reliability on the clean test set",
        "Sec. 4.1",
        "shift",
        "comparisons.reliability",
        histograms(False),
    ),
    _figure(
        "reliability-shift", "Reliability under shift", "Sec. 4.1", "shift", "comparisons.reliability", histograms(True)
    ),
    _figure(
        "risk-coverage",
        "Error among the accepted predictions",
        "Sec. 4.1",
        "shift",
        "comparisons.risk_coverage",
        histograms(False, True),
    ),
    _figure(
        "ignorance",
        "The calibration curve of complete ignorance",
        "Fig. 9, App. A",
        "appendix",
        "curves.ignorance",
        sources.curves,
        True,
    ),
    _figure(
        "stability", "The paper's fit by its hyper-parameters", "Fig. 10, App. B", "stability", "curves.stability", _FIT
    ),
)
