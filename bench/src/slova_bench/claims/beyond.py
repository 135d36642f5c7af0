"""Beyond the paper: methods that it does not have, compared with its baselines at common seeds; and further fits of its
own methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

from slova_bench import labels
from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import at_common_seeds, better, means, seeds_of
from slova_bench.exhibit import Exhibit
from slova_bench.frame import QUARTILES, Frame, Name, quartiles, shift_groups, where
from slova_bench.labels import look
from slova_bench.tables.assembly import shown
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.seeds import FEWEST, is_tied

__all__ = ["CLAIMS"]

NEW = tuple(method for method in labels.BEYOND if method not in ("slova_none_raw", "retrofit_noise"))
RIVALS = ("temperature", "ensemble")
FITS = (("slova_clean", "slova"), ("slova_paper_fit", "slova"), ("ensemble_temperature", "ensemble"))


def cells(rows: Frame, paper: Frame, on: str, method: str, rival: str) -> Check | None:
    """In how many of the nine quartiles the method is better than the rival, at the seeds that have every set. What
    cannot be distinguished is neither better nor worse."""
    both, pair = where(rows, method=(method, rival), variant=""), ((method, ""), (rival, ""))
    found = {metric: quartiles(both, metric, shift_groups(rows)[0]) for metric in METRICS}
    columns = {
        (metric, share): at_common_seeds(column, (method, rival))
        for metric, by_share in found.items()
        for share, column in by_share.items()
    }
    seeds = set.intersection(*({*one.get(name, ())} for one in columns.values() for name in pair))
    if not seeds:
        return None
    wins = sum(better(one, *pair, metric) for (metric, _), one in columns.items())
    ties = [f"{labels.metric(m).name} {q} %" for (m, q), one in columns.items() if is_tied(one[pair[0]], one[pair[1]])]
    words = [_sides(metric, [means(columns[metric, q]) for q in QUARTILES], pair) for metric in METRICS]
    apart = f", not distinguished in {len(ties)} ({', '.join(ties)})" if ties else ""
    how = "" if len(seeds) >= FEWEST else ", by the means alone"
    losses = len(columns) - wins - len(ties)
    count = f"better in {wins} of {len(columns)} quartiles{f', worse in {losses}' if losses else ''}{apart}"
    return Check("", f"{count} ({seeds_of(seeds)}{how}): {'; '.join(words)}")


def _sides(metric: str, columns: Sequence[dict[Name, float]], pair: Sequence[Name]) -> str:
    """The quartiles of both."""
    ours, theirs = (" ".join(shown(metric, column[name]).text for column in columns) for name in pair)
    return f"{labels.metric(metric).name} {ours} and {theirs}"


def _claims() -> Iterator[Exhibit]:
    for method, rival in (*product(NEW, RIVALS), *FITS):
        against = look(rival).name if rival == "slova" else look(rival).name.lower()
        text = f"{look(method).name}, against {against}, by quartiles over shifts"
        yield claim(text, "", "shift", partial(cells, method=method, rival=rival))


CLAIMS = tuple(_claims())
