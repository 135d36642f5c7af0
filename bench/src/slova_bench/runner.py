"""One run of an experiment: methods, time limit, progress, and a record of the run."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import slova
from slova.artifact import atomic_path
from slova_bench import results_folder
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.experiment import Runnable, Work
from slova_bench.experiments import experiments
from slova_bench.histograms import Histograms
from slova_bench.method import Method
from slova_bench.methods import find, methods
from slova_bench.pipeline import Bench
from slova_bench.presets import preset
from slova_bench.results import Results, Row, locked
from slova_bench.store import Store
from slova_bench.train import Execution

if TYPE_CHECKING:
    from slova_bench.predictions import StoredBench

__all__ = ["Plan", "execute", "stored"]

EMBEDDED = Path(__file__).parent / "embedded"  # networks of the package
MODELS = Path(__file__).parents[2] / "models"  # networks of the repository, in a checkout
QUICK = 200  # images per test set in a quick run


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to run, and the folders of results and intermediate files."""

    experiment: str
    on: str = "digits"
    methods: tuple[str, ...] | None = None
    seeds: tuple[int, ...] = (0,)
    minutes: float | None = None
    quick: bool = False
    device: str = "auto"
    bf16: bool = False  # train in bfloat16 on a processor, as on a GPU
    data: Path | None = None
    results: Path = Path("results")
    store: Path | None = Path(".slova")
    models: Path | None = MODELS
    preset: str = "fair"
    embedded: bool = False  # use the stored logits of the package
    plugins: tuple[Path, ...] = ()  # files with further methods, which are run as well

    def checked(self) -> Runnable:
        """The experiment. Raises ValueError for an unknown experiment, data set or method."""
        known = experiments()
        if self.experiment not in known:
            raise ValueError(f"experiment must be one of {', '.join(known)}, got {self.experiment!r}")
        dataset_recipe(self.on)
        if self.embedded and self.preset != "fair":
            raise ValueError("the stored logits are of the fair preset: omit --embedded or --preset")
        chosen = self.chosen()
        for method in chosen if self.embedded else ():
            for seed in self.seeds:
                self._stored.trained(method, seed)
        return known[self.experiment]

    def chosen(self) -> list[Method]:
        """The methods with the recipes of the preset, those of plug-ins last. With stored logits, the default methods
        are restricted to those that have them."""
        own = [name for name in methods(self.plugins) if name not in methods()]
        named = dict.fromkeys((*(self.methods or experiments()[self.experiment].methods), *own))
        found = find(tuple(named), self.plugins)
        found = preset(found, self.preset, experiment=self.experiment, dataset=dataset_recipe(self.on))
        if self.embedded and self.methods is None:
            found = [method for method in found if method.name in own or self._stored.holds(method)]
        if not self.quick:
            return found
        return [replace(method, recipe=method.recipe.quick()) if method.recipe else method for method in found]

    @cached_property
    def _stored(self) -> StoredBench:
        from slova_bench.predictions import StoredBench, embedded

        return StoredBench.of(embedded(self.on))

    @property
    def rows(self) -> Results:
        """The results file."""
        return Results(self.results, f"{self.experiment}-{self.on}{self.kind}")

    @property
    def kind(self) -> str:
        """The suffix of the results file. Stored logits do not depend on `quick`."""
        return results_folder.EMBEDDED if self.embedded else results_folder.QUICK if self.quick else ""

    def bench(self) -> Bench:
        if self.embedded:
            return self._stored
        chosen = dataset_recipe(self.on)
        return Bench(
            chosen.quick() if self.quick else chosen,
            Store(self.store, self.models, EMBEDDED),
            Execution(device=_device(self.device), bf16=self.bf16),
            self.data,
            QUICK if self.quick else None,
        )


def execute(
    plan: Plan,
    report: Callable[[list[Row]], None] = lambda rows: None,
    expect: Callable[[list[int]], None] = lambda work: None,
) -> list[Row]:
    """Run a plan, or resume it: existing rows are kept. After `minutes`, or at a KeyboardInterrupt, which is raised
    again, it stops at the next row. `report` is called with new rows, `expect` once with the number of these calls per
    network."""
    experiment, bench = plan.checked(), plan.bench()
    results, chosen, start = plan.rows, plan.chosen(), time.monotonic()
    left = experiment.work(bench, results, chosen, plan.seeds)
    expect([work.steps for work in left])
    results.path.parent.mkdir(parents=True, exist_ok=True)  # early, so that a bad folder fails before training
    measured = set[str]()

    def close() -> list[Row]:
        if measured:
            _record(plan, runs=[_run(plan, bench, time.monotonic() - start)])
        Histograms(results.path).close()
        return results.close()

    try:
        for rows in stored(left, results):
            new = {row.method for row in rows} - measured
            if new:
                measured |= new
                _record(plan, bench.descriptions(method for method in chosen if method.name in new))
            report(rows)
            if plan.minutes is not None and time.monotonic() - start > 60 * plan.minutes:
                break
    except KeyboardInterrupt:
        if results.journal.exists():
            close()
        raise
    return close()


def stored(left: Sequence[Work], results: Results) -> Iterator[list[Row]]:
    """Do the work, and yield the rows of each step, which are in the results already."""
    for work in left:
        for rows in work.rows():
            results.append(rows)
            yield rows


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    there = ["cpu", "cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if name not in (there if torch.cuda.is_available() else there[:1]):
        raise ValueError(f"device {name!r} is not available; --device cpu runs everywhere")
    return torch.device(name)


def _record(plan: Plan, methods: Mapping[str, Any] | None = None, runs: Sequence[Mapping[str, Any]] = ()) -> None:
    """Add the descriptions of methods, and runs, to the record beside the rows. A method is described as soon as it has
    rows."""
    path = plan.rows.path.with_suffix(".json")
    with locked(path.parent):
        known: dict[str, Any] = {"experiment": plan.experiment, "on": plan.on, "methods": {}, "runs": []}
        known |= results_folder.read_record(path)
        known |= {"methods": known["methods"] | (methods or {}), "runs": [*known["runs"], *runs]}
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def _run(plan: Plan, bench: Bench, seconds: float) -> dict[str, Any]:
    gpu = bench.execution.device.type == "cuda"
    return {
        "commit": os.environ.get("SLOVA_COMMIT") or _commit(),
        "slova": slova.__version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name() if gpu else platform.machine() + ", bf16" * plan.bf16,
        "minutes": round(seconds / 60, 2),
        "preset": plan.preset,
        "methods": [method.name for method in plan.chosen()],
        "seeds": list(plan.seeds),
    }


def _commit() -> str:
    """The commit of the repository of this package."""
    command, where = ["git", "describe", "--always", "--dirty"], Path(slova.__file__).parent
    try:
        found = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    except OSError:  # no git
        return "unknown"
    return found.stdout.strip() or "unknown"
