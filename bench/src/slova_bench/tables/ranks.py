"""Mean ranks, and the methods that cannot be distinguished from SLOVA (Fig. 6 and 7): Friedman's test and the
Bonferroni-Dunn distance.

Ranks are computed per seed, and their means over seeds are shown, among the methods of the paper: every further variant
of a method would change the ranks of the others.
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
from slova_bench.tables.assembly import label, methods_table
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.table import BEST, Column, Table, number, text

__all__ = [
    *("ALIKE", "BETTER", "WORSE", "against", "make", "make_ood", "ood_comparison", "p_value", "shift_comparison"),
    "uncalibrated_comparison",
]

CONTROL, UNCALIBRATED = "slova", "slova_raw"
ALIKE, BETTER, WORSE = "not distinguished", "better", "worse"
TOGETHER = "All three"


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Ranks under shift: per metric and for the three together, also per seed, and among all methods."""
    rows = results.rows("shift", on)
    rows = rows[~rows["method"].isin(labels.VARIANTS)]  # nearly the same as others, whose ranks they would change
    groups = {**{labels.metric(metric).name: (metric,) for metric in METRICS}, TOGETHER: METRICS}
    found, everyone = (
        {name: shift_comparison(rows, paper, metrics) for name, metrics in groups.items()}
        for paper in (results.paper, rows.iloc[:0])
    )
    together, every = (one[TOGETHER].pooled.mean_ranks for one in (found, everyone))
    title = f"Mean ranks under shift, {labels.set_name(on)}"
    own = f"{title}, the paper's methods" if len(every) > len(together) else title
    tables = [_of_comparisons(f"ranks-{on}", own, found)]
    per_seed = {f"Seed {seed}": ranking for seed, ranking in found[TOGETHER].per_seed.items()}
    if len(per_seed) > 1:
        columns, notes = [_ranked(*one) for one in per_seed.items()], [_verdict(*one) for one in per_seed.items()]
        words = f"{own}, seed by seed, all three metrics"
        tables.append(methods_table(f"ranks-seeds-{on}", words, columns, notes=notes, aside=True))
    if len(every) > len(together):
        tables.append(_of_comparisons(f"ranks-all-{on}", f"{title}, all methods", everyone, aside=True))
    return tuple(tables)


def make_ood(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Ranks of the MMC over all pairs of a training set and an OOD set; `on` is ignored."""
    found = uncalibrated_comparison(rows_across(results, "ood"), results.paper)
    title = f"Mean ranks of the MMC over {len(found.cells)} pairs of sets"
    return (_of_comparisons("ranks-ood", title, {"MMC": found}),)


def shift_comparison(rows: Frame, paper: Frame, metrics: Sequence[str] = METRICS) -> Comparison:
    """Compare the methods of the paper under its shifts, where these are present."""
    found = where(rows, shift=["", *shift_groups(rows)[0]], metric=metrics)
    return _compared(found, metrics, _comparable(found, paper, "shift"))


def ood_comparison(rows: Frame, paper: Frame, control: str = CONTROL) -> Comparison:
    """Compare the MMC on the pairs of a training and an OOD set of the paper; without these, on all OOD sets."""
    every = where(rows, metric="mmc")
    outside = every[every["test"].str.split("-").str[0] != every["train"].str.split("-").str[0]]
    chosen = published.pairs(outside, paper)
    outside = chosen if len(chosen) else outside
    if not len(outside):
        raise MissingRowsError("there are no rows of ood on OOD sets: run slova bench run ood --on cifar10")
    return _compared(outside, ("mmc",), _comparable(outside, paper, "ood", control), control)


def uncalibrated_comparison(rows: Frame, paper: Frame) -> Comparison:
    """That of Fig. 7: the paper does not calibrate SLOVA on OOD data. Without such rows, of the calibrated SLOVA."""
    return ood_comparison(rows, paper, UNCALIBRATED if (rows["method"] == UNCALIBRATED).any() else CONTROL)


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


def _of_comparisons(name: str, title: str, found: Mapping[str, Comparison], *, aside: bool = False) -> Table:
    """Means over seeds of the mean ranks; by the last of them whether each method differs from the control."""
    head, last = list(found.items())[-1]
    control = last.pooled.control
    words = {(name, ""): text(against(last.pooled, name)) for name in last.pooled.mean_ranks if name != control}
    columns = [_ranked(metric, one.pooled) for metric, one in found.items()]
    columns.append(Column(f"{head}, against {label((control, ''))}", entries=words))
    notes = [_verdict(metric, one.pooled) for metric, one in found.items()]
    caution = f"{last.caution[:1].upper()}{last.caution[1:]}." if last.caution else ""
    return methods_table(name, title, columns, notes=[*notes, _left_out(last), caution], aside=aside)


def _ranked(head: str, ranking: Ranking) -> Column:
    ranks = ranking.mean_ranks
    best = min(ranks.values())
    entries = {(name, ""): number(rank, digits=2, mark=BEST if rank == best else "") for name, rank in ranks.items()}
    return Column(head, entries=entries)


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


def _left_out(one: Comparison) -> str:
    """The seeds that are left out, and the methods without rows."""
    seeds = sorted({seed for _, seed in one.dropped})
    lacking = labels.in_order({(name, "") for names in one.dropped.values() for name in names})
    if not seeds:
        return ""
    missing = "; ".join(label(name) for name in lacking)
    return f"Seeds {', '.join(map(str, seeds))} are left out in all or some cells: rows of {missing} are missing."
