"""Seconds, measured side by side."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["side_by_side", "timed"]


def side_by_side(ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 7) -> tuple[float, float]:
    """The best of several alternating runs of each, after one that warms up."""
    ours(), theirs()
    runs = [(timed(ours), timed(theirs)) for _ in range(rounds)]
    return min(run[0] for run in runs), min(run[1] for run in runs)


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
