"""Mean ranks, and the methods that cannot be distinguished from SLOVA (Fig. 6 and 7): Friedman's test and the
Bonferroni-Dunn distance.

Ranks are computed from means over seeds, and per seed, among the methods of the paper: every further variant of a
method would change the ranks of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from slova_bench import labels
from slova_bench.compare import Comparison, compare
from slova_bench.exhibit import rows_across
from slova_bench.frame import Frame, shift_groups, where
from slova_bench.ranks import Ranking
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import Part, label, methods_table
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.table import BEST, Column, Table, number, text

__all__ = [
    *("ALIKE", "BETTER", "CONTROL", "WORSE", "against", "make", "make_ood", "ood_comparison", "p_value"),
    "shift_comparison",
]

CONTROL = "slova"
ALIKE, BETTER, WORSE = "not distinguished", "better", "worse"
TOGETHER = "All three"


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Ranks under shift: per metric and for the three together, also per seed, and among all methods."""
    rows = results.rows("shift", on)
    rows = rows[~rows["method"].isin(labels.VARIANTS)]  # nearly the same as others, whose ranks they would change
    found, everyone = _comparisons(rows, results.paper), _comparisons(rows, rows.iloc[:0])
    title = f"Mean ranks under shift, {labels.set_name(on)}"
    own = f"{title}, the paper's methods" if _more(everyone, found) else title
    tables = [_table(f"ranks-{on}", own, _pooled(found), found)]
    per_seed = {f"Seed {seed}": ranking for seed, ranking in found[TOGETHER].per_seed.items()}
    if len(per_seed) > 1:
        words = f"{own}, seed by seed, all three metrics"
        tables.append(_table(f"ranks-seeds-{on}", words, per_seed, {}, aside=True))
    if _more(everyone, found):
        tables.append(_table(f"ranks-all-{on}", f"{title}, all methods", _pooled(everyone), everyone, aside=True))
    return tuple(tables)


def _pooled(found: Mapping[str, Comparison]) -> dict[str, Ranking]:
    return {name: one.pooled for name, one in found.items()}


def _more(one: Mapping[str, Comparison], other: Mapping[str, Comparison]) -> bool:
    methods = [len(found[TOGETHER].pooled.mean_ranks) for found in (one, other)]
    return methods[0] > methods[1]


def make_ood(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Ranks of the MMC over all pairs of a training set and an OOD set; `on` is ignored."""
    found = ood_comparison(rows_across(results, "ood"), results.paper)
    title = f"Mean ranks of the MMC over {len(found.cells)} pairs of sets"
    return (_table("ranks-ood", title, {"MMC": found.pooled}, {"MMC": found}),)


def _comparisons(rows: Frame, paper: Frame) -> dict[str, Comparison]:
    """Per metric, and for the three together."""
    groups = {**{labels.metric(metric).name: (metric,) for metric in METRICS}, TOGETHER: METRICS}
    return {name: shift_comparison(rows, paper, metrics) for name, metrics in groups.items()}


def shift_comparison(rows: Frame, paper: Frame, metrics: Sequence[str] = METRICS) -> Comparison:
    """Compare the methods of the paper under its shifts, where these are present."""
    found = where(rows, shift=["", *shift_groups(rows)[0]], metric=metrics)
    return _compared(found, metrics, _comparable(found, paper, "shift"))


def ood_comparison(rows: Frame, paper: Frame, control: str = CONTROL) -> Comparison:
    """Compare the MMC on OOD data sets, for the training sets of the paper. Without these, compare on all OOD sets."""
    every = where(rows, metric="mmc")
    outside = every[every["test"].str.split("-").str[0] != every["train"].str.split("-").str[0]]
    real = outside[outside["test"].str.endswith("-test")]
    chosen = where(real, train=where(paper, experiment="ood")["train"].unique())
    outside = chosen if len(chosen) else outside
    if not len(outside):
        raise MissingRowsError("there are no rows of ood on OOD sets: run slova bench run ood --on cifar10")
    return _compared(outside, ("mmc",), _comparable(outside, paper, "ood", control), control)


def _compared(rows: Frame, metrics: Sequence[str], names: Sequence[str], control: str = CONTROL) -> Comparison:
    try:
        return compare(rows, metrics=metrics, control=control, methods=names)
    except ValueError as error:
        experiment = rows["experiment"].iloc[0]
        raise MissingRowsError(f"nothing can be ranked ({error}): run slova bench run {experiment}") from None


def _comparable(rows: Frame, paper: Frame, experiment: str, control: str = CONTROL) -> list[str]:
    """The methods of the paper with as many cells as the control at its first seed; without the paper, all methods.

    Another control replaces SLOVA.
    """
    plain = where(rows, variant="")
    seed = where(plain, method=control)["seed"].min()
    if pd.isna(seed):
        raise MissingRowsError(f"there are no rows of {control} in {experiment}: run slova bench run {experiment}")
    counts = where(plain, seed=seed)["method"].value_counts(sort=False)
    whole = (method for method, count in counts.items() if count >= counts[control])
    ours = [method for method in whole if method not in labels.SCORES]  # which have no confidence of their own
    theirs = set(published.counterparts(paper, experiment, ours) or ours)
    rivals = theirs - {CONTROL} | {control}
    return [method for method in ours if method in rivals]


def _table(
    name: str, title: str, rankings: Mapping[str, Ranking], of: Mapping[str, Comparison], *, aside: bool = False
) -> Table:
    parts = [_ranked(head, ranking) for head, ranking in rankings.items()]
    parts += [_against(head, ranking) for head, ranking in list(rankings.items())[-1:] if of]
    notes = [*(_verdict(head, ranking) for head, ranking in rankings.items()), *_cautions(list(of.values())[-1:])]
    return methods_table(name, title, parts, notes=notes, aside=aside)


def _ranked(head: str, ranking: Ranking) -> Part:
    ranks = ranking.mean_ranks
    best = min(ranks.values())
    entries = {(m, ""): number(rank, digits=2, mark=BEST if rank == best else "") for m, rank in ranks.items()}
    return Part(Column(head), entries)


def _against(head: str, ranking: Ranking) -> Part:
    """Whether each method differs from the control, and in which direction."""
    words = {(name, ""): text(against(ranking, name)) for name in ranking.mean_ranks if name != ranking.control}
    return Part(Column(f"{head}, against {label((ranking.control, ''))}"), words)


def against(ranking: Ranking, name: str) -> str:
    """Whether a method is better or worse than the control, or not distinguished from it."""
    if name in ranking.alike or not ranking.rejects:
        return ALIKE
    return BETTER if ranking.mean_ranks[name] < ranking.mean_ranks[ranking.control] else WORSE


def _verdict(head: str, ranking: Ranking) -> str:
    start = f"{head}: {ranking.cells} cells, {len(ranking.mean_ranks)} methods, Friedman's test {p_value(ranking)}"
    if not ranking.rejects:
        return f"{start}: no method differs."
    alike = "; ".join(label((name, "")) for name in ranking.alike) or "none"
    control = label((ranking.control, ""))
    return f"{start}, critical distance {ranking.distance:.2f}; not distinguished from {control}: {alike}."


def p_value(ranking: Ranking) -> str:
    return "p < 0.001" if ranking.p < 0.001 else f"p = {ranking.p:.3f}"


def _cautions(of: Sequence[Comparison]) -> list[str]:
    caution = [f"{one.caution[:1].upper()}{one.caution[1:]}." for one in of if one.caution]
    return [*(_left_out(one) for one in of), *caution]


def _left_out(one: Comparison) -> str:
    """The seeds that are left out, and the methods without rows."""
    seeds = sorted({seed for _, seed in one.dropped})
    lacking = labels.in_order({(name, "") for names in one.dropped.values() for name in names})
    if not seeds:
        return ""
    missing = "; ".join(label(name) for name in lacking)
    return f"Seeds {', '.join(map(str, seeds))} are left out in all or some cells: rows of {missing} are missing."
