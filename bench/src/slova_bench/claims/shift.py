"""Claims about clean and shifted data (Sec. 4.1, Appendix C)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from slova_bench import labels
from slova_bench.claims.claim import Check, Claim
from slova_bench.claims.numbers import OURS, agreeing, best, listed, mean_over, means, place, present, standing
from slova_bench.claims.ranking import ranking, together
from slova_bench.results import Row
from slova_bench.tables import published
from slova_bench.tables.assembly import by_method, label, shown
from slova_bench.tables.quartiles import METRICS, QUARTILES, quartiles, shift_groups
from slova_bench.tables.ranks import shift_comparison
from slova_bench.tables.seeds import Name, marks
from slova_bench.tables.table import BEST, TIED

__all__ = ["CLAIMS"]

STRONG = 4  # the smallest severity of a strong shift
AS_ACCURATE = 0.005  # half a point


def winner(rows: Sequence[Row], paper: Sequence[Row], on: str, metric: str, share: int) -> Check | None:
    """Whether the best method of the paper is also the best here, among common methods; partly if it cannot be
    distinguished from the best."""
    theirs = _published(rows, paper, on, metric, share)
    if not theirs:
        return None
    column = quartiles(rows, metric, shift_groups(rows)[0])[share]
    column = {name: values for name, values in column.items() if name in theirs}
    top = best(theirs, metric)
    present(column, [top[0]], "shift", on)
    mark = marks(column, larger=False).get(top)
    tied = f"; {label(top)} cannot be distinguished from it" if mark == TIED else ""
    return Check(standing(theirs, metric), f"{standing(means(column), metric)}{tied}", (mark == BEST, bool(mark)))


def order(rows: Sequence[Row], paper: Sequence[Row], on: str, metric: str) -> Check | None:
    """How many pairs of methods have the order of the paper by their medians; partly if more than half do."""
    theirs = _published(rows, paper, on, metric, 50)
    ours = means(quartiles(rows, metric, shift_groups(rows)[0])[50])
    ours = {name: value for name, value in ours.items() if name in theirs}
    same, pairs = agreeing(theirs, ours)
    here = f"{_ordered(ours, ours)}: {same} of {pairs} pairs in the same order"
    return Check(_ordered(theirs, ours), here, (same == pairs, 2 * same > pairs)) if pairs else None


def alike(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """The rivals that ranks distinguish from SLOVA, and those they do not."""
    claimed = published.numbers(paper, (), experiment="shift", train=f"{on}-train", metric="alike")
    return ranking(shift_comparison(rows, paper), claimed) if claimed else None


def second(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """The place by mean rank; requires all methods of the paper."""
    distance = shift_comparison(rows, paper).pooled.distance
    ranks = {(name, ""): rank for name, rank in distance.mean_ranks.items()}
    present(ranks, published.counterparts(paper, "shift", distance.mean_ranks) or ["ensemble"], "shift", on)
    before = [name for (name, _), rank in ranks.items() if rank < ranks[OURS]]
    here = f"{place(ranks, OURS, 'ece')}, after {together(before)}"
    return Check("2nd, after the ensemble", here, (set(before) <= {"ensemble"},))


def strong_ensemble(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """Per shift, at the two greatest severities. "Frequently" is read as at least half of the time, by the ECE."""
    wins = {metric: _duels(rows, metric, "ensemble", on) for metric in METRICS}
    words = [f"{labels.metric(metric).name} in {sum(own)} of {len(own)}" for metric, own in wins.items()]
    here = f"{', '.join(words)} pairs of shift and severity; required: half, by the ECE"
    return Check("frequently", here, (2 * sum(wins["ece"]) >= len(wins["ece"]),))


def strong_softmax(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """Means over strong shifts, one part of the claim per metric and rival."""
    holds, words = list[bool](), list[str]()
    rivals = ("softmax", "temperature")
    for metric in ("accuracy", *METRICS):
        found = mean_over(_strong(rows, metric), ["slova", *rivals])
        present(found, ["slova", *rivals], "shift", on)
        holds += [labels.is_better(metric, found[OURS], found[rival, ""]) for rival in rivals]
        words.append(f"{labels.metric(metric).name}: {listed(found, metric)}")
    return Check("in terms of all metrics", "; ".join(words), tuple(holds))


def accurate(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    found = means(by_method(row for row in rows if row.metric == "accuracy" and not row.shift))
    present(found, ["slova", "softmax"], "shift", on)
    pair = {name: found[name] for name in (OURS, ("softmax", ""))}
    return Check("comparable accuracy", listed(pair, "accuracy"), (pair[OURS] > pair["softmax", ""] - AS_ACCURATE,))


def noise(rows: Sequence[Row], paper: Sequence[Row], on: str, metric: str) -> Check | None:
    """SLOVA calibrated with and without noise, on clean data and by quartile over shifts."""
    clean = means(by_method(row for row in rows if row.metric == metric and not row.shift))
    by_share = quartiles(rows, metric, shift_groups(rows)[0])
    columns = {"clean": clean} | {f"{share} % quartile": means(values) for share, values in by_share.items()}
    present(clean, ["slova", "slova_clean"], "shift", on)
    words = [f"{where} {_with_and_without(found, metric)}" for where, found in columns.items() if OURS in found]
    return Check("", f"with noise and without: {'; '.join(words)}")


def _with_and_without(found: dict[Name, float], metric: str) -> str:
    one, other = found[OURS], found["slova_clean", ""]
    word = "better" if labels.is_better(metric, one, other) else "worse"
    return f"{shown(metric, one).text} and {shown(metric, other).text} ({word} with)"


def _published(rows: Sequence[Row], paper: Sequence[Row], on: str, metric: str, share: int) -> dict[Name, float]:
    ours = {row.method for row in rows}
    return published.numbers(paper, ours, experiment="shift", train=f"{on}-train", metric=f"{metric}_q{share}")


def _ordered(values: dict[Name, float], among: Collection[Name]) -> str:
    return " < ".join(label(name) for name in sorted(values, key=lambda name: values[name]) if name in among)


def _duels(rows: Sequence[Row], metric: str, rival: str, on: str) -> list[bool]:
    """For each strong shift and severity, whether SLOVA has the better mean over the seeds of both."""
    cells: dict[tuple[str, float], list[Row]] = {}
    for row in _strong(rows, metric):
        cells.setdefault((row.shift, row.level), []).append(row)
    means = [mean_over(own, ["slova", rival]) for own in cells.values()]
    duels = [labels.is_better(metric, found[OURS], found[rival, ""]) for found in means if found]
    present(dict.fromkeys([(rival, "")] if duels else []), [rival], "shift", on)
    return duels


def _strong(rows: Sequence[Row], metric: str) -> list[Row]:
    """Rows at the two greatest severities, under the shifts of the paper."""
    shifts = set(shift_groups(rows)[0])
    return [row for row in rows if row.metric == metric and row.level >= STRONG and row.shift in shifts]


def _claims() -> Iterator[Claim]:
    for metric in METRICS:
        name = labels.metric(metric).name
        for share in QUARTILES:
            text = f"Best method by the {share} % quartile of the {name}"
            yield Claim(text, "App. C", "shift", partial(winner, metric=metric, share=share))
        yield Claim(f"Order of the methods by the median {name}", "App. C", "shift", partial(order, metric=metric))
    yield Claim("By ranks SLOVA cannot be distinguished from", "Fig. 6, Sec. 4.1", "shift", alike)
    yield Claim("By ranks SLOVA is second to the ensemble alone", "Fig. 5, Sec. 4.1", "shift", second)
    yield Claim("Under strong shift SLOVA is better calibrated than the ensemble", "Sec. 4.1", "shift", strong_ensemble)
    yield Claim(
        "Under strong shift SLOVA is better than softmax and temperature scaling", "Sec. 4.1", "shift", strong_softmax
    )
    yield Claim("On clean data SLOVA is as accurate as softmax, to half a point", "Sec. 4.1", "shift", accurate)
    for metric in METRICS:
        text = f"Effect of noise in the calibration set on SLOVA's {labels.metric(metric).name}"
        yield Claim(text, "Sec. 3.6", "shift", partial(noise, metric=metric))


CLAIMS = tuple(_claims())
