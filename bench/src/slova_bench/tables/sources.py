"""The rows of a table or claim: those of its experiment or, where it was not run, of one that includes them."""

from __future__ import annotations

from slova_bench.frame import Frame
from slova_bench.results_folder import ResultsFolder

__all__ = ["mark", "rows", "sets"]

INSTEAD = {"ablation": "shift"}  # which has the same methods and more on the same sets


def sets(results: ResultsFolder, experiment: str) -> tuple[str, ...]:
    """The training sets with rows."""
    other = INSTEAD.get(experiment, experiment)
    return tuple(dict.fromkeys((*results.sets(experiment), *results.sets(other))))


def rows(results: ResultsFolder, experiment: str, on: str) -> Frame:
    return results.rows(_run(results, experiment, on), on)


def mark(results: ResultsFolder, experiment: str, on: str) -> str:
    """The mark of the rows, for a title."""
    return results.mark(_run(results, experiment, on), on)


def _run(results: ResultsFolder, experiment: str, on: str) -> str:
    """The experiment that provides the rows."""
    other = INSTEAD.get(experiment, experiment)
    return other if on in results.sets(other) and on not in results.sets(experiment) else experiment
