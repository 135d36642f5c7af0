"""Cost of a prediction, one row per method with rows: networks, passes, parameters and multiply-adds."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from slova_bench import labels
from slova_bench.frame import where
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables.assembly import methods_table
from slova_bench.tables.table import Column, Entry, Table, number, text

__all__ = ["ON", "PATH", "Cost", "costs", "make"]

PATH, ON = Path(__file__).parents[1] / "cost.csv", "cifar10"
NOTES = (
    "Computed from the networks by `python -m slova_bench.cost`, not measured. Passes of the last layer alone are "
    "cheap: what comes before it is computed once.",
    "Scores and clipping (ReAct) add few operations to the pass of softmax. Training: ACET has another forward and "
    "backward pass per step of its attack, on a quarter as many images.",
)


class Cost(NamedTuple):
    """Networks to train, passes per image (`last` is 1 if only the last layer has several), parameters of all networks,
    and multiply-adds per image."""

    networks: int
    passes: int
    last: int
    parameters: int
    multiply_adds: int


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    experiments = ("shift", "ood") if on in results.sets("ood") else ("shift",)
    run = {method for name in experiments for method in where(results.rows(name, on), variant="")["method"]}
    if on != ON:
        raise MissingRowsError(f"costs are those of {ON}: run slova bench run shift --on {ON}")
    known = costs()
    base = known["softmax"].multiply_adds
    entries: dict[str, Callable[[Cost], Entry]] = {
        "Networks": lambda one: text(one.networks),
        "Passes per image": lambda one: text(f"{one.passes} of the last layer" if one.last else one.passes),
        "Parameters, million": lambda one: number(one.parameters / 1e6, digits=2),
        "Multiply-adds, million": lambda one: number(one.multiply_adds / 1e6, digits=1),
        "against softmax": lambda one: number(one.multiply_adds / base, digits=2),
    }
    found = {(name, ""): known[name] for name in run if name in known}
    columns = [
        Column(head, entries={name: entry(one) for name, one in found.items()}) for head, entry in entries.items()
    ]
    return (methods_table(f"cost-{on}", f"Cost of a prediction, {labels.set_name(on)}", columns, notes=NOTES),)


def costs() -> dict[str, Cost]:
    """The cost of each method with ResNet-20 on CIFAR-10."""
    with open(PATH, newline="", encoding="utf-8") as file:
        return {line["method"]: Cost(*(int(line[part]) for part in Cost._fields)) for line in csv.DictReader(file)}
