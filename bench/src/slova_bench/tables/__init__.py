"""Tables of the comparison, one file each: rows of results in, values out, which write themselves as markdown, LaTeX
and CSV. Nothing here needs PyTorch.

    for table in TABLES: table.make(evidence, "cifar10")
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import ablation, clean, ood, overview, quartiles, ranks, sources, stability
from slova_bench.tables.seeds import ALPHA
from slova_bench.tables.table import Column, Entry, Table

__all__ = ["READING", "TABLES", "Column", "Entry", "Table", "TableMaker", "write_tables"]

EVERYWHERE = ""


@dataclass(frozen=True)
class TableMaker:
    """A kind of table: what it shows, which part of the paper it answers to, and the experiment that has its rows.

    `make(evidence, on)` raises MissingRowsError, which says what to run, where there are none.
    """

    name: str
    title: str
    answers: str
    experiment: str
    make: Callable[[ResultsFolder, str], tuple[Table, ...]]
    across: bool = False  # one for all training sets together

    def sets(self, evidence: ResultsFolder) -> tuple[str, ...]:
        """The training sets that it can be made for; one without a name where it takes them all together."""
        found = sources.sets(evidence, self.experiment)
        return ((EVERYWHERE,) if found else ()) if self.across else found

    def mark(self, evidence: ResultsFolder, on: str) -> str:
        """What its title says of the kind of its rows."""
        return sources.mark(evidence, self.experiment, on)


TABLES = (
    TableMaker("overview", "At a glance", "Sec. 4", "shift", overview.make),
    TableMaker("clean", "The clean test set", "Sec. 4.1", "shift", clean.make),
    TableMaker("quartiles", "Quartiles over shifts", "App. C", "shift", quartiles.make),
    TableMaker("ranks", "Ranks under shift", "Fig. 6, Sec. 4.1", "shift", ranks.make),
    TableMaker("ood", "Out of distribution", "Table 1, Sec. 4.2", "ood", ood.make),
    TableMaker("ranks-ood", "Ranks out of distribution", "Fig. 7, Sec. 4.2", "ood", ranks.make_ood, across=True),
    TableMaker("ablation", "What each step adds", "Fig. 8, Sec. 4.3", "ablation", ablation.make),
    TableMaker("stability", "Stability of the fit", "Fig. 10, App. B", "stability", stability.make),
)
READING = (
    "Numbers are means over seeds, ± their standard error; with one seed there is none.",
    "Best entries are marked, and those that cannot be told from the best: a paired t-test over the seeds both have, "
    f"three or more, with p ≥ {ALPHA}, not corrected for the number of methods. Beside methods with three seeds those "
    "with fewer are not marked.",
    "Ensembles of different seeds share some of their networks, so that their standard errors are too small.",
)


def write_tables(evidence: ResultsFolder, folder: Path) -> list[Path]:
    """Every table that there are rows for, as markdown, LaTeX and CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for table in _all(evidence):
        for suffix, content in (("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())):
            written.append(folder / f"{table.name}.{suffix}")
            written[-1].write_text(content, encoding="utf-8", newline="")
    return written


def _all(evidence: ResultsFolder) -> Iterator[Table]:
    for maker in TABLES:
        for on in maker.sets(evidence):
            with contextlib.suppress(MissingRowsError):
                yield from maker.make(evidence, on)
