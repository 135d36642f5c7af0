"""Tables of the comparison, one file each, computed from rows and written as markdown and CSV. PyTorch is not
needed.

    for exhibit in TABLES: exhibit.make(results, "cifar10")
"""

from __future__ import annotations

from functools import partial

from slova_bench.exhibit import Exhibit, Kind
from slova_bench.tables import contests, cost, differences, ood, overview, quartiles, ranks, recipes, stability
from slova_bench.tables.seeds import ALPHA
from slova_bench.tables.table import Column, Entry, Table

__all__ = ["READING", "TABLES", "Column", "Entry", "Table"]

_table = partial(Exhibit, Kind.TABLE)
TABLES = (
    _table("recipes", "Recipes on equal terms", "", "recipes", recipes.make),
    _table("overview", "At a glance", "Sec. 4", "shift", overview.make),
    _table("clean", "The clean test set", "Sec. 4.1", "shift", quartiles.clean),
    _table("cost", "Cost of a prediction", "Sec. 4.1", "shift", cost.make),
    _table("quartiles", "Quartiles over shifts", "App. C", "shift", quartiles.make),
    _table("contests", "Methods against each other", "", "shift", contests.make),
    _table("differences", "Differences from the paper's ECE", "App. C", "noise", differences.make),
    _table("ranks", "Ranks under shift", "Fig. 6, Sec. 4.1", "shift", ranks.make),
    _table("ood", "Out of distribution", "Table 1, Sec. 4.2", "ood", ood.make),
    _table("ranks-ood", "Ranks out of distribution", "Fig. 7, Sec. 4.2", "ood", ranks.make_ood, across=True),
    _table("ablation", "Effect of each step", "Fig. 8, Sec. 4.3", "ablation", quartiles.ablation),
    _table("stability", "Stability of the fit", "Fig. 10, App. B", "stability", stability.make),
)
READING = (
    "Numbers are means over seeds ± standard error; with one seed there is no error.",
    "Best entries are marked, as are those that cannot be distinguished from the best: a paired t-test over common "
    f"seeds, at least three, with p ≥ {ALPHA}, not corrected for the number of methods. Next to methods with three "
    "seeds, those with fewer are not marked.",
    "Ensembles of different seeds share networks, so their standard errors are too small.",
)
