"""Staleness of rows: the recorded description of each method compared with the description of the present code.

PyTorch is imported only to describe the present code. Without PyTorch nothing is checked.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from slova_bench.results_folder import QUICK, ResultsFolder, parts

if TYPE_CHECKING:
    from slova_bench.runner import Plan

__all__ = ["Staleness", "State", "check_staleness", "descriptions", "judged"]

Descriptions = Mapping[str, Any]  # by method, with its preset if it has one


class State(StrEnum):
    """Whether the rows of a method agree with the code."""

    CURRENT = "up to date"
    STALE = "stale"
    UNKNOWN = "unknown method"  # defined in a plug-in, or removed
    UNRECORDED = "no description was recorded"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Staleness:
    """The state of one method in one experiment; `why` lists the changes, or the reason why it was not checked."""

    method: str
    state: State
    why: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return f"{self.method}: {self.state}" + (f" ({'; '.join(self.why)})" if self.why else "")


def check_staleness(results: ResultsFolder) -> dict[str, list[Staleness]]:
    """The state of every method in every file of rows (`shift-cifar10`)."""
    recorded = {name: _recorded(results, name) for name in results.names}
    described = [name for name, found in recorded.items() if any(was is not None for was in found.values())]
    now, reason = _present(described) if described else ({}, "")
    return {name: judged(found, now.get(name), reason) for name, found in recorded.items()}


def judged(recorded: Descriptions, now: Descriptions | None, reason: str = "") -> list[Staleness]:
    """Compare descriptions per method; without present ones nothing is checked, for the given reason."""
    return [_judged(method, was, now, reason) for method, was in recorded.items()]


def _judged(method: str, was: Any, now: Descriptions | None, reason: str) -> Staleness:
    if was is None:
        return Staleness(method, State.UNRECORDED)
    if now is None:
        return Staleness(method, State.UNCHECKED, (reason,) if reason else ())
    if method not in now:
        return Staleness(method, State.UNKNOWN)
    changes = tuple(_changes(was, now[method]))
    return Staleness(method, State.STALE if changes else State.CURRENT, changes)


def _changes(was: Any, now: Any, where: str = "") -> Iterator[str]:
    """The differences, by their path in the description."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in sorted({*was, *now}):
            yield from _changes(was.get(key), now.get(key), f"{where}.{key}".strip("."))
    elif was != now:
        yield f"{where or 'description'}: was {json.dumps(was)}, is {json.dumps(now)}"


def _recorded(results: ResultsFolder, name: str) -> dict[str, Any]:
    """The descriptions in a record, and None for each method with rows but no description."""
    experiment, on, _ = parts(name)
    found = results.record(experiment, on).get("methods", {})
    found = dict(found) if isinstance(found, Mapping) else {}
    found_rows = results.rows(experiment, on)
    rows = set(found_rows.loc[found_rows["train"] != "", "method"])
    lacking = sorted(rows - {key.split(" ")[0] for key in found})
    return {**dict(sorted(found.items())), **dict.fromkeys(lacking)}


def _present(names: Sequence[str]) -> tuple[dict[str, Descriptions], str]:
    """The descriptions of the present code; without PyTorch none, and the reason."""
    try:
        import_module("torch")
    except ImportError:
        return {}, "PyTorch is not installed"
    found: dict[str, Descriptions] = {}
    for name in names:
        with contextlib.suppress(ValueError):  # an experiment or a data set that is not known here
            found[name] = descriptions(name)
    return found, ""


def descriptions(name: str) -> dict[str, Any]:
    """The description of every method with every preset that has a recipe for it, in the experiment of this file."""
    from slova_bench.methods import methods
    from slova_bench.presets import PRESETS

    _plan(name).checked()
    found: dict[str, Any] = {}
    for preset in PRESETS:
        for method in methods():
            with contextlib.suppress(ValueError):  # no published recipe
                found |= _described(name, method, preset)
    return found


def _described(name: str, method: str, preset: str) -> dict[str, Any]:
    plan = replace(_plan(name), methods=(method,), preset=preset)
    bench = plan.bench()
    return {f"{one.name} {one.preset}".strip(): bench.description(one) for one in plan.chosen()}


def _plan(name: str) -> Plan:
    from slova_bench.runner import Plan

    experiment, on, _ = parts(name)
    return Plan(experiment=experiment, on=on, quick=name.endswith(QUICK), device="cpu", store=None, models=None)
