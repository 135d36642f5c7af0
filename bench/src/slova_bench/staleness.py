"""Staleness of rows: the recorded description of each method compared with the description of the present code.

PyTorch is imported only to describe the present code.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from slova_bench.results_folder import QUICK, ResultsFolder, parts

__all__ = ["Staleness", "State", "check_staleness", "descriptions", "judged"]


class State(StrEnum):
    """Whether the rows of a method agree with the code."""

    CURRENT = "up to date"
    STALE = "stale"
    UNKNOWN = "unknown method"  # defined in a plug-in, or removed
    UNRECORDED = "no description was recorded"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Staleness:
    """The state of one method in one experiment; `why` lists the changes."""

    method: str
    state: State
    why: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return f"{self.method}: {self.state}" + (f" ({'; '.join(self.why)})" if self.why else "")


def check_staleness(results: ResultsFolder) -> dict[str, list[Staleness]]:
    """The state of every method in every file of rows (`shift-cifar10`). An experiment or a data set that is not known
    here is not checked."""
    found = {}
    for name in results.names:
        recorded, now = _recorded(results, name), None
        if any(was is not None for was in recorded.values()):
            with contextlib.suppress(ValueError):
                now = descriptions(name)
        found[name] = judged(recorded, now)
    return found


def judged(recorded: Mapping[str, Any], now: Mapping[str, Any] | None) -> list[Staleness]:
    """Compare descriptions per method; without present ones nothing is checked."""
    return [_judged(method, was, now) for method, was in recorded.items()]


def _judged(method: str, was: Any, now: Mapping[str, Any] | None) -> Staleness:
    if was is None:
        return Staleness(method, State.UNRECORDED)
    if now is None:
        return Staleness(method, State.UNCHECKED)
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


def descriptions(name: str) -> dict[str, Any]:
    """The description of every method with every preset that has a recipe for it, in the experiment of this file."""
    from slova_bench.methods import methods
    from slova_bench.presets import PRESETS
    from slova_bench.runner import Plan

    experiment, on, _ = parts(name)
    plan = Plan(experiment=experiment, on=on, quick=name.endswith(QUICK), device="cpu", store=None, models=None)
    plan.checked()
    found: dict[str, Any] = {}
    for preset, method in itertools.product(PRESETS, methods()):
        with contextlib.suppress(ValueError):  # no published recipe
            one = replace(plan, methods=(method,), preset=preset)
            found |= one.bench().descriptions(one.chosen())
    return found
