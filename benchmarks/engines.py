"""Rows of 10 classes generated, scored and calibrated on two cores: every engine against one process without one.

Nothing is written, and no row lives longer than its block: a worker makes the rows of a piece from their number, once
to sketch them for the fit of the map, and once to score them with it. Read ratios, not seconds.

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
from slova.batch import Plan, opened
from slova.batch.batches import packed
from slova.batch.fitting import fitted
from slova.batch.rows import Pieces
from slova.io import Block

WORKERS, CLASSES, BLOCK, PIECE = 2, 10, 1 << 16, 1 << 20
SURE = 1.5  # so much too sure is the network


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--engines", default="local,ray,spark", help="separated by commas")
    asked = options.parse_args()
    pieces = cut(asked.rows)
    print(f"{asked.rows:,} rows of {CLASSES} classes in {len(pieces)} pieces, {os.cpu_count()} cores", flush=True)
    print("engine         start      work   Mrows/s   ratio   memory of all processes   ECE after the map", flush=True)
    alone, seconds = measured("local", 1, pieces, None)
    for engine in filter(None, asked.engines.split(",")):
        found, _ = measured(engine, WORKERS, pieces, seconds)
        if packed(found) != packed(alone):
            sys.exit(f"{engine} fitted another map than one process: {found.map} and {alone.map}")
    print("every engine fitted the same map as one process, bit for bit")


def measured(engine: str, workers: int, pieces: list[Generated], alone: float | None) -> tuple[Scorer, float]:
    """The scorer, the seconds of the work without those of the start, and a line of the table."""
    started = time.perf_counter()
    with memory() as peak, opened(engine, workers) as run:
        begun = time.perf_counter()
        scorer = fitted(Pieces(pieces, CLASSES, run), Plan())
        seconds = time.perf_counter() - begun
    rows, name = sum(piece.rows for piece in pieces), "one process" if workers == 1 else f"{engine}, {workers}"
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
    piece = max(BLOCK, min(PIECE, rows // 32))
    return [Generated(first, min(piece, rows - first)) for first in range(0, rows, piece)]


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
