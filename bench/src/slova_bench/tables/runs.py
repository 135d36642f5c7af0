"""What was run: for every file of rows its methods, seeds and runs, and whether the code still says the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slova_bench import labels
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder, parts
from slova_bench.staleness import Freshness, State
from slova_bench.tables.assembly import in_order
from slova_bench.tables.table import NOTHING, Column, Entry, Table, number, text

__all__ = ["make", "remarks"]

HEADS = (
    "Experiment", "Trained on", "Methods (seeds)", "Rows", "Minutes", "Commit", "PyTorch", "Device", "Against the code",
)  # fmt: skip


def make(evidence: ResultsFolder, fresh: Mapping[str, Sequence[Freshness]]) -> Table:
    """A row a file."""
    rows = [_row(evidence, name, fresh.get(name, ())) for name in evidence.names]
    return Table("runs", "What was run", tuple(Column(head) for head in HEADS), tuple(rows))


def remarks(evidence: ResultsFolder, fresh: Mapping[str, Sequence[Freshness]]) -> list[str]:
    """What is left out, what a run noted of itself, and what has changed since a stale method was run."""
    found = [f"{name} is left out: {other} is there." for name, other in evidence.left_out.items()]
    for name in evidence.names:
        runs = _runs(evidence, name)
        found += [f"{name}: {note}." for note in dict.fromkeys(run["note"] for run in runs if "note" in run)]
        found += [f"{name}, {one.sentence}." for one in fresh.get(name, ()) if one.state is State.STALE]
    return found


def _row(evidence: ResultsFolder, name: str, fresh: Sequence[Freshness]) -> tuple[Entry, ...]:
    experiment, on, kind = parts(name)
    rows, runs = evidence.rows(experiment, on), _runs(evidence, name)
    minutes = sum(float(run.get("minutes", 0)) for run in runs)
    return (
        text(f"{experiment}{kind.replace('-', ', ')}"),
        text(labels.set_name(on)),
        text(_methods(rows)),
        text(len(rows)),
        number(minutes, digits=1) if runs else Entry(NOTHING),
        *(text(_listed(run.get(part, "") for run in runs)) for part in ("commit", "torch", "device")),
        text(_state(fresh)),
    )


def _runs(evidence: ResultsFolder, name: str) -> list[Mapping[str, Any]]:
    experiment, on, _ = parts(name)
    return list(evidence.record(experiment, on).get("runs", []))


def _methods(rows: Iterable[Row]) -> str:
    """Each method with its number of seeds; variants of one count once."""
    seeds: dict[str, set[int]] = {}
    for row in rows:
        seeds.setdefault(row.method, set()).add(row.seed)
    return ", ".join(f"{method} ({len(seeds[method])})" for method, _ in in_order((name, "") for name in seeds))


def _listed(parts: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(str(part) for part in parts if part)) or NOTHING


def _state(fresh: Sequence[Freshness]) -> str:
    """The states of the methods; whose they are is said where they differ."""
    states = {state: [one.method for one in fresh if one.state is state] for state in State}
    there = {state: methods for state, methods in states.items() if methods}
    if len(there) < 2:
        return next(iter(there), NOTHING)
    return "; ".join(f"{state}: {', '.join(methods)}" for state, methods in there.items())
