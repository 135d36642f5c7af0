"""The paper, part by part, in `docs/results.md`: where each part is, with how many seeds, and what differs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from slova_bench import labels
from slova_bench.exhibits import PAPER_ITEMS, experiment_for
from slova_bench.frame import seed_counts
from slova_bench.paper_parts import BASELINES, DIFFERENCES, FORMULAS, PLANS, UNJUDGED, Part
from slova_bench.report.sections import Section
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.seeds import span
from slova_bench.tables.table import plain

__all__ = ["COMMAND", "paper_section", "seeds"]

COMMAND = "slova bench report --docs docs"
ELSEWHERE = {"Fig. 3": "[the method](method.md)"}
HEAD = "| In the paper | What it is | Here | Seeds | What differs |\n| --- | --- | --- | --- | --- |"
ABOUT = (
    "Everything that the paper defines, states, draws, compares with or plans. Seeds are counted in rows, from the "
    "method with the fewest to the one with the most. More on the differences: [deviations](deviations.md)."
)
CLAIMS = Part("Sec. 1, 3 to 5", "claims", "[claims](#claims), each with its verdict")


def paper_section(results: ResultsFolder, shown: Sequence[Section]) -> list[str]:
    groups: dict[str, Iterable[Part]] = {
        "Definitions, equations, the theorem": FORMULAS,
        "Figures and tables": _items(shown),
        "Methods": BASELINES,
        "Claims": (CLAIMS, *UNJUDGED),
        "Limitations and future work": PLANS,
    }
    sections = (f"**{name}**\n\n{_table(results, parts)}" for name, parts in groups.items())
    return ["## The paper, part by part", ABOUT, *sections]


def seeds(results: ResultsFolder, counted: Iterable[str]) -> str:
    """The numbers of seeds by training set: `CIFAR-10 3 to 5` of an experiment, `shift: CIFAR-10 5` of a method."""
    return "; ".join(words for one in counted if (words := _seeds(results, one))) or "–"


def _table(results: ResultsFolder, parts: Iterable[Part]) -> str:
    lines = [
        f"| {one.name} | {plain(one.what)} | {one.here} | {seeds(results, one.counted)} | {plain(one.differs) or '–'} |"
        for one in parts
    ]
    return "\n".join([HEAD, *lines])


def _items(shown: Sequence[Section]) -> Iterator[Part]:
    for item, what in PAPER_ITEMS.items():
        links = dict.fromkeys(f"[{plain(one.heading)}](#{one.anchor})" for one in shown if one.exhibit.is_for(item))
        here = ", ".join(links) or ELSEWHERE.get(item) or _missing(item)
        experiment = experiment_for(item)
        yield Part(item, what, here, DIFFERENCES.get(item, ""), (experiment,) if experiment else ())


def _missing(item: str) -> str:
    """The command for a part of the paper that has no counterpart yet."""
    experiment = experiment_for(item)
    return f"not run yet: `slova bench run {experiment} --on cifar10`" if experiment else f"not drawn: `{COMMAND}`"


def _seeds(results: ResultsFolder, counted: str) -> str:
    if counted.endswith(".csv"):
        return _measured(results.folder.resolve().parents[1] / "benchmarks" / "results" / counted)
    experiment, _, method = counted.partition("/")
    found = [(on, _counts(results, experiment, on, method)) for on in results.sets(experiment)]
    words = [f"{labels.set_name(on)} {span(counts)}" for on, counts in found if counts]
    name = f"{labels.look(method).name}, {experiment}: " if method else ""
    return f"{name}{', '.join(words)}" if words else ""


def _counts(results: ResultsFolder, experiment: str, on: str, method: str) -> list[int]:
    """The number of seeds of each method, apart from further fits, or of one."""
    counts = seed_counts(results.rows(experiment, on), "method")
    usual = [name for name in counts.index if name not in labels.VARIANTS]
    return [int(counts[name]) for name in ([method] if method else usual) if name in counts.index]


def _measured(path: Path) -> str:
    if not path.exists():
        return ""
    with open(path, newline="", encoding="utf-8") as file:
        return str(len({row["seed"] for row in csv.DictReader(file)}))
