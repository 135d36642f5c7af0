"""The figures of the comparison, one file each with a `plot`, drawn from results alone.

for drawing in FIGURES:
    save(drawing.draw(ResultsFolder.read("results"), "cifar10"), drawing.name)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from slova_bench.figures import (
    ablation,
    appendix,
    confidence_map,
    critical,
    directions,
    maps,
    planes,
    reliability,
    risk_coverage,
    shift,
    sources,
    stability,
)
from slova_bench.figures.style import save
from slova_bench.results_folder import ResultsFolder

__all__ = ["FIGURES", "Drawing", "save"]


@dataclass(frozen=True)
class Drawing:
    """A figure for the networks trained on one data set, and what to say of it.

    `name` is its file's, without a suffix; `answers` the paper's figure and section; `experiment` the one it needs, if
    any. `draw(evidence, on)` raises MissingRowsError where that has not been run. `across` is one figure for all
    training sets together.
    """

    name: str
    title: str
    answers: str
    experiment: str
    caption: str
    draw: Callable[[ResultsFolder, str], Figure]
    across: bool = False

    def sets(self, evidence: ResultsFolder) -> tuple[str, ...]:
        """The training sets it is drawn for; one without a name where it is for all, or needs no rows."""
        found = evidence.sets(self.experiment)
        return ("",) if not self.experiment or (self.across and found) else found


FIGURES = (
    Drawing(
        "confidence-map",
        "Confidence over two probabilities",
        "Fig. 1, Sec. 1",
        "",
        "Two classes with probabilities p(class 1) and p(class 2). One-vs-all is sure as soon as one of them is large; "
        "SLOVA only if exactly one is.",
        lambda evidence, on: confidence_map.plot(),
    ),
    Drawing(
        "plane",
        "Confidence on planes through test images",
        "Fig. 2, Sec. 1",
        "plane",
        "Mean confidence on planes through three test images: the first in the middle, the others one unit away "
        "along α and β. Far from the middle there is nothing to be sure of.",
        lambda evidence, on: planes.plot(sources.planes(evidence, on)),
    ),
    Drawing(
        "directions",
        "Confidence along random directions",
        "Fig. 4, Sec. 3.5",
        "directions",
        "Confidence at x + α times a random direction, for test images x: mean and standard deviation over the images, "
        "cut off at 0 and 1. Theorem 3.1 is about the right end.",
        lambda evidence, on: directions.plot(sources.rows(evidence, on, "directions", directions.METRICS)),
    ),
    Drawing(
        "shift",
        "Accuracy and calibration under shift",
        "Fig. 5, Sec. 4.1",
        "shift",
        "A box is a method: the quartiles over the kinds of shift at one severity, with whiskers from the least to the "
        "greatest; every value is a mean over seeds. The arrow says which way is better.",
        lambda evidence, on: shift.plot(sources.usual_rows(evidence, on, shift.METRICS)),
    ),
    Drawing(
        "shift-beyond",
        "Accuracy and calibration under shift, beyond the paper",
        "Sec. 4.1",
        "shift",
        "The same for methods that the paper does not have, beside temperature scaling, the ensemble and SLOVA.",
        lambda evidence, on: shift.plot(sources.new_rows(evidence, on, shift.METRICS)),
    ),
    Drawing(
        "critical-distance-shift",
        "Ranks under shift",
        "Fig. 6, Sec. 4.1",
        "shift",
        "Mean ranks by ECE, NLL and Brier score together, over the clean set and every shift and severity, means over "
        "seeds. Methods in the shaded band cannot be told from SLOVA; the cells share their images and networks, so "
        "the band is narrower than it should be.",
        lambda evidence, on: critical.plot(sources.shift_verdict(evidence, on)),
    ),
    Drawing(
        "critical-distance-ood",
        "Ranks on foreign data",
        "Fig. 7, Sec. 4.2",
        "ood",
        "Mean ranks by mean maximal confidence on images that belong to no class, where less is better. Methods in the "
        "shaded band cannot be told from SLOVA. Over all training sets and data sets foreign to them.",
        lambda evidence, on: critical.plot(sources.foreign_verdict(evidence, on)),
        across=True,
    ),
    Drawing(
        "ablation",
        "What each step adds",
        "Fig. 8, Sec. 4.3",
        "ablation",
        "A box is a method: the quartiles over the clean set and all shifts and severities, with whiskers from the "
        "least to the greatest; every value is a mean over seeds.",
        lambda evidence, on: ablation.plot(sources.rows(evidence, on, "ablation", shift.METRICS)),
    ),
    Drawing(
        "calibration-map",
        "Calibration maps and their data",
        "Sec. 3.6",
        "maps",
        "Dots are moving averages over the validation set's pairs of probability and hit, those of the first seed; the "
        "line is the map fitted to them. On the right both axes are logarithmic, and windows without a hit are below.",
        lambda evidence, on: maps.plot(sources.rows(evidence, on, "maps", maps.METRICS)),
    ),
    Drawing(
        "reliability",
        "Reliability on the clean test set",
        "Sec. 4.1",
        "shift",
        "How often answers of a given confidence are right, in fifteen bins, with 95 % Wilson intervals for the number "
        "of images in the bin; grey: how the confidence is distributed. On the diagonal a method is calibrated.",
        lambda evidence, on: reliability.plot(sources.histograms(evidence, on, shifted=False)),
    ),
    Drawing(
        "reliability-shift",
        "Reliability under shift",
        "Sec. 4.1",
        "shift",
        "The same for all shifts and severities together.",
        lambda evidence, on: reliability.plot(sources.histograms(evidence, on, shifted=True)),
    ),
    Drawing(
        "risk-coverage",
        "Error among the answers accepted",
        "Sec. 4.1",
        "shift",
        "Answers below a threshold of confidence are rejected: the error among the others, by how many those are. "
        "A curve begins with the answers above 0.99, at a hundred thresholds.",
        lambda evidence, on: risk_coverage.plot(sources.histograms(evidence, on)),
    ),
    Drawing(
        "ignorance",
        "The calibration curve of complete ignorance",
        "Fig. 9, App. A",
        "appendix",
        "The calibration of a product of uniform numbers: exact, the paper's approximation, and a sum of powers that "
        "was fitted to the exact curve.",
        lambda evidence, on: appendix.plot(sources.curves(evidence, on)),
    ),
    Drawing(
        "stability",
        "The paper's fit by its settings",
        "Fig. 10, App. B",
        "stability",
        "Above by the number of terms M, below by the number of points n_b, the other as in the paper: means over "
        "seeds, the band from the least to the greatest. The optimal fit has neither setting.",
        lambda evidence, on: stability.plot(sources.rows(evidence, on, "stability", stability.METRICS)),
    ),
)
