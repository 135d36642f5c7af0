"""Claims about mean ranks: which rivals they distinguish from SLOVA."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slova_bench.claims.claim import Check
from slova_bench.compare import Comparison
from slova_bench.labels import look
from slova_bench.tables.seeds import Name

__all__ = ["ranking", "together"]


def ranking(comparison: Comparison, claimed: Mapping[Name, float]) -> Check:
    """Check the paper's statement per rival: alike (1) or worse (0). A rival that is better contradicts both."""
    distance, rejects = comparison.pooled.distance, comparison.pooled.rejects
    ranks, own = distance.mean_ranks, distance.mean_ranks[distance.control]
    rivals = [name for name in ranks if name != distance.control]
    alike = [name for name in rivals if name in distance.alike or not rejects]
    better = [name for name in rivals if name not in alike and ranks[name] < own]
    known = {name: bool(value) for (name, _), value in claimed.items() if name in ranks}
    holds = tuple((name in alike) == value and name not in better for name, value in known.items())
    theirs = [name for (name, _), value in claimed.items() if value]
    ahead = f"; better than it: {together(better)}" if better else ""
    numbers = ", ".join(f"{look(name).name} {rank:.2f}" for name, rank in ranks.items())
    here = f"{together(alike)}{ahead} (mean ranks {numbers}; critical distance {distance.distance:.2f})"
    return Check(f"{together(theirs)}, of {len(claimed)} rivals", here, holds)


def together(methods: Iterable[str]) -> str:
    """The displayed names of methods, separated by semicolons because names may hold commas."""
    return "; ".join(look(name).name for name in methods) or "none"
