"""Panels of the page: the numbers of an experiment on one training set, or the command to run where there are none."""

from __future__ import annotations

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


SHIFT = "Test images under many corruptions at five severities: how accurate and how well calibrated is each method?"
OOD = "Images of no known class: a good method has low confidence (MMC) and separates them from test images (AUROC)."
STEPS = "The effect of each step: softmax, one-vs-all, its SLOVA readout, and the calibrated readout."
FIT = "The calibration fit of the paper by its number of terms M and of points n_b; dotted: the optimum."
FAR = "Confidence along random directions away from test images, where it vanishes by Theorem 3.1."
PLANES = "Mean confidence on planes through three test images; the first of them is in the middle."
MAPS = "Calibrated by uncalibrated probability: the fitted calibrator as a line, the data it was fitted to as dots."
CURVE = "The calibration curve of an uninformative network: exact, the paper's approximation, and a sum of powers."
PANELS = (
    panel("shift", "severity", "Shifted data", SHIFT),
    panel("ood", "sets", "Out-of-distribution data", OOD),
    panel("ablation", "severity", "Ablation", STEPS),
    panel("stability", "variants", "Stability of the fit", FIT),
    panel("directions", "distance", "Far away in random directions", FAR),
    panel("plane", "plane", "Planes through images", PLANES),
    panel("maps", "maps", "Calibrators", MAPS),
    panel("appendix", "curve", "Complete ignorance", CURVE),
)
