"""Whose rows a table or a claim is made of: those of its experiment, or of one that asked the same where it was not
run."""

from __future__ import annotations

from slova.bench.evidence import Evidence
from slova.bench.results import Row

__all__ = ["rows", "sets"]

INSTEAD = {"ablation": "shift"}  # the same methods, and others, about the same sets


def sets(evidence: Evidence, experiment: str) -> tuple[str, ...]:
    """The training sets that there are rows of."""
    other = INSTEAD.get(experiment, experiment)
    return tuple(dict.fromkeys((*evidence.sets(experiment), *evidence.sets(other))))


def rows(evidence: Evidence, experiment: str, on: str) -> list[Row]:
    other = INSTEAD.get(experiment, experiment)
    run = on in evidence.sets(experiment) or on not in evidence.sets(other)
    return evidence.rows(experiment if run else other, on)
