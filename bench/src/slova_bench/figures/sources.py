"""The rows of each figure, or an error that states the command to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from slova_bench import labels
from slova_bench.compare import Comparison, Verdict
from slova_bench.frame import Frame
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables.ranks import ood_comparison, shift_comparison

__all__ = ["curves", "histograms", "new_rows", "ood_verdict", "planes", "rows", "shift_verdict", "usual_rows"]

BESIDE = ("temperature", "ensemble", "slova")  # the methods that new ones are compared with


def rows(results: ResultsFolder, on: str, experiment: str, metrics: Sequence[str]) -> Frame:
    """The rows with these metrics, all of which must be present, under the shifts of the paper."""
    every = results.rows(experiment, on)
    found = every[
        every["metric"].isin(metrics) & every["shift"].isin(["", *labels.paper_shifts(every["shift"].unique())])
    ]
    lacking = [metric for metric in metrics if metric not in found["metric"].unique()]
    if lacking:
        raise _missing(f"rows with {' and '.join(lacking)}", experiment, on)
    return found


def usual_rows(results: ResultsFolder, on: str, metrics: Sequence[str]) -> Frame:
    """Rows under shift, without the methods beyond the paper, which have a figure of their own."""
    found = rows(results, on, "shift", metrics)
    usual = found[~found["method"].isin(labels.BEYOND)]
    return usual if len(usual) else found


def new_rows(results: ResultsFolder, on: str, metrics: Sequence[str]) -> Frame:
    """Rows under shift of the methods beyond the paper and their baselines."""
    found = rows(results, on, "shift", metrics)
    if not found["method"].isin(labels.BEYOND).any():
        raise _missing("rows of methods beyond the paper, such as slova_distance,", "shift", on)
    return found[found["method"].isin([*labels.BEYOND, *BESIDE])]


def curves(results: ResultsFolder, on: str) -> Frame:
    """Rows of the appendix. It involves no network, so the rows of any data set will do."""
    sets = results.sets("appendix")
    return rows(results, on if on in sets or not sets else sets[0], "appendix", ("calibrated",))


def histograms(results: ResultsFolder, on: str, *, shifted: bool | None = None) -> Frame:
    """Histograms of the experiment `shift`: of shifted sets, of the clean one, or of both."""
    every = results.histograms("shift", on)
    found = every[every["shift"].isin(["", *labels.paper_shifts(every["shift"].unique())])]
    found = found if shifted is None else found[(found["shift"] != "") == shifted]
    if not len(found):
        raise _missing("confidence histograms, which are made together with new rows,", "shift", on)
    return found


def planes(results: ResultsFolder, on: str) -> Frame:
    found = results.planes(on)
    if not len(found):
        raise _missing("pictures", "plane", on)
    return found


def shift_verdict(results: ResultsFolder, on: str) -> Verdict:
    """The verdict of the table of ranks: the methods of the paper on the shifts of the paper."""
    return _pooled(shift_comparison, results.rows("shift", on), results, on)


def ood_verdict(results: ResultsFolder, on: str) -> Verdict:
    """The verdict of the table of ranks, over all pairs of a training set and an OOD set. Without rows, the error
    names `on`."""
    sets = results.sets("ood") or (on or "cifar10",)
    return _pooled(ood_comparison, pd.concat([results.rows("ood", one) for one in sets]), results, sets[0])


def _pooled(compared: Callable[..., Comparison], found: Frame, results: ResultsFolder, on: str) -> Verdict:
    try:
        return compared(found, results.paper).pooled
    except MissingRowsError as error:
        raise _missing("rows to compare", found["experiment"].iloc[0], on, f" ({error})") from None


def _missing(what: str, experiment: str, on: str, why: str = "") -> MissingRowsError:
    command = f"slova bench run {experiment} --on {on}"
    return MissingRowsError(f"there are no {what} of {experiment} on {on}{why}: run {command}")
