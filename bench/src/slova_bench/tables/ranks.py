"""Mean ranks, and the methods that cannot be distinguished from SLOVA (Fig. 6 and 7): Friedman's test and the
Bonferroni-Dunn distance.

Ranks are computed from means over seeds, and per seed, among the methods of the paper: every further variant of a
method would change the ranks of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slova_bench import labels
from slova_bench.compare import Comparison, Verdict, compare
from slova_bench.results import Row
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import Part, in_order, label, methods_table
from slova_bench.tables.ood import is_data
from slova_bench.tables.quartiles import METRICS, shift_groups
from slova_bench.tables.table import BEST, Column, Table, number, text

__all__ = ["CONTROL", "make", "make_ood", "ood_comparison", "shift_comparison"]

CONTROL = "slova"
TOGETHER = "All three"


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Ranks under shift: per metric and for the three together, also per seed, and among all methods."""
    rows = results.rows("shift", on)
    found, everyone = _comparisons(rows, results.paper), _comparisons(rows, ())
    title = f"Mean ranks under shift, {labels.set_name(on)}"
    own = f"{title}, the paper's methods" if _more(everyone, found) else title
    tables = [_table(f"ranks-{on}", own, _pooled(found), found)]
    per_seed = {f"Seed {seed}": verdict for seed, verdict in found[TOGETHER].per_seed.items()}
    if len(per_seed) > 1:
        words = f"{own}, seed by seed, all three metrics"
        tables.append(_table(f"ranks-seeds-{on}", words, per_seed, {}, aside=True))
    if _more(everyone, found):
        tables.append(_table(f"ranks-all-{on}", f"{title}, all methods", _pooled(everyone), everyone, aside=True))
    return tuple(tables)


def _pooled(found: Mapping[str, Comparison]) -> dict[str, Verdict]:
    return {name: one.pooled for name, one in found.items()}


def _more(one: Mapping[str, Comparison], other: Mapping[str, Comparison]) -> bool:
    methods = [len(found[TOGETHER].pooled.distance.mean_ranks) for found in (one, other)]
    return methods[0] > methods[1]


def make_ood(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Ranks of the MMC over all pairs of a training set and an OOD set; `on` is ignored."""
    rows = [row for on in results.sets("ood") for row in results.rows("ood", on)]
    found = ood_comparison(rows, results.paper)
    title = f"Mean ranks of the MMC over {len(found.cells)} pairs of sets"
    return (_table("ranks-ood", title, {"MMC": found.pooled}, {"MMC": found}),)


def _comparisons(rows: Sequence[Row], paper: Sequence[Row]) -> dict[str, Comparison]:
    """Per metric, and for the three together."""
    groups = {**{labels.metric(metric).name: (metric,) for metric in METRICS}, TOGETHER: METRICS}
    return {name: shift_comparison(rows, paper, metrics) for name, metrics in groups.items()}


def shift_comparison(rows: Sequence[Row], paper: Sequence[Row], metrics: Sequence[str] = METRICS) -> Comparison:
    """Compare the methods of the paper under its shifts, where these are present."""
    shifts = {"", *shift_groups(rows)[0]}
    rows = [row for row in rows if row.shift in shifts and row.metric in metrics]
    return _compared(rows, metrics, _comparable(rows, paper, "shift"))


def ood_comparison(rows: Sequence[Row], paper: Sequence[Row], control: str = CONTROL) -> Comparison:
    """Compare the MMC on OOD data sets, for the training sets of the paper. Without these, compare on all OOD sets."""
    theirs = {row.train for row in paper if row.experiment == "ood"}
    outside = [row for row in rows if row.metric == "mmc" and row.test.partition("-")[0] != row.train.partition("-")[0]]
    outside = [row for row in outside if row.train in theirs and is_data(row.test)] or outside
    if not outside:
        raise MissingRowsError("there are no rows of ood on OOD sets: run slova bench run ood --on cifar10")
    return _compared(outside, ("mmc",), _comparable(outside, paper, "ood", control), control)


def _compared(rows: Sequence[Row], metrics: Sequence[str], names: Sequence[str], control: str = CONTROL) -> Comparison:
    try:
        return compare((row._asdict() for row in rows), metrics=metrics, control=control, methods=names)
    except ValueError as error:
        raise MissingRowsError(f"nothing can be ranked ({error}): run slova bench run {rows[0].experiment}") from None


def _comparable(rows: Sequence[Row], paper: Sequence[Row], experiment: str, control: str = CONTROL) -> list[str]:
    """The methods of the paper with as many cells as the control at its first seed; without the paper, all methods.

    Another control replaces SLOVA.
    """
    plain = [row for row in rows if not row.variant]
    own = [row.seed for row in plain if row.method == control]
    if not own:
        raise MissingRowsError(f"there are no rows of {control} in {experiment}: run slova bench run {experiment}")
    counts = Counter(row.method for row in plain if row.seed == min(own))
    scores = {*labels.SCORES}  # without a confidence of their own
    ours = [method for method, count in counts.items() if count >= counts[control] and method not in scores]
    theirs = set(published.counterparts(paper, experiment, ours) or ours)
    rivals = theirs - {CONTROL} | {control}
    return [method for method in ours if method in rivals]


def _table(
    name: str, title: str, verdicts: Mapping[str, Verdict], of: Mapping[str, Comparison], *, aside: bool = False
) -> Table:
    parts = [_ranked(head, verdict) for head, verdict in verdicts.items()]
    parts += [_against(head, verdict) for head, verdict in list(verdicts.items())[-1:] if of]
    notes = [*(_verdict(head, verdict) for head, verdict in verdicts.items()), *_cautions(list(of.values())[-1:])]
    return methods_table(name, title, parts, notes=notes, aside=aside)


def _ranked(head: str, verdict: Verdict) -> Part:
    ranks = verdict.distance.mean_ranks
    best = min(ranks.values())
    entries = {(m, ""): number(rank, digits=2, mark=BEST if rank == best else "") for m, rank in ranks.items()}
    return Part(Column(head), entries)


def _against(head: str, verdict: Verdict) -> Part:
    """Whether each method differs from the control, and in which direction."""
    distance = verdict.distance
    own = distance.mean_ranks[distance.control]
    alike = set(distance.alike) if verdict.rejects else set(distance.mean_ranks)
    words = {
        (name, ""): text("not distinguished" if name in alike else "better" if rank < own else "worse")
        for name, rank in distance.mean_ranks.items()
        if name != distance.control
    }
    return Part(Column(f"{head}, against {label((distance.control, ''))}"), words)


def _verdict(head: str, verdict: Verdict) -> str:
    distance, test = verdict.distance, verdict.friedman
    p = "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"
    start = f"{head}: {distance.cells} cells, {len(distance.mean_ranks)} methods, Friedman's test {p}"
    if not verdict.rejects:
        return f"{start}: no method differs."
    alike = "; ".join(label((name, "")) for name in distance.alike) or "none"
    control = label((distance.control, ""))
    return f"{start}, critical distance {distance.distance:.2f}; not distinguished from {control}: {alike}."


def _cautions(of: Sequence[Comparison]) -> list[str]:
    caution = [f"{one.caution[:1].upper()}{one.caution[1:]}." for one in of if one.caution]
    return [*(_left_out(one) for one in of), *caution]


def _left_out(one: Comparison) -> str:
    """The seeds that are left out, and the methods without rows."""
    seeds = sorted({seed for _, seed in one.dropped})
    lacking = in_order({(name, "") for names in one.dropped.values() for name in names})
    if not seeds:
        return ""
    missing = "; ".join(label(name) for name in lacking)
    return f"Seeds {', '.join(map(str, seeds))} are left out in all or some cells: rows of {missing} are missing."
