"""The figures of the comparison, one file each with a `plot`, drawn from stored results.

for drawing in FIGURES:
    save(drawing.draw(ResultsFolder.read("results"), "cifar10"), drawing.name)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slova_bench.figures import (
    confidence_map,
    critical,
    directions,
    ignorance,
    maps,
    planes,
    reliability,
    risk_coverage,
    shift,
    sources,
    stability,
)
from slova_bench.figures.drawing import save
from slova_bench.results_folder import ResultsFolder

__all__ = ["FIGURES", "Drawing", "save"]


@dataclass(frozen=True)
class Drawing:
    """A figure for the networks trained on one data set, with its title and caption.

    `name` is its file name without suffix, `answers` the figure and section of the paper, `experiment` the one it
    needs, if any. `draw(results, on)` raises MissingRowsError without rows. With `across` it is one figure for all
    training sets.
    """

    name: str
    title: str
    answers: str
    experiment: str
    caption: str
    draw: Callable[[ResultsFolder, str], dict[str, Any]]
    across: bool = False

    def sets(self, results: ResultsFolder) -> tuple[str, ...]:
        """The training sets it is drawn for; an empty name if it is for all of them or needs no rows."""
        found = results.sets(self.experiment)
        return ("",) if not self.experiment or (self.across and found) else found


FIGURES = (
    Drawing(
        "confidence-map",
        "Confidence over two probabilities",
        "Fig. 1, Sec. 1",
        "",
        "Two classes with probabilities p(class 1) and p(class 2). One-vs-all is confident if one of them is large, "
        "SLOVA only if exactly one is.",
        lambda results, on: confidence_map.plot(),
    ),
    Drawing(
        "plane",
        "Confidence on planes through test images",
        "Fig. 2, Sec. 1",
        "plane",
        "Mean confidence on planes through three test images: the first in the middle, the others one unit away "
        "along α and β. Far from the middle the confidence should be low.",
        lambda results, on: planes.plot(sources.planes(results, on)),
    ),
    Drawing(
        "directions",
        "Confidence along random directions",
        "Fig. 4, Sec. 3.5",
        "directions",
        "Confidence at x + α times a random direction, for test images x: mean and standard deviation over the images, "
        "cut off at 0 and 1. Theorem 3.1 concerns the right end.",
        lambda results, on: directions.plot(sources.rows(results, on, "directions", directions.METRICS)),
    ),
    Drawing(
        "shift",
        "Accuracy and calibration under shift",
        "Fig. 5, Sec. 4.1",
        "shift",
        "One box per method: quartiles over the kinds of shift at one severity, with whiskers from the least to the "
        "greatest value; every value is a mean over seeds. The arrow points in the better direction. More than eight "
        "methods are in columns with the same axes, SLOVA in each.",
        lambda results, on: shift.plot(sources.usual_rows(results, on, shift.METRICS)),
    ),
    Drawing(
        "shift-beyond",
        "Accuracy and calibration under shift, beyond the paper",
        "Sec. 4.1",
        "shift",
        "The same for methods that the paper does not have, next to temperature scaling, the ensemble and SLOVA.",
        lambda results, on: shift.plot(sources.new_rows(results, on, shift.METRICS)),
    ),
    Drawing(
        "critical-distance-shift",
        "Ranks under shift",
        "Fig. 6, Sec. 4.1",
        "shift",
        "Mean ranks by ECE, NLL and Brier score together, over the clean set and every shift and severity, means over "
        "seeds. Methods in the shaded band cannot be distinguished from SLOVA; the cells share images and networks, so "
        "the band is narrower than it should be.",
        lambda results, on: critical.plot(sources.shift_verdict(results, on)),
    ),
    Drawing(
        "critical-distance-ood",
        "Ranks on OOD data",
        "Fig. 7, Sec. 4.2",
        "ood",
        "Mean ranks by mean maximal confidence (MMC) on OOD images, where less is better. Methods in the "
        "shaded band cannot be distinguished from SLOVA. Over all training sets and their OOD sets.",
        lambda results, on: critical.plot(sources.ood_verdict(results, on)),
        across=True,
    ),
    Drawing(
        "ablation",
        "Effect of each step",
        "Fig. 8, Sec. 4.3",
        "ablation",
        "One box per method: quartiles over the clean set and all shifts and severities, with whiskers from the "
        "least to the greatest value; every value is a mean over seeds.",
        lambda results, on: shift.plot_steps(sources.rows(results, on, "ablation", shift.METRICS)),
    ),
    Drawing(
        "calibration-map",
        "Calibrators and their data",
        "Sec. 3.6",
        "maps",
        "Dots are moving averages over the pairs of probability and hit of the validation set, for the first seed; the "
        "line is the fitted calibrator, in grey those of other seeds. On the right both axes are logarithmic; windows "
        "without hits are not shown.",
        lambda results, on: maps.plot(sources.rows(results, on, "maps", maps.METRICS)),
    ),
    Drawing(
        "reliability",
        "Reliability on the clean test set",
        "Sec. 4.1",
        "shift",
        "Accuracy by confidence in twenty bins of equal width, with exact 95 % intervals for the number of images in "
        "the bin; grey: the distribution of the confidence. On the diagonal a method is calibrated.",
        lambda results, on: reliability.plot(sources.histograms(results, on, shifted=False)),
    ),
    Drawing(
        "reliability-shift",
        "Reliability under shift",
        "Sec. 4.1",
        "shift",
        "The same for all shifts and severities together.",
        lambda results, on: reliability.plot(sources.histograms(results, on, shifted=True)),
    ),
    Drawing(
        "risk-coverage",
        "Error among the accepted predictions",
        "Sec. 4.1",
        "shift",
        "Predictions below a threshold of confidence are rejected: the error among the others by their share, at a "
        "hundred thresholds from 0.99 down. At most eight methods in a row, SLOVA in each.",
        lambda results, on: risk_coverage.plot(sources.histograms(results, on)),
    ),
    Drawing(
        "ignorance",
        "The calibration curve of complete ignorance",
        "Fig. 9, App. A",
        "appendix",
        "The calibration of a product of uniform numbers: exact, the paper's approximation, and a sum of powers "
        "fitted to the exact curve.",
        lambda results, on: ignorance.plot(sources.curves(results, on)),
    ),
    Drawing(
        "stability",
        "The paper's fit by its hyper-parameters",
        "Fig. 10, App. B",
        "stability",
        "Above by the number of terms M, below by the number of points n_b, the other as in the paper: means over "
        "seeds, with lines from the least to the greatest value. Dashed: the optimal fit, which has neither.",
        lambda results, on: stability.plot(sources.rows(results, on, "stability", stability.METRICS)),
    ),
)
