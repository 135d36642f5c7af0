"""Rows of 10 classes generated, scored and calibrated on two cores: every engine against one process without one.

Nothing is written, and no row is kept longer than its block: a worker generates the rows of a partition from their
numbers, once to fit the calibrator and once to score them. Compare ratios, not seconds.

python benchmarks/engines.py --rows 100_000_000 --engines local,ray,spark
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import psutil

from slova import NONE, Scorer
from slova.batch import Plan, open_engine
from slova.batch.batches import pack
from slova.batch.fitting import fit_scorer
from slova.batch.map_reduce import PartitionedRows
from slova.io import Block

WORKERS, CLASSES, BLOCK, PARTITION = 2, 10, 1 << 16, 1 << 20
SURE = 1.5  # factor by which the network is overconfident


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--engines", default="local,ray,spark", help="separated by commas")
    arguments = options.parse_args()
    partitions = cut(arguments.rows)
    print(
        f"{arguments.rows:,} rows of {CLASSES} classes in {len(partitions)} partitions, {os.cpu_count()} cores",
        flush=True,
    )
    print(
        "engine         start      work   Mrows/s   ratio   memory of all processes   ECE after calibration", flush=True
    )
    alone, seconds = timed_fit("local", 1, partitions, None)
    for engine in filter(None, arguments.engines.split(",")):
        found, _ = timed_fit(engine, WORKERS, partitions, seconds)
        if pack(found) != pack(alone):
            sys.exit(f"{engine} fitted another calibrator than one process: {found.calibrator} and {alone.calibrator}")
    print("every engine fitted the same calibrator as one process, bit for bit")


def timed_fit(engine: str, workers: int, partitions: list[Generated], alone: float | None) -> tuple[Scorer, float]:
    """The scorer, the seconds of the work without those of the start, and a line of the table."""
    started = time.perf_counter()
    with memory() as peak, open_engine(engine, workers) as run:
        begun = time.perf_counter()
        scorer = fit_scorer(PartitionedRows(partitions, CLASSES, run), Plan())
        seconds = time.perf_counter() - begun
    rows, name = (
        sum(partition.rows for partition in partitions),
        "one process" if workers == 1 else f"{engine}, {workers}",
    )
    ratio = "" if alone is None else f"{alone / seconds:.2f}"
    times = f"{begun - started:7.1f} s {seconds:7.1f} s {rows / seconds / 1e6:9.2f} {ratio:>7}"
    ece = scorer.validation.ece(bins=15).value
    print(f"{name:12s} {times} {peak[0] / 2**20:18,.0f} MiB {ece:22.5f}", flush=True)
    return scorer, seconds


@dataclass(frozen=True)
class Generated:
    """Rows that follow from their numbers. One class may fit, with logit f; it does with probability sigmoid(f / 1.5),
    and else none does."""

    first: int
    rows: int

    def blocks(self, classes: int, *, labelled: bool) -> Iterator[tuple[int, Block]]:
        generator = np.random.default_rng(self.first)
        for first in range(self.first, self.first + self.rows, BLOCK):
            rows = min(BLOCK, self.first + self.rows - first)
            logits = generator.standard_normal((rows, classes), dtype=np.float32)
            logits *= 2
            logits -= 12
            top, chance = 4 * generator.standard_normal(rows) + 2, generator.random(rows)
            labels = generator.integers(0, classes, rows)
            logits[np.arange(rows), labels] = top
            labels[chance * (1 + np.exp(-top / SURE)) > 1] = NONE
            yield first, Block(logits, labels, 1.0)


def cut(rows: int) -> list[Generated]:
    partition = max(BLOCK, min(PARTITION, rows // 32))
    return [Generated(first, min(partition, rows - first)) for first in range(0, rows, partition)]


@contextlib.contextmanager
def memory() -> Iterator[list[int]]:
    """The most bytes that this process and all that it started held at a time, shared ones counted once."""
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.25):
            peak[0] = max(peak[0], sum(map(held, tree())))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def tree() -> list[psutil.Process]:
    this = psutil.Process()
    return [this, *this.children(recursive=True)]


def held(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


if __name__ == "__main__":
    main()
