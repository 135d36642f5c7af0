"""Tables of the comparison, one file each, computed from rows and written as markdown and CSV. PyTorch is not
needed.

    for table in TABLES: table.make(results, "cifar10")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import ablation, clean, cost, ood, overview, quartiles, ranks, recipes, sources, stability
from slova_bench.tables.seeds import ALPHA
from slova_bench.tables.table import Column, Entry, Table

__all__ = ["READING", "TABLES", "Column", "Entry", "Table", "TableMaker"]

EVERYWHERE = ""


@dataclass(frozen=True)
class TableMaker:
    """A kind of table: its title, the part of the paper it corresponds to, and the experiment with its rows.

    `make(results, on)` raises MissingRowsError, with the command to run, where there are no rows.
    """

    name: str
    title: str
    answers: str
    experiment: str
    make: Callable[[ResultsFolder, str], tuple[Table, ...]]
    across: bool = False  # one table for all training sets

    def sets(self, results: ResultsFolder) -> tuple[str, ...]:
        """The training sets it can be made for; an empty name if it is for all of them."""
        found = sources.sets(results, self.experiment)
        return ((EVERYWHERE,) if found else ()) if self.across else found

    def mark(self, results: ResultsFolder, on: str) -> str:
        """The suffix of its title for rows of another kind ("quick")."""
        return sources.mark(results, self.experiment, on)


TABLES = (
    TableMaker("recipes", "Recipes on equal terms", "", "recipes", recipes.make),
    TableMaker("overview", "At a glance", "Sec. 4", "shift", overview.make),
    TableMaker("clean", "The clean test set", "Sec. 4.1", "shift", clean.make),
    TableMaker("cost", "Cost of a prediction", "Sec. 4.1", "shift", cost.make),
    TableMaker("quartiles", "Quartiles over shifts", "App. C", "shift", quartiles.make),
    TableMaker("ranks", "Ranks under shift", "Fig. 6, Sec. 4.1", "shift", ranks.make),
    TableMaker("ood", "Out of distribution", "Table 1, Sec. 4.2", "ood", ood.make),
    TableMaker("ranks-ood", "Ranks out of distribution", "Fig. 7, Sec. 4.2", "ood", ranks.make_ood, across=True),
    TableMaker("ablation", "Effect of each step", "Fig. 8, Sec. 4.3", "ablation", ablation.make),
    TableMaker("stability", "Stability of the fit", "Fig. 10, App. B", "stability", stability.make),
)
READING = (
    "Numbers are means over seeds ± standard error; with one seed there is no error.",
    "Best entries are marked, as are those that cannot be distinguished from the best: a paired t-test over common "
    f"seeds, at least three, with p ≥ {ALPHA}, not corrected for the number of methods. Next to methods with three "
    "seeds, those with fewer are not marked.",
    "Ensembles of different seeds share networks, so their standard errors are too small.",
)
