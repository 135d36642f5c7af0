"""The runs: methods, seeds, device and staleness of every file of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slova_bench import labels
from slova_bench.frame import seed_counts
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
        found += [f"{name}: {note}." for note in dict.fromkeys(run.get("note") for run in _runs(results, name)) if note]
        found += [f"{name}, {one.sentence}." for one in states.get(name, ()) if one.state is State.STALE]
    return found


def _row(results: ResultsFolder, name: str, states: Sequence[Staleness]) -> tuple[Entry, ...]:
    experiment, on, kind = parts(name)
    rows, runs = results.rows(experiment, on), _runs(results, name)
    seeds = seed_counts(rows, "method")
    listed = [dict.fromkeys(str(run[part]) for run in runs if run.get(part)) for part in ("commit", "torch", "device")]
    return (
        text(f"{experiment}{kind.replace('-', ', ')}"),
        text(labels.set_name(on)),
        text(", ".join(f"{method} ({seeds[method]})" for method in labels.ordered(seeds.index))),
        text(len(rows)),
        number(sum(float(run.get("minutes", 0)) for run in runs), digits=1) if runs else Entry(NOTHING),
        *(text(", ".join(found) or NOTHING) for found in listed),
        text(_state(states)),
    )


def _runs(results: ResultsFolder, name: str) -> list[Mapping[str, Any]]:
    experiment, on, _ = parts(name)
    return list(results.record(experiment, on).get("runs", []))


def _state(states: Sequence[Staleness]) -> str:
    """The state of all methods, or the methods in each state where they differ."""
    found = {state: [one.method for one in states if one.state is state] for state in State}
    by_state = {state: methods for state, methods in found.items() if methods}
    if len(by_state) < 2:
        return next(iter(by_state), NOTHING)
    return "; ".join(f"{state}: {', '.join(methods)}" for state, methods in by_state.items())
