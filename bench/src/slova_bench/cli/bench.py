"""`slova bench`: experiments of the comparison, run or listed."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from slova_bench.results import Row
    from slova_bench.runner import Plan

__all__ = ["BenchOptions", "check_extra", "listing", "make_images", "run", "told"]


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
    preset: str
    embedded: bool
    plugins: tuple[Path, ...]


def run(options: BenchOptions) -> None:
    check_extra()
    from slova_bench.runner import Plan

    plan = Plan(**{**vars(options), "methods": _words(options.methods), "seeds": _numbers(options.seeds)})
    rows, left = told(plan)
    if left:
        click.echo(f"stopped after {plan.minutes:g} minutes, {left:,} sets before the end: run it again", err=True)
    elif silent := [method.name for method in plan.chosen() if method.name not in {row.method for row in rows}]:
        click.echo(f"{plan.experiment} measures nothing of {', '.join(silent)}", err=True)
    click.echo(_summary(rows, plan.kind))


def told(plan: Plan) -> tuple[list[Row], int]:
    """A run with its progress on standard error: all rows, and how many sets are left. Interrupted, it says so and ends
    the program."""
    from slova.cli.terminal import INTERRUPTED
    from slova_bench.runner import execute

    progress = _Told()
    with _threads(1 if plan.on == "digits" else None):  # its networks are too small to share between cores
        try:
            rows = execute(plan, progress, progress.expect)
        except KeyboardInterrupt:
            kept = f"{len(plan.rows.read()):,} rows kept in {plan.rows.path}"
            click.echo(f"interrupted: {kept}; the same command goes on from there", err=True)
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


def make_images(on: str, workers: int | None, data: Path | None, store: Path) -> None:
    check_extra()
    from slova_bench.prepare import prepare
    from slova_bench.runner import Plan

    bench = Plan(experiment="shift", on=on, device="cpu", data=data, store=store).bench()
    for number, test in enumerate(prepare(bench, workers or os.cpu_count() or 1), start=1):
        click.echo(f"{number:3d} {test.shift} {test.level:g}", err=True)


def listing(plugins: tuple[Path, ...]) -> str:
    """The experiments, data sets, presets and methods that there are."""
    check_extra()
    from slova_bench.dataset_recipes import SETTINGS
    from slova_bench.experiments import experiments
    from slova_bench.methods import methods
    from slova_bench.presets import PRESETS

    parts = {
        "experiments": list(experiments()),
        "trained on": list(SETTINGS),
        "presets": list(PRESETS),
        "methods": list(methods(plugins)),
    }
    return "\n".join(f"{name}: {', '.join(values)}" for name, values in parts.items())


class _Told:
    """Says on standard error what was measured and how long the rest will take, at most once a second."""

    def __init__(self) -> None:
        self.new, self.said, self.start, self.estimate = 0, 0.0, time.monotonic(), TimeLeft([])
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
        if rows and now - self.said >= 1:
            self.said, row = now, rows[-1]
            where = f"{row.test} {row.shift} {row.level:g}" if row.shift else row.test
            passed = f"{now - self.start:6.0f} s  {self.new:6,} rows"
            click.echo(f"{passed}  about {_time(seconds)} left  {_who(row)}, seed {row.seed}: {where}", err=True)


class TimeLeft:
    """How long the rest takes, from how long each step so far took. The first of a network's sets waits for its
    training, and is counted with its kind."""

    def __init__(self, work: list[int]) -> None:
        self.steps = [
            number == 0 for sets in work for number in range(sets)
        ]  # those to come; true: the network's first
        self.taken: dict[bool, list[float]] = {True: [], False: []}

    def __call__(self, seconds: float) -> float:
        """One more step took this long: the seconds that are left."""
        self.taken[self.steps.pop(0) if self.steps else False].append(seconds)
        means = {kind: sum(taken) / len(taken) if taken else 0.0 for kind, taken in self.taken.items()}
        return sum(means[kind] for kind in self.steps)


def _time(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.0f} h"
    )


def _summary(rows: list[Row], kind: str) -> str:
    """The mean of every metric over the sets and seeds that all methods with it have, a line a method; a variant counts
    as a method."""
    from slova.cli.terminal import aligned

    found: dict[str, dict[str, dict[Any, float]]] = {}  # metric -> method -> set and seed -> value
    for row in rows:
        if not _inside(row):
            values = found.setdefault(row.metric, {}).setdefault(_who(row), {})
            values[row.test, row.shift, row.level, row.seed] = row.value
    common = {metric: set.intersection(*map(set, methods.values())) for metric, methods in found.items()}
    heads = [f"mean over sets{kind.replace('-', ', ')}", *found]
    counts = ["sets and seeds that all have", *(f"{len(cells):,}" for cells in common.values())]
    names = dict.fromkeys(map(_who, rows))
    lines = ([name, *(_mean(found[metric].get(name, {}), common[metric]) for metric in found)] for name in names)
    return aligned([heads, counts, *lines])


def _who(row: Row) -> str:
    return f"{row.method} {row.variant}".strip()


def _inside(row: Row) -> bool:
    """The confidence on the test set itself, where less is not better as it is on foreign sets."""
    own = row.test.removesuffix("-test") == row.train.removesuffix("-train")
    return (row.experiment, row.metric) == ("ood", "mmc") and own


def _mean(values: dict[Any, float], cells: set[Any]) -> str:
    shared = [value for cell, value in values.items() if cell in cells]
    return f"{sum(shared) / len(shared):.4f}" if shared else "–"


def _words(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    words = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not words:
        raise click.ClickException(f"--methods wants names such as softmax,slova; got {text!r}")
    return words


def _numbers(text: str) -> tuple[int, ...]:
    """Seeds: "3" is the first three, "0,2,5" are these, "3," is that one."""
    wanted = click.ClickException(f"--seeds wants a count such as 5, or a list such as 0,2 or 3, (got {text!r})")
    try:
        numbers = tuple(dict.fromkeys(int(part) for part in text.removesuffix(",").split(",")))
    except ValueError:
        raise wanted from None
    if min(numbers) < (0 if "," in text else 1):
        raise wanted
    return numbers if "," in text else tuple(range(numbers[0]))


def check_extra() -> None:
    for name in ("torch", "sklearn", "tqdm"):
        try:
            importlib.import_module(name)
        except ImportError:
            raise click.ClickException(f'the comparison needs {name}: pip install "slova[bench]"') from None
