"""Panels of the page: the numbers of an experiment on one training set, or the command to run where there are none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from slova_bench.exhibit import Exhibit, Kind
from slova_bench.frame import Frame, Name, frame
from slova_bench.results_folder import MissingRowsError, ResultsFolder

__all__ = ["CONFIDENT", "PANELS", "Source", "panel"]

CONFIDENT = ("shift", "ood", "ablation")  # experiments with histograms


@dataclass(frozen=True)
class Source:
    """The contents of a results folder for one experiment and training set; `missing` is the command to run where there
    are none. `chart` is how they are drawn, `ranked` the metrics with ranks."""

    experiment: str
    on: str
    chart: str
    ranked: tuple[str, ...]
    rows: Frame = field(default_factory=lambda: frame(()))
    histograms: Frame = field(default_factory=lambda: frame(()))
    planes: Frame = field(default_factory=lambda: frame(()))
    missing: str = ""

    @property
    def names(self) -> list[Name]:
        """The series that are drawn; where the variant is the axis, one per method."""
        pairs = self.rows[["method", "preset" if self.chart == "variants" else "variant"]].drop_duplicates()
        return list(pairs.itertuples(index=False, name=None))


def panel(experiment: str, chart: str, title: str, about: str = "", ranked: tuple[str, ...] = ()) -> Exhibit:
    """A panel of the page: the numbers of one experiment. It is there without rows, too, with the command to run."""

    def make(results: ResultsFolder, on: str) -> Source:
        empty = Source(experiment, on, chart, ranked)
        try:
            found = replace(empty, rows=results.rows(experiment, on), histograms=results.histograms(experiment, on))
        except MissingRowsError as error:
            return replace(empty, missing=str(error))
        return replace(found, planes=results.planes(on)) if chart == "plane" else found

    return Exhibit(Kind.PANEL, experiment, title, "", experiment, make, about)


PANELS = (
    panel(
        "shift",
        "severity",
        "Shifted data",
        "Test images under many corruptions at five severities: how accurate and how well calibrated is each method?",
        ("ece", "nll", "brier", "accuracy"),
    ),
    panel(
        "ood",
        "sets",
        "Out-of-distribution data",
        "Images of no known class: a good method has low confidence (MMC) and separates them from test images (AUROC).",
        ("mmc", "auroc", "aupr", "fpr95"),
    ),
    panel(
        "ablation",
        "severity",
        "Ablation",
        "The effect of each step: softmax, one-vs-all, its SLOVA readout, and the calibrated readout.",
    ),
    panel(
        "stability",
        "variants",
        "Stability of the fit",
        "The calibration fit of the paper by its number of terms M and of points n_b; dotted: the optimum.",
    ),
    panel(
        "directions",
        "distance",
        "Far away in random directions",
        "Confidence along random directions away from test images, where it vanishes by Theorem 3.1.",
    ),
    panel(
        "plane",
        "plane",
        "Planes through images",
        "Mean confidence on planes through three test images; the first of them is in the middle.",
    ),
    panel(
        "maps",
        "maps",
        "Calibrators",
        "Calibrated by uncalibrated probability: the fitted calibrator as a line, the data it was fitted to as dots.",
    ),
    panel(
        "appendix",
        "curve",
        "Complete ignorance",
        "The calibration curve of an uninformative network: exact, the paper's approximation, and a sum of powers.",
    ),
)
