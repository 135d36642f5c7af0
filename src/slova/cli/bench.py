"""`slova bench`: experiments of the comparison, run or listed."""

from __future__ import annotations

import importlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from slova.bench.results import Row

__all__ = ["BenchOptions", "listing", "make_images", "run"]


@dataclass(frozen=True)
class BenchOptions:
    """What was asked for on the command line."""

    experiment: str
    on: str
    methods: str | None
    seeds: str
    minutes: float | None
    quick: bool
    device: str
    data: Path | None
    results: Path
    store: Path


def run(options: BenchOptions) -> None:
    _check_extra()
    from slova.bench.runner import Plan, execute

    plan = Plan(**{**vars(options), "methods": _words(options.methods), "seeds": _numbers(options.seeds)})
    told = _Told()
    rows = execute(plan, told)
    where = options.results / f"{options.experiment}-{options.on}{'-quick' if options.quick else ''}.csv"
    click.echo(f"{len(rows):,} rows in {where}, {told.new:,} of them new", err=True)
    click.echo(_summary(rows))


def make_images(on: str, workers: int | None, data: Path | None, store: Path) -> None:
    _check_extra()
    from slova.bench.prepare import prepare
    from slova.bench.runner import Plan

    bench = Plan(experiment="shift", on=on, device="cpu", data=data, store=store).bench()
    for number, test in enumerate(prepare(bench, workers or os.cpu_count() or 1), start=1):
        click.echo(f"{number:3d} {test.shift} {test.level:g}", err=True)


def listing() -> str:
    """The experiments, data sets and methods that there are."""
    _check_extra()
    from slova.bench.experiments import experiments
    from slova.bench.methods import methods
    from slova.bench.settings import SETTINGS

    parts = {"experiments": list(experiments()), "trained on": list(SETTINGS), "methods": list(methods())}
    return "\n".join(f"{name}: {', '.join(values)}" for name, values in parts.items())


class _Told:
    """Says on standard error what was measured, at most once a second."""

    def __init__(self) -> None:
        self.new, self.said, self.start = 0, 0.0, time.monotonic()

    def __call__(self, rows: list[Row]) -> None:
        self.new += len(rows)
        now = time.monotonic()
        if rows and now - self.said >= 1:
            self.said, row = now, rows[-1]
            where = f"{row.test} {row.shift} {row.level:g}".strip() if row.shift else row.test
            seconds = now - self.start
            click.echo(f"{seconds:6.0f} s  {self.new:6,} rows  {row.method}, seed {row.seed}: {where}", err=True)


def _summary(rows: list[Row]) -> str:
    """The mean of every metric over sets and seeds, a line a method."""
    from slova.cli.terminal import aligned

    metrics = list(dict.fromkeys(row.metric for row in rows))
    names = list(dict.fromkeys(f"{row.method} {row.variant}".strip() for row in rows))
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        found.setdefault((f"{row.method} {row.variant}".strip(), row.metric), []).append(row.value)
    means: dict[Any, str] = {key: f"{sum(values) / len(values):.4f}" for key, values in found.items()}
    return aligned([["mean over sets", *metrics], *([n, *(means.get((n, m), "") for m in metrics)] for n in names)])


def _words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str) -> tuple[int, ...]:
    """Seeds: "3" is the first three, "0,2,5" are these."""
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.ClickException(f"--seeds wants a count such as 5, or a list such as 0,2; got {text!r}") from None
    return tuple(range(numbers[0])) if len(numbers) == 1 else numbers


def _check_extra() -> None:
    for name in ("torch", "sklearn", "tqdm"):
        try:
            importlib.import_module(name)
        except ImportError:
            raise click.ClickException(f'the comparison needs {name}: pip install "slova[bench]"') from None
