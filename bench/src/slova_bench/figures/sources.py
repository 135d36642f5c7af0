"""What each figure takes from the results, or an error that says what to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slova_bench import labels
from slova_bench.compare import Comparison, Verdict
from slova_bench.histograms import Histogram
from slova_bench.results import Row
from slova_bench.results_folder import MissingRowsError, Plane, ResultsFolder
from slova_bench.tables.ranks import ood_comparison, shift_comparison

__all__ = ["curves", "foreign_verdict", "histograms", "new_rows", "planes", "rows", "shift_verdict", "usual_rows"]

BESIDE = ("temperature", "ensemble", "slova")  # what a new method has to be better than


def rows(evidence: ResultsFolder, on: str, experiment: str, metrics: Sequence[str]) -> list[Row]:
    """Those with these metrics, each of which must be there; of the shifts those of the paper."""
    found = [row for row in evidence.rows(experiment, on) if row.metric in metrics and _is_paper(row.shift)]
    lacking = [metric for metric in metrics if metric not in {row.metric for row in found}]
    if lacking:
        raise _missing(f"rows with {' and '.join(lacking)}", experiment, on)
    return found


def usual_rows(evidence: ResultsFolder, on: str, metrics: Sequence[str]) -> list[Row]:
    """Under shift, without the methods past the paper, which have a figure of their own."""
    found = rows(evidence, on, "shift", metrics)
    return [row for row in found if row.method not in labels.BEYOND] or found


def new_rows(evidence: ResultsFolder, on: str, metrics: Sequence[str]) -> list[Row]:
    """Under shift, the methods past the paper and their rivals."""
    found = rows(evidence, on, "shift", metrics)
    if not any(row.method in labels.BEYOND for row in found):
        raise _missing("rows of methods past the paper, such as slova_distance,", "shift", on)
    return [row for row in found if row.method in (*labels.BEYOND, *BESIDE)]


def curves(evidence: ResultsFolder, on: str) -> list[Row]:
    """Of the appendix, which asks no network, so that those made for one data set are those of another."""
    sets = evidence.sets("appendix")
    return rows(evidence, on if on in sets or not sets else sets[0], "appendix", ("calibrated",))


def histograms(evidence: ResultsFolder, on: str, *, shifted: bool | None = None) -> list[Histogram]:
    """Of the experiment `shift`: those of shifted sets, or of the clean one, or both."""
    found = [one for one in evidence.histograms("shift", on) if _is_paper(one.cell.shift)]
    wanted = [one for one in found if shifted is None or bool(one.cell.shift) is shifted]
    if not wanted:
        raise _missing("confidence histograms, which are made together with new rows,", "shift", on)
    return wanted


def planes(evidence: ResultsFolder, on: str) -> list[Plane]:
    found = evidence.planes(on)
    if not found:
        raise _missing("pictures", "plane", on)
    return found


def shift_verdict(evidence: ResultsFolder, on: str) -> Verdict:
    """That of the table of ranks: the paper's methods on the paper's shifts."""
    return _pooled(shift_comparison, evidence.rows("shift", on), evidence, on)


def foreign_verdict(evidence: ResultsFolder, on: str) -> Verdict:
    """That of the table of ranks, over all pairs of a training set and a foreign one; `on` is what is missing where
    there are none."""
    sets = evidence.sets("ood") or (on or "cifar10",)
    return _pooled(ood_comparison, [row for on in sets for row in evidence.rows("ood", on)], evidence, sets[0])


def _pooled(compared: Callable[..., Comparison], found: list[Row], evidence: ResultsFolder, on: str) -> Verdict:
    try:
        return compared(found, evidence.paper).pooled
    except MissingRowsError as error:
        raise _missing("rows to compare", found[0].experiment, on, f" ({error})") from None


def _is_paper(shift: str) -> bool:
    return shift not in labels.OTHER_SHIFTS


def _missing(what: str, experiment: str, on: str, why: str = "") -> MissingRowsError:
    command = f"slova bench run {experiment} --on {on}"
    return MissingRowsError(f"there are no {what} of {experiment} on {on}{why}: run {command}")
