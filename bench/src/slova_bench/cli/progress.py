"""A run with its progress on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from slova._progress import progress
from slova.cli.terminal import INTERRUPTED
from slova_bench.cli.summary import label

if TYPE_CHECKING:
    from slova_bench.results import Row
    from slova_bench.runner import Plan

__all__ = ["TimeLeft", "run_with_progress"]


def run_with_progress(plan: Plan) -> tuple[list[Row], int]:
    """All rows, and how many sets are left to measure. An interrupt ends the program with a message."""
    import torch

    from slova_bench.runner import execute

    if plan.on == "digits":
        torch.set_num_threads(1)  # its networks are too small to share between cores
    with progress(f"{plan.experiment} on {plan.on}") as report:
        measured = _Measured(report)
        try:
            rows = execute(plan, measured, measured.expect)
        except KeyboardInterrupt:
            kept = f"{len(plan.rows.read()):,} rows kept in {plan.rows.path}"
            click.echo(f"interrupted: {kept}; the same command continues from there", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
    click.echo(f"{len(rows):,} rows in {plan.rows.path}, {measured.new:,} of them new", err=True)
    return rows, measured.left


class _Measured:
    """A callback that reports what was measured, the share that is done and the time left."""

    def __init__(self, report: Callable[..., None]) -> None:
        self.report, self.new, self.all, self.estimate = report, 0, 0, TimeLeft([])
        self.start = self.last = time.monotonic()

    def expect(self, work: list[int]) -> None:
        self.estimate, self.all = TimeLeft(work), sum(work)

    @property
    def left(self) -> int:
        return len(self.estimate.steps)

    def __call__(self, rows: list[Row]) -> None:
        self.new += len(rows)
        now = time.monotonic()
        seconds, self.last = self.estimate(now - self.last), now
        if rows:
            row = rows[-1]
            where = f"{row.test} {row.shift} {row.level:g}" if row.shift else row.test
            passed = f"{now - self.start:6.0f} s  {self.new:6,} rows"
            note = f"{passed}  about {_time(seconds)} left  {label(row)}, seed {row.seed}: {where}"
            self.report(1 - self.left / max(1, self.all), note)


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
