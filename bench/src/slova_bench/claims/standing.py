"""Claims about SLOVA's place among the methods of the paper (Sec. 4.1, Appendix C), seed by seed: on clean data, and
under shift by quartiles and by plain mean ranks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from slova_bench import labels
from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import OURS, agreeing, before, means, places, present, standing, tied
from slova_bench.claims.ranking import ahead_of, ranking
from slova_bench.exhibit import Exhibit
from slova_bench.frame import QUARTILES, Column, Frame, Name, per_seed, quartiles, shift_groups, where
from slova_bench.tables import published
from slova_bench.tables.assembly import label
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.ranks import shift_comparison
from slova_bench.tables.seeds import at_common_seeds

__all__ = ["CLAIMS"]

BEST = 3  # methods (Sec. 5.2)


def place(rows: Frame, paper: Frame, on: str, metric: str, share: int) -> Check | None:
    """A part per seed: whether as many or fewer methods are before SLOVA than in the paper."""
    theirs = _published(rows, paper, on, metric, share)
    if not theirs:
        return None
    column = _quartile(rows, theirs, metric, share)
    present(column, [method for method, _ in theirs], "shift", on)
    allowed = len(before(theirs, OURS, metric))
    ahead, found = places(column, metric)
    words = f"{standing(means(column), metric)}; {found}{tied(column)}"
    return Check(standing(theirs, metric), words, tuple(number <= allowed for number in ahead))


def clean(rows: Frame, paper: Frame, on: str) -> Check | None:
    """A part per metric and seed: on clean data SLOVA is among the best three of the methods of the paper."""
    names = published.counterparts(paper, "shift", rows["method"].unique())
    holds, words = list[bool](), list[str]()
    for metric in METRICS:
        column = at_common_seeds(per_seed(where(rows, shift="", metric=metric)), names)
        present(column, names, "shift", on)
        ahead, found = places(column, metric)
        holds += [number < BEST for number in ahead]
        words.append(f"{labels.metric(metric).name}: {standing(means(column), metric)}, {found}{tied(column)}")
    return Check("competitive with the state of the art", ". ".join(words), tuple(holds))


def order(rows: Frame, paper: Frame, on: str, metric: str) -> Check | None:
    """How many pairs of methods have the order of the paper by their medians; partly if more than half do."""
    theirs = _published(rows, paper, on, metric, 50)
    ours = means(_quartile(rows, theirs, metric, 50))
    same, pairs = agreeing(theirs, ours)
    here = f"{_ordered(ours, ours)}: {same} of {pairs} pairs in the same order"
    return Check(_ordered(theirs, ours), here, (same == pairs, 2 * same > pairs)) if pairs else None


def alike(rows: Frame, paper: Frame, on: str) -> Check | None:
    """The rivals that ranks distinguish from SLOVA, and those they do not."""
    claimed = published.numbers(paper, (), experiment="shift", train=f"{on}-train", metric="alike")
    return ranking(shift_comparison(rows, paper), claimed) if claimed else None


def second(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Two parts per seed: at most the ensemble has a better mean rank than SLOVA, and at most two methods have one."""
    comparison = shift_comparison(rows, paper)
    ranks = comparison.pooled.mean_ranks
    present(ranks, published.counterparts(paper, "shift", ranks) or ["ensemble"], "shift", on)
    ahead, words = ahead_of(comparison)
    holds = (*(names <= {"ensemble"} for names in ahead), *(len(names) < BEST for names in ahead))
    return Check("2nd, after the ensemble", words, holds)


def _quartile(rows: Frame, theirs: Collection[Name], metric: str, share: int) -> Column:
    """Of the methods of the paper, at their common seeds."""
    column = quartiles(rows, metric, shift_groups(rows)[0])[share]
    return at_common_seeds(column, [method for method, _ in theirs])


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
    text = "Clean data: SLOVA is competitive, one of the three best methods by each metric"
    yield claim(text, "Abstract, Sec. 1", "shift", clean)
    text = "Methods whose mean ranks do not differ significantly from SLOVA's"
    yield claim(text, "Fig. 6, Sec. 4.1", "shift", alike)
    text = "By ranks SLOVA is second to the ensemble alone, and one of the three best methods"
    yield claim(text, "Fig. 5, Sec. 4.1, 5.2", "shift", second)
    for metric in METRICS:
        text = f"Order of the methods by the median {labels.metric(metric).name}"
        yield claim(text, "App. C", "shift", partial(order, metric=metric), counted=False)


CLAIMS = tuple(_claims())
