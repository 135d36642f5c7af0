"""The data of one experiment on one training set for the page: means, histograms, ranks and planes, or the command to
run where rows are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from slova.report.bins import bin_columns
from slova_bench import labels
from slova_bench.compare import compare
from slova_bench.frame import NAME, SET, Frame, frame, total
from slova_bench.report.cells import columns, in_place, spots
from slova_bench.report.series import Series
from slova_bench.results_folder import MissingRowsError, ResultsFolder

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
    rows: Frame
    histograms: Frame
    planes: Frame
    missing: str = ""

    @property
    def series(self) -> Iterable[Series]:
        """The series that are drawn; where the variant is the axis, one per method."""
        varied = KINDS.get(self.experiment, KINDS["ood"]).chart == "variants"
        pairs = self.rows[["method", "preset" if varied else "variant"]].drop_duplicates()
        return [Series(*pair) for pair in pairs.itertuples(index=False, name=None)]


def source(results: ResultsFolder, experiment: str, on: str) -> Source:
    try:
        rows = results.rows(experiment, on)
    except MissingRowsError as error:
        return Source(experiment, on, frame(()), frame(()), frame(()), str(error))
    planes = results.planes(on) if experiment == "plane" else frame(())
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
    probable = found.histograms[~found.histograms["method"].isin(labels.SCORES)]
    return {
        "cells": columns(found.rows, index),
        "histograms": _histograms(probable, index) if len(probable) and found.experiment in CONFIDENT else None,
        "ranks": {metric: ranked for metric in kind.ranked if (ranked := _ranks(found, metric, index))},
        "planes": _planes(found.planes, index),
    }


def _variants(rows: Frame, index: Mapping[Series, int]) -> dict[str, Any]:
    """The parameter as the axis: its name as shift, its value as level; without one, a horizontal line."""
    names = rows["parameter"].where(rows["parameter"] != "", "optimal")
    return columns(rows.assign(variant=rows["preset"], shift=names, level=rows["parameter_value"]), index)


def _histograms(histograms: Frame, index: Mapping[Series, int]) -> dict[str, Any]:
    """The histograms of each place, all seeds together."""
    groups = histograms.groupby([*NAME, *SET])
    found = in_place(groups.size().index.to_frame(index=False), index)
    bins = [total(groups.get_group(key)) for key in found[[*NAME, *SET]].itertuples(index=False, name=None)]
    return {**spots(found), **bin_columns(bins)}


def _ranks(found: Source, metric: str, index: Mapping[Series, int]) -> dict[str, Any] | None:
    """Mean ranks over all cells of means over seeds; None if nothing can be compared with the control."""
    rows = found.rows[found.rows["metric"] == metric]
    if found.experiment == "ood":
        rows = rows[rows["test"] != f"{found.on}-test"]
    if metric == "mmc":
        rows = rows[~rows["method"].isin(labels.SCORES)]  # which have no confidence of their own
    try:
        compared = compare(rows, metrics=[metric], control=CONTROL)
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


def _planes(planes: Frame, index: Mapping[Series, int]) -> list[dict[str, Any]]:
    """One picture per method, the mean over seeds."""
    if not len(planes):
        return []
    means = planes.groupby([*NAME, "alpha", "beta"])["value"].mean().round(3).reset_index()
    found = {index[Series(*name)]: one[["alpha", "beta", "value"]] for name, one in means.groupby(NAME)}
    return [{"series": place, "points": found[place].to_numpy().tolist()} for place in sorted(found)]
