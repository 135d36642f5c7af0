"""Claims about mean ranks, seed by seed: which rivals they distinguish from SLOVA, and its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slova_bench.claims.claim import Check
from slova_bench.claims.numbers import ordinal, seeds_of
from slova_bench.compare import Comparison
from slova_bench.frame import Name
from slova_bench.labels import look
from slova_bench.tables.ranks import ALIKE, BETTER, WORSE, against

__all__ = ["ahead_of", "ranking", "together"]


def ranking(comparison: Comparison, claimed: Mapping[Name, float]) -> Check:
    """Check the paper's statement per rival and seed: alike (1) or worse (0). A rival that is better contradicts
    both."""
    seeds, ranks = comparison.whole, comparison.pooled.mean_ranks
    control = comparison.pooled.control
    said = {name: [against(one, name) for one in seeds] for name in ranks if name != control}
    known = {name: ALIKE if value else WORSE for (name, _), value in claimed.items() if name in said}
    holds = tuple(word == known[name] for name in known for word in said[name])
    ahead = f"; better than it: {_counted(said, BETTER)}" if any(BETTER in own for own in said.values()) else ""
    distance = f"critical distance {seeds[0].distance:.2f} over {seeds[0].cells} sets"
    here = f"{_counted(said, ALIKE)}{ahead} (mean ranks {_listed(ranks)}; {distance}; {seeds_of(seeds)})"
    theirs = together(name for (name, _), value in claimed.items() if value)
    return Check(f"{theirs}, of {len(claimed)} rivals", here, holds)


def ahead_of(comparison: Comparison) -> tuple[list[set[str]], str]:
    """The methods with a better mean rank than the control at each seed, and its places as text."""
    seeds, control = [one.mean_ranks for one in comparison.whole], comparison.pooled.control
    ahead = [{name for name, rank in ranks.items() if rank < ranks[control]} for ranks in seeds]
    places = f"{', '.join(ordinal(1 + len(names)) for names in ahead)} of {len(seeds[0])} at {seeds_of(seeds)}"
    return ahead, f"{places} (mean ranks {_listed(comparison.pooled.mean_ranks)})"


def together(methods: Iterable[str]) -> str:
    """The displayed names of methods, separated by semicolons because names may hold commas."""
    return "; ".join(look(name).name for name in methods) or "none"


def _counted(said: Mapping[str, list[str]], word: str) -> str:
    """The rivals with this word, and at how many of the seeds."""
    found = {name: own.count(word) for name, own in said.items() if word in own}
    words = (
        look(name).name + ("" if number == len(said[name]) else f" ({number} of {len(said[name])} seeds)")
        for name, number in found.items()
    )
    return "; ".join(words) or "none"


def _listed(ranks: Mapping[str, float]) -> str:
    return ", ".join(f"{look(name).name} {rank:.2f}" for name, rank in ranks.items())
