"""What each figure is drawn of, or an error that states the command to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slova_bench import labels
from slova_bench.compare import Comparison
from slova_bench.exhibit import rows_across
from slova_bench.frame import Frame, where
from slova_bench.ranks import Ranking
from slova_bench.results_folder import MissingRowsError, ResultsFolder

__all__ = ["METRICS", "Source", "beyond_rows", "curves", "histograms", "planes", "ranking", "rows", "usual_rows"]

METRICS = ("accuracy", "ece", "nll", "brier")
BESIDE = ("temperature", "ensemble", "slova")  # the methods that new ones are compared with
Source = Callable[[ResultsFolder, str], Any]


def rows(experiment: str, *metrics: str) -> Source:
    """The rows with these metrics, all of which must be present, under the shifts of the paper."""

    def read(results: ResultsFolder, on: str) -> Frame:
        found = where(_of_paper(results.rows(experiment, on)), metric=metrics)
        if lacking := [metric for metric in metrics if metric not in found["metric"].unique()]:
            raise _missing(f"rows with {' and '.join(lacking)}", experiment, on)
        return found

    return read


def usual_rows(results: ResultsFolder, on: str) -> Frame:
    """Rows under shift, without further fits, and the methods beyond the paper, which have their own."""
    found: Frame = rows("shift", *METRICS)(results, on)
    usual = found[~found["method"].isin([*labels.BEYOND, *labels.VARIANTS])]
    return usual if len(usual) else found


def beyond_rows(results: ResultsFolder, on: str) -> Frame:
    """Rows under shift of the methods beyond the paper and their baselines."""
    found = rows("shift", *METRICS)(results, on)
    if not found["method"].isin(labels.BEYOND).any():
        raise _missing("rows of methods beyond the paper, such as slova_distance,", "shift", on)
    return where(found, method=[*labels.BEYOND, *BESIDE])


def curves(results: ResultsFolder, on: str) -> Frame:
    """Rows of the appendix. It involves no network, so the rows of any data set will do."""
    sets = results.sets("appendix")
    found: Frame = rows("appendix", "calibrated")(results, on if on in sets or not sets else sets[0])
    return found


def histograms(*sides: bool) -> Source:
    """Histograms of the experiment `shift`, without further fits: of the clean set (False), of shifted ones (True)."""

    def read(results: ResultsFolder, on: str) -> Frame:
        found = _of_paper(results.histograms("shift", on))
        found = found[~found["method"].isin(labels.VARIANTS) & (found["shift"] != "").isin(sides)]
        if not len(found):
            raise _missing("confidence histograms, which are made together with new rows,", "shift", on)
        return found

    return read


def planes(results: ResultsFolder, on: str) -> Frame:
    found = results.planes(on)
    if not len(found):
        raise _missing("pictures", "plane", on)
    return found


def ranking(experiment: str, compared: Callable[[Frame, Frame], Comparison]) -> Source:
    """That of the table of ranks; of all training sets together where none is named."""

    def read(results: ResultsFolder, on: str) -> Ranking:
        found = results.rows(experiment, on) if on else rows_across(results, experiment)
        try:
            return compared(found, results.paper).pooled
        except MissingRowsError as error:
            why = str(error).rpartition(": run ")[0]  # the command is named once
            raise _missing("rows to compare", experiment, on or "cifar10", f" ({why})") from None

    return read


def _of_paper(found: Frame) -> Frame:
    """Clean sets, and those under the shifts of the paper."""
    return where(found, shift=["", *labels.paper_shifts(found["shift"].unique())])


def _missing(what: str, experiment: str, on: str, why: str = "") -> MissingRowsError:
    command = f"slova bench run {experiment} --on {on}"
    return MissingRowsError(f"there are no {what} of {experiment} on {on}{why}: run {command}")
