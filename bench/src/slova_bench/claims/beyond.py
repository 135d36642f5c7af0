"""Beyond the paper: methods that it does not have, compared with its baselines at common seeds; and
further fits of its own methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product

from slova_bench import labels
from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import means, seeds_of
from slova_bench.exhibit import Exhibit
from slova_bench.frame import QUARTILES, Column, Frame, mean_over, quartiles, shift_groups, where
from slova_bench.labels import look
from slova_bench.tables.assembly import shown
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.seeds import is_tied

__all__ = ["CLAIMS"]

NEW = tuple(method for method in labels.BEYOND if method not in ("slova_none_raw", "retrofit_noise"))
RIVALS = ("temperature", "ensemble")
FITS = (("slova_paper_fit", "slova"), ("ensemble_temperature", "ensemble"))  # further fits, and the usual ones
NONE_TRAINED, PLAIN = "slova_none_raw", "slova_raw"


def cells(rows: Frame, paper: Frame, on: str, method: str, rival: str) -> Check | None:
    """In how many of the nine quartiles the method is better than the rival, at the seeds that have every set."""
    both = where(rows, method=(method, rival), variant="")
    found = {metric: quartiles(both, metric, shift_groups(rows)[0]) for metric in METRICS}
    seeds = _common(column for by_share in found.values() for column in by_share.values())
    if not seeds:
        return None
    wins, ties, words = 0, 0, list[str]()
    for metric, by_share in found.items():
        columns = [means(_at(column, seeds)) for column in by_share.values()]
        pairs = [(column[method, ""], column[rival, ""]) for column in columns]
        wins += sum(labels.is_better(metric, *pair) for pair in pairs)
        ties += sum(is_tied(column[method, ""], column[rival, ""]) for column in by_share.values())
        ours, theirs = (" ".join(shown(metric, value).text for value in side) for side in zip(*pairs, strict=True))
        words.append(f"{labels.metric(metric).name} {ours} and {theirs}")
    tied = f", {ties} of the nine not distinguished" if ties else ""
    count = f"better in {wins} of {len(METRICS) * len(QUARTILES)} quartiles{tied} ({seeds_of(seeds)})"
    return Check("", f"{count}: {'; '.join(words)}")


def ood(rows: Frame, paper: Frame, on: str) -> Check | None:
    """MMC and AUROC on each OOD set, with and without NONE in training."""
    tests = [name for name in rows["test"].unique() if name != f"{on}-test"]
    words = [word for test in tests if (word := _with_and_without(where(rows, test=test), test))]
    seeds = set.intersection(*({*where(rows, method=name)["seed"]} for name in (NONE_TRAINED, PLAIN)))
    return Check("", f"MMC and AUROC with and without ({seeds_of(seeds)}): {'; '.join(words)}") if words else None


def _with_and_without(rows: Frame, test: str) -> str:
    pair = [NONE_TRAINED, PLAIN]
    found = [mean_over(where(rows, metric=metric), pair) for metric in ("mmc", "auroc")]
    if not all(found):
        return ""
    sides = (" / ".join(shown("mmc", numbers[name, ""]).text for numbers in found) for name in pair)
    return f"{labels.set_name(test)} {' and '.join(sides)}"


def _common(columns: Iterable[Column]) -> set[int]:
    """The seeds of both methods in every column."""
    found = list(columns)
    if any(len(column) < 2 for column in found):
        return set()
    return set.intersection(*(set(seeds) for column in found for seeds in column.values()))


def _at(column: Column, seeds: set[int]) -> Column:
    return {name: {seed: values[seed] for seed in seeds} for name, values in column.items()}


def _claims() -> Iterator[Exhibit]:
    for method, rival in (*product(NEW, RIVALS), *FITS):
        against = look(rival).name if rival == "slova" else look(rival).name.lower()
        text = f"{look(method).name}, against {against}, by quartiles over shifts"
        yield claim(text, "", "shift", partial(cells, method=method, rival=rival))
    yield claim("Effect of NONE in training on OOD data, uncalibrated", "", "ood", ood)


CLAIMS = tuple(_claims())
