"""The runs: methods, seeds, device and staleness of every file of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slova_bench import labels
from slova_bench.frame import Frame, seed_counts
from slova_bench.results_folder import ResultsFolder, parts
from slova_bench.staleness import Staleness, State
from slova_bench.tables.table import NOTHING, Column, Entry, Table, number, text

__all__ = ["make", "remarks"]

HEADS = (
    "Experiment", "Trained on", "Methods (seeds)", "Rows", "Minutes", "Commit", "PyTorch", "Device", "Against the code",
)  # fmt: skip


def make(results: ResultsFolder, states: Mapping[str, Sequence[Staleness]]) -> Table:
    """One row per file."""
    rows = [_row(results, name, states.get(name, ())) for name in results.names]
    return Table("runs", "Runs", tuple(Column(head) for head in HEADS), tuple(rows))


def remarks(results: ResultsFolder, states: Mapping[str, Sequence[Staleness]]) -> list[str]:
    """Notes: files that are left out, notes of runs, and the changes since stale methods were run."""
    found = [f"{name} is left out: {other} is there." for name, other in results.left_out.items()]
    for name in results.names:
        runs = _runs(results, name)
        found += [f"{name}: {note}." for note in dict.fromkeys(run["note"] for run in runs if "note" in run)]
        found += [f"{name}, {one.sentence}." for one in states.get(name, ()) if one.state is State.STALE]
    return found


def _row(results: ResultsFolder, name: str, states: Sequence[Staleness]) -> tuple[Entry, ...]:
    experiment, on, kind = parts(name)
    rows, runs = results.rows(experiment, on), _runs(results, name)
    minutes = sum(float(run.get("minutes", 0)) for run in runs)
    return (
        text(f"{experiment}{kind.replace('-', ', ')}"),
        text(labels.set_name(on)),
        text(_methods(rows)),
        text(len(rows)),
        number(minutes, digits=1) if runs else Entry(NOTHING),
        *(text(_listed(run.get(part, "") for run in runs)) for part in ("commit", "torch", "device")),
        text(_state(states)),
    )


def _runs(results: ResultsFolder, name: str) -> list[Mapping[str, Any]]:
    experiment, on, _ = parts(name)
    return list(results.record(experiment, on).get("runs", []))


def _methods(rows: Frame) -> str:
    """Methods with their numbers of seeds, variants combined."""
    seeds = seed_counts(rows, "method")
    return ", ".join(f"{method} ({seeds[method]})" for method in labels.ordered(seeds.index))


def _listed(parts: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(str(part) for part in parts if part)) or NOTHING


def _state(states: Sequence[Staleness]) -> str:
    """The state of all methods, or the methods in each state where they differ."""
    found = {state: [one.method for one in states if one.state is state] for state in State}
    by_state = {state: methods for state, methods in found.items() if methods}
    if len(by_state) < 2:
        return next(iter(by_state), NOTHING)
    return "; ".join(f"{state}: {', '.join(methods)}" for state, methods in by_state.items())
