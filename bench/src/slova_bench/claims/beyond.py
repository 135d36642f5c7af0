"""Beyond the paper: methods that it does not have, compared with its baselines at common seeds; and further fits of its
own methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from slova_bench import labels
from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import at_common_seeds, better, means, seeds_of
from slova_bench.exhibit import Exhibit
from slova_bench.frame import QUARTILES, Frame, Name, quartiles, shift_groups, where
from slova_bench.labels import look
from slova_bench.tables.assembly import shown
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.seeds import FEWEST, is_tied

__all__ = ["CLAIMS", "Contest", "contests"]

NEW = tuple(method for method in labels.BEYOND if method not in ("slova_none_raw", "retrofit_noise"))
RIVALS = ("temperature", "ensemble", "ensemble_temperature")
FITS = (
    *(("slova_ensemble", "slova"), ("slova_ensemble", "slova_clean")),  # the question of Sec. 5.3
    *(("slova_clean", "slova"), ("slova_paper_fit", "slova")),
    *(("ensemble_temperature", "ensemble"), ("ensemble_ten", "ensemble")),
)


class Contest(NamedTuple):
    """The nine quartiles in which a method is better, worse, and not distinguished (by name), at these seeds."""

    wins: int
    losses: int
    ties: tuple[str, ...]
    seeds: str
    values: str

    @property
    def sentence(self) -> str:
        parts = [f"better in {self.wins} of {len(METRICS) * len(QUARTILES)} quartiles"]
        parts += [f"worse in {self.losses}"] if self.losses else []
        parts += [f"not distinguished in {len(self.ties)} ({', '.join(self.ties)})"] if self.ties else []
        return ", ".join(parts)


def contests(rows: Frame, method: str, rival: str) -> tuple[Contest | None, Contest | None]:
    """Over the clean set and the shifts of the paper, and over the shifts held out of them. None without rows."""
    shifts, *more = shift_groups(rows)
    others = {*(more[0] if more else ())} - {*shifts}
    both = where(rows, method=(method, rival), variant="")
    return _contest(both, shifts, (method, rival)), _contest(where(both, shift=others), tuple(others), (method, rival))


def _contest(rows: Frame, shifts: Sequence[str], methods: tuple[str, str]) -> Contest | None:
    """At the seeds that have every set. What cannot be distinguished is neither better nor worse."""
    one, other = pair = (methods[0], ""), (methods[1], "")
    columns = {
        (metric, share): at_common_seeds(column, methods)
        for metric in METRICS
        for share, column in quartiles(rows, metric, shifts).items()
    }
    seeds = set.intersection(*({*column.get(name, ())} for column in columns.values() for name in pair))
    if not seeds:
        return None
    wins = sum(better(column, one, other, metric) for (metric, _), column in columns.items())
    losses = sum(better(column, other, one, metric) for (metric, _), column in columns.items())
    ties = (key for key, column in columns.items() if is_tied(column[one], column[other]))
    tied = tuple(f"{labels.metric(metric).name} {share} %" for metric, share in ties)
    words = (_sides(metric, [means(columns[metric, q]) for q in QUARTILES], pair) for metric in METRICS)
    how = "" if len(seeds) >= FEWEST else ", by the means alone"
    return Contest(wins, losses, tied, f"{seeds_of(seeds)}{how}", "; ".join(words))


def _sides(metric: str, columns: Sequence[dict[Name, float]], pair: Sequence[Name]) -> str:
    """The quartiles of both."""
    ours, theirs = (" ".join(shown(metric, column[name]).text for column in columns) for name in pair)
    return f"{labels.metric(metric).name} {ours} and {theirs}"


def cells(rows: Frame, paper: Frame, on: str, method: str, rival: str) -> Check | None:
    """Both contests in words."""
    places = ("", "Over the held-out shifts: ")
    found = [
        f"{place}{one.sentence} ({one.seeds}): {one.values}"
        for place, one in zip(places, contests(rows, method, rival), strict=True)
        if one
    ]
    return Check("", ". ".join(found)) if found else None


def _claims() -> Iterator[Exhibit]:
    for method, rival in (*product(NEW, RIVALS), *FITS):
        against = look(rival).name if rival.startswith("slova") else look(rival).name.lower()
        text = f"{look(method).name}, against {against}, by quartiles over shifts"
        yield claim(text, "", "shift", partial(cells, method=method, rival=rival))


CLAIMS = tuple(_claims())
