"""A run with its progress on standard error."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from slova.cli.terminal import INTERRUPTED
from slova_bench.cli.summary import label

if TYPE_CHECKING:
    from slova_bench.results import Row
    from slova_bench.runner import Plan

__all__ = ["TimeLeft", "run_with_progress"]


def run_with_progress(plan: Plan) -> tuple[list[Row], int]:
    """All rows, and how many sets are left to measure. An interrupt ends the program with a message."""
    from slova_bench.runner import execute

    progress = _Progress()
    with _threads(1 if plan.on == "digits" else None):  # its networks are too small to share between cores
        try:
            rows = execute(plan, progress, progress.expect)
        except KeyboardInterrupt:
            kept = f"{len(plan.rows.read()):,} rows kept in {plan.rows.path}"
            click.echo(f"interrupted: {kept}; the same command continues from there", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
    click.echo(f"{len(rows):,} rows in {plan.rows.path}, {progress.new:,} of them new", err=True)
    return rows, progress.left


@contextlib.contextmanager
def _threads(count: int | None) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Progress:
    """A callback that prints what was measured and the time left to standard error, at most once per second."""

    def __init__(self) -> None:
        self.new, self.printed, self.start, self.estimate = 0, 0.0, time.monotonic(), TimeLeft([])
        self.last = self.start

    def expect(self, work: list[int]) -> None:
        self.estimate = TimeLeft(work)

    @property
    def left(self) -> int:
        return len(self.estimate.steps)

    def __call__(self, rows: list[Row]) -> None:
        self.new += len(rows)
        now = time.monotonic()
        seconds, self.last = self.estimate(now - self.last), now
        if rows and now - self.printed >= 1:
            self.printed, row = now, rows[-1]
            where = f"{row.test} {row.shift} {row.level:g}" if row.shift else row.test
            passed = f"{now - self.start:6.0f} s  {self.new:6,} rows"
            click.echo(f"{passed}  about {_time(seconds)} left  {label(row)}, seed {row.seed}: {where}", err=True)


class TimeLeft:
    """An estimate of the remaining time from the duration of each step so far. The first set of a network includes its
    training, so first sets are averaged apart."""

    def __init__(self, work: list[int]) -> None:
        self.steps = [number == 0 for sets in work for number in range(sets)]  # to come; true: the network's first
        self.taken: dict[bool, list[float]] = {True: [], False: []}

    def __call__(self, seconds: float) -> float:
        """The seconds left after one more step of this duration."""
        self.taken[self.steps.pop(0) if self.steps else False].append(seconds)
        means = {kind: sum(taken) / len(taken) if taken else 0.0 for kind, taken in self.taken.items()}
        return sum(means[kind] for kind in self.steps)


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
