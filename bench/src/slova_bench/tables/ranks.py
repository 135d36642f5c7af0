"""Mean ranks, and who cannot be told from SLOVA (Fig. 6 and 7): Friedman's test and the Bonferroni-Dunn distance.

The means over seeds are ranked, and each seed for itself; both among the paper's methods, since every further variant
of a method would move the ranks of the others.
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


def make(evidence: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Ranks under shift: by metric and over the three together; these seed by seed; and all among all methods."""
    rows = evidence.rows("shift", on)
    found, everyone = _comparisons(rows, evidence.paper), _comparisons(rows, ())
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


def make_ood(evidence: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Ranks of the MMC over all pairs of a training set and a foreign one; `on` makes no difference."""
    rows = [row for on in evidence.sets("ood") for row in evidence.rows("ood", on)]
    found = ood_comparison(rows, evidence.paper)
    title = f"Mean ranks of the MMC over {len(found.cells)} pairs of sets"
    return (_table("ranks-ood", title, {"MMC": found.pooled}, {"MMC": found}),)


def _comparisons(rows: Sequence[Row], paper: Sequence[Row]) -> dict[str, Comparison]:
    """By metric, and of the three together."""
    wanted = {**{labels.metric(metric).name: (metric,) for metric in METRICS}, TOGETHER: METRICS}
    return {name: shift_comparison(rows, paper, metrics) for name, metrics in wanted.items()}


def shift_comparison(rows: Sequence[Row], paper: Sequence[Row], metrics: Sequence[str] = METRICS) -> Comparison:
    """On the paper's shifts and among the paper's methods, where they are."""
    shifts = {"", *shift_groups(rows)[0]}
    rows = [row for row in rows if row.shift in shifts and row.metric in metrics]
    return _compared(rows, metrics, _comparable(rows, paper, "shift"))


def ood_comparison(rows: Sequence[Row], paper: Sequence[Row], control: str = CONTROL) -> Comparison:
    """Of the MMC on foreign data sets, after training on those that the paper has; or else on whatever is foreign."""
    theirs = {row.train for row in paper if row.experiment == "ood"}
    foreign = [row for row in rows if row.metric == "mmc" and row.test.partition("-")[0] != row.train.partition("-")[0]]
    foreign = [row for row in foreign if row.train in theirs and is_data(row.test)] or foreign
    if not foreign:
        raise MissingRowsError("there are no rows of ood on foreign sets: run slova bench run ood --on cifar10")
    return _compared(foreign, ("mmc",), _comparable(foreign, paper, "ood", control), control)


def _compared(rows: Sequence[Row], metrics: Sequence[str], names: Sequence[str], control: str = CONTROL) -> Comparison:
    try:
        return compare((row._asdict() for row in rows), metrics=metrics, control=control, methods=names)
    except ValueError as error:
        raise MissingRowsError(f"nothing can be ranked ({error}): run slova bench run {rows[0].experiment}") from None


def _comparable(rows: Sequence[Row], paper: Sequence[Row], experiment: str, control: str = CONTROL) -> list[str]:
    """The paper's methods that have as many cells as the control at its first seed; without the paper, all methods.

    Another control takes the place of SLOVA itself.
    """
    plain = [row for row in rows if not row.variant]
    own = [row.seed for row in plain if row.method == control]
    if not own:
        raise MissingRowsError(f"there are no rows of {control} in {experiment}: run slova bench run {experiment}")
    counts = Counter(row.method for row in plain if row.seed == min(own))
    scores = {*labels.SCORES}  # which have no confidence of their own
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
        (name, ""): text("not told apart" if name in alike else "better" if rank < own else "worse")
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
    return f"{start}, critical distance {distance.distance:.2f}; not told from {control}: {alike}."


def _cautions(of: Sequence[Comparison]) -> list[str]:
    caution = [f"{one.caution[:1].upper()}{one.caution[1:]}." for one in of if one.caution]
    return [*(_left_out(one) for one in of), *caution]


def _left_out(one: Comparison) -> str:
    """Which seeds do not count, and for whose sake."""
    seeds = sorted({seed for _, seed in one.dropped})
    lacking = in_order({(name, "") for names in one.dropped.values() for name in names})
    if not seeds:
        return ""
    whom = "; ".join(label(name) for name in lacking)
    return f"Seeds {', '.join(map(str, seeds))} do not count, or not everywhere: rows of {whom} are missing there."
