"""Whose rows a table or a claim is made of: those of its experiment, or of one that asked the same where it was not
run."""

from __future__ import annotations

from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder

__all__ = ["mark", "rows", "sets"]

INSTEAD = {"ablation": "shift"}  # the same methods, and others, about the same sets


def sets(evidence: ResultsFolder, experiment: str) -> tuple[str, ...]:
    """The training sets that there are rows of."""
    other = INSTEAD.get(experiment, experiment)
    return tuple(dict.fromkeys((*evidence.sets(experiment), *evidence.sets(other))))


def rows(evidence: ResultsFolder, experiment: str, on: str) -> list[Row]:
    return evidence.rows(_run(evidence, experiment, on), on)


def mark(evidence: ResultsFolder, experiment: str, on: str) -> str:
    """That of the rows, for a title."""
    return evidence.mark(_run(evidence, experiment, on), on)


def _run(evidence: ResultsFolder, experiment: str, on: str) -> str:
    """The experiment whose rows they are."""
    other = INSTEAD.get(experiment, experiment)
    return other if on in evidence.sets(other) and on not in evidence.sets(experiment) else experiment
