"""The rows of each figure, or an error that states the command to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slova_bench import labels
from slova_bench.compare import Comparison
from slova_bench.exhibit import rows_across
from slova_bench.frame import Frame, where
from slova_bench.ranks import Ranking
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables.ranks import ood_comparison, shift_comparison

__all__ = ["curves", "histograms", "new_rows", "ood_ranking", "planes", "rows", "shift_ranking", "usual_rows"]

BESIDE = ("temperature", "ensemble", "slova")  # the methods that new ones are compared with


def rows(results: ResultsFolder, on: str, experiment: str, metrics: Sequence[str]) -> Frame:
    """The rows with these metrics, all of which must be present, under the shifts of the paper."""
    found = where(_of_paper(results.rows(experiment, on)), metric=metrics)
    lacking = [metric for metric in metrics if metric not in found["metric"].unique()]
    if lacking:
        raise _missing(f"rows with {' and '.join(lacking)}", experiment, on)
    return found


def usual_rows(results: ResultsFolder, on: str, metrics: Sequence[str]) -> Frame:
    """Rows under shift, without further fits, and the methods beyond the paper, which have their own."""
    found = rows(results, on, "shift", metrics)
    usual = found[~found["method"].isin([*labels.BEYOND, *labels.VARIANTS])]
    return usual if len(usual) else found


def new_rows(results: ResultsFolder, on: str, metrics: Sequence[str]) -> Frame:
    """Rows under shift of the methods beyond the paper and their baselines."""
    found = rows(results, on, "shift", metrics)
    if not found["method"].isin(labels.BEYOND).any():
        raise _missing("rows of methods beyond the paper, such as slova_distance,", "shift", on)
    return where(found, method=[*labels.BEYOND, *BESIDE])


def curves(results: ResultsFolder, on: str) -> Frame:
    """Rows of the appendix. It involves no network, so the rows of any data set will do."""
    sets = results.sets("appendix")
    return rows(results, on if on in sets or not sets else sets[0], "appendix", ("calibrated",))


def histograms(results: ResultsFolder, on: str, *, shifted: bool | None = None) -> Frame:
    """Histograms of the experiment `shift`, without further fits: of shifted sets, of the clean one, or of both."""
    found = _of_paper(results.histograms("shift", on))
    found = found[~found["method"].isin(labels.VARIANTS)]
    found = found if shifted is None else found[(found["shift"] != "") == shifted]
    if not len(found):
        raise _missing("confidence histograms, which are made together with new rows,", "shift", on)
    return found


def planes(results: ResultsFolder, on: str) -> Frame:
    found = results.planes(on)
    if not len(found):
        raise _missing("pictures", "plane", on)
    return found


def shift_ranking(results: ResultsFolder, on: str) -> Ranking:
    """That of the table of ranks: the methods of the paper on the shifts of the paper."""
    return _pooled(shift_comparison, results.rows("shift", on), results, on)


def ood_ranking(results: ResultsFolder, on: str) -> Ranking:
    """That of the table of ranks, over all pairs of a training set and an OOD set. Without rows, the error names
    `on`."""
    return _pooled(ood_comparison, rows_across(results, "ood"), results, on or "cifar10")


def _pooled(compared: Callable[..., Comparison], found: Frame, results: ResultsFolder, on: str) -> Ranking:
    try:
        return compared(found, results.paper).pooled
    except MissingRowsError as error:
        experiment = "shift" if compared is shift_comparison else "ood"
        raise _missing("rows to compare", experiment, on, f" ({error})") from None


def _of_paper(found: Frame) -> Frame:
    """Clean sets, and those under the shifts of the paper."""
    return where(found, shift=["", *labels.paper_shifts(found["shift"].unique())])


def _missing(what: str, experiment: str, on: str, why: str = "") -> MissingRowsError:
    command = f"slova bench run {experiment} --on {on}"
    return MissingRowsError(f"there are no {what} of {experiment} on {on}{why}: run {command}")
