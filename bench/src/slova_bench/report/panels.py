"""The data of one experiment on one training set for the page: means, histograms, ranks and planes, or the command to
run where rows are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from slova.report.packing import pack
from slova_bench import labels
from slova_bench.compare import compare
from slova_bench.histograms import Histogram
from slova_bench.report.cells import columns, places_of, spots
from slova_bench.report.series import Series
from slova_bench.results import Row
from slova_bench.results_folder import MissingRowsError, Plane, ResultsFolder

__all__ = ["CONFIDENT", "KINDS", "Kind", "Source", "panel", "source"]

CONTROL = "slova"
CONFIDENT = ("shift", "ood", "ablation")  # experiments with histograms


class Kind(NamedTuple):
    """The presentation of an experiment: chart, title, description, and the metrics with ranks."""

    chart: str
    title: str
    about: str
    ranked: tuple[str, ...] = ()


KINDS = {
    "shift": Kind(
        "severity",
        "Shifted data",
        "Test images under many corruptions at five severities: how accurate and how well calibrated is each method?",
        ("ece", "nll", "brier", "accuracy"),
    ),
    "ood": Kind(
        "sets",
        "Out-of-distribution data",
        "Images of no known class: a good method has low confidence (MMC) and separates them from test images (AUROC).",
        ("mmc", "auroc", "aupr", "fpr95"),
    ),
    "ablation": Kind(
        "severity",
        "Ablation",
        "The effect of each step: softmax, one-vs-all, its SLOVA readout, and the calibrated readout.",
    ),
    "stability": Kind(
        "variants",
        "Stability of the fit",
        "The calibration fit of the paper by its number of terms M and of points n_b; dotted: the optimum.",
    ),
    "directions": Kind(
        "distance",
        "Far away in random directions",
        "Confidence along random directions away from test images, where it vanishes by Theorem 3.1.",
    ),
    "plane": Kind(
        "plane",
        "Planes through images",
        "Mean confidence on planes through three test images; the first of them is in the middle.",
    ),
    "maps": Kind(
        "maps",
        "Calibrators",
        "Calibrated by uncalibrated probability: the fitted calibrator as a line, the data it was fitted to as dots.",
    ),
    "appendix": Kind(
        "curve",
        "Complete ignorance",
        "The calibration curve of an uninformative network: exact, the paper's approximation, and a sum of powers.",
    ),
}


@dataclass(frozen=True)
class Source:
    """The contents of a results folder for one experiment and training set."""

    experiment: str
    on: str
    rows: list[Row]
    histograms: list[Histogram]
    planes: list[Plane]
    missing: str = ""

    @property
    def series(self) -> Iterable[Series]:
        """The series that are drawn; where the variant is the axis, one per method."""
        varied = KINDS.get(self.experiment, KINDS["ood"]).chart == "variants"
        return dict.fromkeys(Series(row.method, row.preset if varied else row.variant) for row in self.rows)


def source(results: ResultsFolder, experiment: str, on: str) -> Source:
    try:
        rows = results.rows(experiment, on)
    except MissingRowsError as error:
        return Source(experiment, on, [], [], [], str(error))
    planes = results.planes(on) if experiment == "plane" else []
    return Source(experiment, on, rows, results.histograms(experiment, on), planes)


def panel(found: Source, index: Mapping[Series, int]) -> dict[str, Any]:
    """One experiment as data of the page."""
    kind = KINDS.get(found.experiment, Kind("sets", labels.title(found.experiment), ""))
    content = {
        "id": f"{found.experiment}-{found.on}",
        "experiment": found.experiment,
        "on": found.on,
        "chart": kind.chart,
        "title": kind.title,
        "about": kind.about,
        "missing": found.missing,
    }
    if found.missing:
        return content
    return {**content, **_numbers(found, kind, index)}


def _numbers(found: Source, kind: Kind, index: Mapping[Series, int]) -> dict[str, Any]:
    if kind.chart == "variants":
        return {"cells": _variants(found.rows, index)}
    probable = [histogram for histogram in found.histograms if histogram.cell.method not in labels.SCORES]
    return {
        "cells": columns(found.rows, index),
        "histograms": _histograms(probable, index) if probable and found.experiment in CONFIDENT else None,
        "ranks": {metric: ranked for metric in kind.ranked if (ranked := _ranks(found, metric, index))},
        "planes": _planes(found.planes, index),
    }


def _variants(rows: Iterable[Row], index: Mapping[Series, int]) -> dict[str, Any]:
    """The parameter as the axis: its name as shift, its value as level; without one, a horizontal line."""
    moved = (row._replace(parameter="", shift=row.parameter or "optimal", level=row.parameter_value) for row in rows)
    return columns(moved, index)


def _histograms(histograms: Sequence[Histogram], index: Mapping[Series, int]) -> dict[str, Any]:
    places = places_of(histograms)
    order = sorted(places, key=lambda place: (index[place.series], *place[1:]))
    return {**spots(order, index), "packed": pack(places[place] for place in order)}


def _ranks(found: Source, metric: str, index: Mapping[Series, int]) -> dict[str, Any] | None:
    """Mean ranks over all cells of means over seeds; None if nothing can be compared with the control."""
    own = f"{found.on}-test"
    rows = [row for row in found.rows if row.metric == metric and (found.experiment != "ood" or row.test != own)]
    if metric == "mmc":
        rows = [row for row in rows if row.method not in labels.SCORES]  # which have no confidence of their own
    try:
        compared = compare([row._asdict() for row in rows], metrics=[metric], control=CONTROL)
    except ValueError:
        return None
    verdict, numbers = compared.pooled, {series.key: place for series, place in index.items()}
    return {
        "ranks": [[numbers[name], round(rank, 3)] for name, rank in verdict.distance.mean_ranks.items()],
        "control": numbers[CONTROL],
        "distance": round(verdict.distance.distance, 3),
        "rejects": verdict.rejects,
        "p": verdict.friedman.p,
        "cells": len(compared.cells),
        "caution": compared.caution,
    }


def _planes(planes: Iterable[Plane], index: Mapping[Series, int]) -> list[dict[str, Any]]:
    """One picture per method, the mean over seeds."""
    found: dict[Series, dict[tuple[float, float], list[float]]] = {}
    for plane in planes:
        points = found.setdefault(Series(plane.method, plane.preset), {})
        for alpha, beta, confidence in plane.points:
            points.setdefault((alpha, beta), []).append(confidence)
    order = sorted(found, key=index.__getitem__)
    return [{"series": index[one], "points": [_point(*item) for item in found[one].items()]} for one in order]


def _point(place: tuple[float, float], confidences: Sequence[float]) -> list[float]:
    return [*place, round(sum(confidences) / len(confidences), 3)]
