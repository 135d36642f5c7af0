"""Seconds, measured side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

__all__ = ["seconds_on_gpu", "side_by_side", "timed"]


def side_by_side(ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 7) -> tuple[float, float]:
    """The best of several alternating runs of each, after one that warms up."""
    ours(), theirs()
    runs = [(timed(ours), timed(theirs)) for _ in range(rounds)]
    return min(run[0] for run in runs), min(run[1] for run in runs)


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def seconds_on_gpu(function: Callable[[], object], rounds: int = 15, calls: int = 1) -> float:
    """The median of several runs after two that warm up. Several calls a run keep the GPU busy while Python launches
    the next one; a single short one would be timed with the wait for its launch."""
    import torch

    times = []
    for _ in range(rounds + 2):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            function()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3 / calls)
    return statistics.median(times[2:])
