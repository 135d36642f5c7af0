"""Seconds, measured side by side, and the rows that they become."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["seconds_on_gpu", "side_by_side", "timed", "write"]


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


def write(name: str, rows: list[dict[str, object]]) -> None:
    """benchmarks/results/NAME.csv: these rows with the date, the commit and the machine, printed as well."""
    import pandas as pd
    import torch

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    threads = f"{torch.get_num_threads()} thread on {os.cpu_count()} CPU cores, load average {os.getloadavg()[0]:.0f}"
    machine = torch.cuda.get_device_name() if torch.cuda.is_available() else threads
    found = pd.DataFrame(rows)
    print(found.to_string(index=False, float_format="{:.4g}".format))
    for place, (column, value) in enumerate(
        {"date": datetime.now(UTC).date(), "commit": commit.strip(), "machine": machine}.items()
    ):
        found.insert(place, column, value)
    found.to_csv(Path(__file__).parent / "results" / f"{name}.csv", index=False, float_format="%.4g")
