"""Whether rows were made by what the code says now: each method's recorded description against its present one.

Only the present one needs PyTorch, so it comes from a process of its own; whoever reads results needs none.

    python -m slova_bench.staleness shift-cifar10 ood-digits     prints {"shift-cifar10": {"softmax": {...}, ...}, ...}
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from slova_bench.results_folder import QUICK, ResultsFolder, parts

if TYPE_CHECKING:
    from slova_bench.runner import Plan

__all__ = ["Freshness", "State", "freshness", "judged"]

SECONDS = 60  # to wait for the present descriptions

Descriptions = Mapping[str, Any]  # by method, with its preset if it has one


class State(StrEnum):
    FRESH = "as the code says"
    STALE = "stale"
    UNKNOWN = "unknown here"  # a method of a file of the user's own, or one that is gone
    UNRECORDED = "no description was recorded"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Freshness:
    """Of one method in one experiment; `why` says what has changed, or why nothing is known."""

    method: str
    state: State
    why: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return f"{self.method}: {self.state}" + (f" ({'; '.join(self.why)})" if self.why else "")


def freshness(evidence: ResultsFolder) -> dict[str, list[Freshness]]:
    """For every file of rows (`shift-cifar10`), what is to be thought of each of its methods."""
    recorded = {name: _recorded(evidence, name) for name in evidence.names}
    wanted = [name for name, found in recorded.items() if any(was is not None for was in found.values())]
    now, reason = _present(wanted) if wanted else ({}, "")
    return {name: judged(found, now.get(name), reason) for name, found in recorded.items()}


def judged(recorded: Descriptions, now: Descriptions | None, reason: str = "") -> list[Freshness]:
    """Descriptions compared one by one; without the present ones none is, for that reason."""
    return [_judged(method, was, now, reason) for method, was in recorded.items()]


def _judged(method: str, was: Any, now: Descriptions | None, reason: str) -> Freshness:
    if was is None:
        return Freshness(method, State.UNRECORDED)
    if now is None:
        return Freshness(method, State.UNCHECKED, (reason,) if reason else ())
    if method not in now:
        return Freshness(method, State.UNKNOWN)
    changes = tuple(_changes(was, now[method]))
    return Freshness(method, State.STALE if changes else State.FRESH, changes)


def _changes(was: Any, now: Any, where: str = "") -> Iterator[str]:
    """What differs, by its place in the description."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in sorted({*was, *now}):
            yield from _changes(was.get(key), now.get(key), f"{where}.{key}".strip("."))
    elif was != now:
        yield f"{where or 'description'}: was {json.dumps(was)}, is {json.dumps(now)}"


def _recorded(evidence: ResultsFolder, name: str) -> dict[str, Any]:
    """The descriptions in a record, and None for each method that has rows and no description."""
    experiment, on, _ = parts(name)
    found = evidence.record(experiment, on).get("methods", {})
    found = dict(found) if isinstance(found, Mapping) else {}
    rows = {row.method for row in evidence.rows(experiment, on) if row.train}
    lacking = sorted(rows - {key.split(" ")[0] for key in found})
    return {**dict(sorted(found.items())), **dict.fromkeys(lacking)}


def _present(names: Sequence[str]) -> tuple[dict[str, Descriptions], str]:
    """What the code says now, from a process that may import PyTorch; or nothing, and why."""
    if importlib.util.find_spec("torch") is None:
        return {}, "PyTorch is not installed"
    command = [sys.executable, "-m", "slova_bench.staleness", *names]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
        return dict(json.loads(done.stdout)), ""
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return {}, f"the code could not be asked: {type(error).__name__}"


def _descriptions(name: str) -> dict[str, Any]:
    """Of every method there is, with every preset that has a recipe for it, as the experiment of this file runs it."""
    from slova_bench.methods import methods
    from slova_bench.presets import PRESETS

    _plan(name).checked()
    found: dict[str, Any] = {}
    for preset in PRESETS:
        for method in methods():
            with contextlib.suppress(ValueError):  # nobody published a recipe
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


def _print(names: Sequence[str]) -> None:
    """An experiment or a data set that is not known here has no descriptions."""
    found: dict[str, Any] = {}
    for name in names:
        with contextlib.suppress(ValueError):
            found[name] = _descriptions(name)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    _print(sys.argv[1:])
