"""Claims about SLOVA's place among the methods of the paper under shift (Sec. 4.1, Appendix C): by quartiles, and by
plain mean ranks, seed by seed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from slova_bench import labels
from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import OURS, agreeing, before, better, means, present, standing, tied
from slova_bench.claims.ranking import ahead_of, ranking
from slova_bench.compare import Comparison
from slova_bench.exhibit import Exhibit
from slova_bench.frame import QUARTILES, Frame, Name, quartiles, shift_groups
from slova_bench.tables import published
from slova_bench.tables.assembly import label
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.ranks import shift_comparison

__all__ = ["CLAIMS"]


def place(rows: Frame, paper: Frame, on: str, metric: str, share: int) -> Check | None:
    """Whether as many or fewer methods are before SLOVA than in the paper. Partly, if that is so without those that
    cannot be distinguished from it."""
    theirs = _published(rows, paper, on, metric, share)
    if not theirs:
        return None
    column = quartiles(rows, metric, shift_groups(rows)[0])[share]
    column = {name: values for name, values in column.items() if name in theirs}
    present(column, [method for method, _ in theirs], "shift", on)
    allowed, ahead = len(before(theirs, OURS, metric)), before(means(column), OURS, metric)
    apart = [name for name in ahead if better(column, name, OURS, metric)]
    words = standing(means(column), metric) + tied(column)
    return Check(standing(theirs, metric), words, (len(ahead) <= allowed, len(apart) <= allowed))


def order(rows: Frame, paper: Frame, on: str, metric: str) -> Check | None:
    """How many pairs of methods have the order of the paper by their medians; partly if more than half do."""
    theirs = _published(rows, paper, on, metric, 50)
    ours = means(quartiles(rows, metric, shift_groups(rows)[0])[50])
    ours = {name: value for name, value in ours.items() if name in theirs}
    same, pairs = agreeing(theirs, ours)
    here = f"{_ordered(ours, ours)}: {same} of {pairs} pairs in the same order"
    return Check(_ordered(theirs, ours), here, (same == pairs, 2 * same > pairs)) if pairs else None


def alike(rows: Frame, paper: Frame, on: str) -> Check | None:
    """The rivals that ranks distinguish from SLOVA, and those they do not."""
    claimed = published.numbers(paper, (), experiment="shift", train=f"{on}-train", metric="alike")
    return ranking(shift_comparison(rows, paper), claimed) if claimed else None


def second(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Whether at each seed at most the ensemble has a better mean rank."""
    ahead, words = ahead_of(_of_all(rows, paper, on))
    return Check("2nd, after the ensemble", words, tuple(names <= {"ensemble"} for names in ahead))


def three(rows: Frame, paper: Frame, on: str) -> Check | None:
    ahead, words = ahead_of(_of_all(rows, paper, on))
    return Check("one of the three best-performing", words, tuple(len(names) < 3 for names in ahead))


def _of_all(rows: Frame, paper: Frame, on: str) -> Comparison:
    """The comparison of all methods of the paper."""
    comparison = shift_comparison(rows, paper)
    ranks = comparison.pooled.mean_ranks
    present(ranks, published.counterparts(paper, "shift", ranks) or ["ensemble"], "shift", on)
    return comparison


def _published(rows: Frame, paper: Frame, on: str, metric: str, share: int) -> dict[Name, float]:
    found = {"experiment": "shift", "train": f"{on}-train", "metric": f"{metric}_q{share}"}
    return published.numbers(paper, rows["method"].unique(), **found)


def _ordered(values: dict[Name, float], among: Collection[Name]) -> str:
    return " < ".join(label(name) for name in sorted(values, key=lambda name: values[name]) if name in among)


def _claims() -> Iterator[Exhibit]:
    for metric in METRICS:
        name = labels.metric(metric).name
        for share in QUARTILES:
            text = f"SLOVA's place by the {share} % quartile of the {name}"
            yield claim(text, "App. C", "shift", partial(place, metric=metric, share=share))
    yield claim("By ranks SLOVA cannot be distinguished from", "Fig. 6, Sec. 4.1", "shift", alike)
    yield claim("By ranks SLOVA is second to the ensemble alone", "Fig. 5, Sec. 4.1", "shift", second)
    yield claim("By ranks SLOVA is one of the three best methods", "Sec. 5.2", "shift", three)
    for metric in METRICS:
        text = f"Order of the methods by the median {labels.metric(metric).name}"
        yield claim(text, "App. C", "shift", partial(order, metric=metric), counted=False)


CLAIMS = tuple(_claims())
