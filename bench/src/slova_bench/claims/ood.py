"""Claims about OOD data (Sec. 4.2, Table 1). The paper uses SLOVA without calibration there, so this readout is judged;
the calibrated one is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from slova_bench.claims.claim import Check, Claim
from slova_bench.claims.numbers import OURS, best, listed, mean_over, means, present, with_value
from slova_bench.claims.ranking import ranking
from slova_bench.compare import Comparison
from slova_bench.labels import set_name
from slova_bench.results import Row
from slova_bench.tables import published
from slova_bench.tables.assembly import by_method
from slova_bench.tables.ood import is_data
from slova_bench.tables.ranks import ood_comparison
from slova_bench.tables.seeds import Name

__all__ = ["CLAIMS"]

AS_ACCURATE = 0.005  # half a point
LARGE_DROP = 0.02  # two points of error
UNAWARE = 0.05  # as confident as softmax
RAW = "slova_raw"


def wins(rows: Sequence[Row], paper: Sequence[Row], on: str, control: str) -> Check | None:
    """How often SLOVA has the lowest MMC among the methods of the paper, on the pairs of sets that both have."""
    claimed = [row for row in paper if row.experiment == "ood" and row.metric == "wins"]
    if not claimed:
        return None
    comparison = ood_comparison(rows, paper, control)
    ranks = comparison.pooled.distance.mean_ranks
    rivals = [name for name in published.counterparts(paper, "ood", ranks) if name != "slova"]
    present({(name, ""): rank for name, rank in ranks.items()}, rivals, "ood", on)
    pairs = {(cell.train, cell.test) for cell in comparison.cells}
    common = sorted(pairs & {(row.train, row.test) for row in paper})
    theirs = sum(best(_paper_mmc(paper, *pair), "mmc") == OURS for pair in common)
    ours = sum(_is_lowest(rows, comparison, control, *pair) for pair in common)
    total = f"{claimed[0].value:g} of {claimed[0].n}, {theirs} of the {len(common)} pairs there are rows of"
    return Check(total, f"{ours} of {len(common)}", (ours >= theirs,))


def alike(rows: Sequence[Row], paper: Sequence[Row], on: str, control: str) -> Check | None:
    """The paper states for every rival whether ranks distinguish it from SLOVA."""
    if not any(row.experiment == "ood" and row.metric == "alike" for row in paper):
        return None
    comparison = ood_comparison(rows, paper, control)
    ranks = comparison.pooled.distance.mean_ranks
    return ranking(comparison, published.numbers(paper, ranks, experiment="ood", metric="alike"))


def measured(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """The same of the calibrated readout, which the paper does not use here."""
    found = [check(rows, paper, on, "slova") for check in (wins, alike)]
    checks = [check for check in found if check is not None]
    return Check("", f"lowest in {checks[0].ours}; not distinguished from {checks[1].ours}") if checks else None


def own_table(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """Ranks of the paper's own numbers."""
    claimed = published.numbers(paper, (), experiment="ood", metric="alike")
    return Check("", ranking(ood_comparison(paper, paper), claimed).ours) if claimed else None


def below_softmax(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    wins, pairs = _lower(rows, RAW, "softmax", on)
    return Check("significantly lower", f"lower on {wins} of {pairs} pairs of real sets", (wins == pairs,))


def react(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """ReAct is below softmax, SLOVA is below ReAct on every set, and on CIFAR-100 ReAct loses accuracy."""
    below, pairs = _lower(rows, "react", "softmax", on)
    ours, _ = _lower(rows, RAW, "react", on)
    errors = _errors(rows, "cifar100", ("react", "softmax"), on)
    drop = errors["react", ""] - errors["softmax", ""]
    words = f"ReAct below softmax on {below} of {pairs} pairs of real sets, SLOVA below ReAct on {ours} of {pairs}"
    words += f"; error on CIFAR-100: {listed(errors, 'error')}"
    holds = (below == pairs, ours == pairs, drop > LARGE_DROP)
    where = {"experiment": "ood", "train": "cifar100-train", "test": "cifar100-test", "metric": "error"}
    theirs = {name: value for name, value in published.numbers(paper, (), **where).items() if name in errors}
    said = f"ReAct slightly below softmax, SLOVA below ReAct in all cases; error: {listed(theirs, 'error')}"
    return Check(said, words, holds)


def acet(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """Trained on CIFAR-10: almost no confidence on SVHN, and that of softmax or CEDA on CIFAR-100."""
    name = published.counterpart("acet", {row.method for row in rows if row.train == "cifar10-train"})
    tests = ("svhn", "cifar100")
    own = [row for row in rows if row.train == "cifar10-train" and row.metric == "mmc"]
    found = {t: mean_over((row for row in own if row.test == f"{t}-test"), [name, "ceda", "softmax"]) for t in tests}
    for values in found.values():
        present(values, [name, "ceda", "softmax"], "ood", "cifar10")
    svhn, near = found["svhn"], found["cifar100"]
    holds = (
        svhn[name, ""] < svhn["softmax", ""] / 2,
        near[name, ""] > near["softmax", ""] - UNAWARE,
        near[name, ""] > near["ceda", ""],
    )
    words = "; ".join(f"{set_name(test)}: {listed(values, 'mmc')}" for test, values in found.items())
    return Check("detects SVHN, unaware of CIFAR-100, where it is worse than CEDA", words, holds)


def accurate(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    pair = [OURS, ("softmax", "")]
    found = means(by_method(row for row in rows if row.metric == "error" and row.test == f"{on}-test"))
    present(found, [method for method, _ in pair], "ood", on)
    where = {"metric": "error", "test": f"{on}-test"}
    theirs = published.numbers(paper, ("slova",), experiment="ood", train=f"{on}-train", **where)
    published_errors = ", ".join(with_value(name, theirs[name], "error") for name in pair if name in theirs)
    ours = {name: found[name] for name in pair}
    return Check(published_errors, listed(ours, "error"), (ours[OURS] < ours["softmax", ""] + AS_ACCURATE,))


def _lower(rows: Sequence[Row], one: str, other: str, on: str) -> tuple[int, int]:
    """On how many pairs of a training set and a real OOD set the MMC of the first method is lower, and of how many."""
    cells: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.metric == "mmc" and is_data(row.test) and row.test.partition("-")[0] != row.train.partition("-")[0]:
            cells.setdefault((row.train, row.test), []).append(row)
    found = [values for own in cells.values() if (values := mean_over(own, [one, other]))]
    present(dict.fromkeys([(one, "")] if found else []), [one], "ood", on)
    return sum(values[one, ""] < values[other, ""] for values in found), len(found)


def _errors(rows: Sequence[Row], train: str, methods: Sequence[str], on: str) -> dict[Name, float]:
    own = (row for row in rows if (row.train, row.test, row.metric) == (f"{train}-train", f"{train}-test", "error"))
    found = mean_over(own, methods)
    present(found, methods, "ood", train)
    return found


def _paper_mmc(paper: Sequence[Row], train: str, test: str) -> dict[tuple[str, str], float]:
    return published.numbers(paper, (), experiment="ood", train=train, test=test, metric="mmc")


def _is_lowest(rows: Sequence[Row], comparison: Comparison, control: str, train: str, test: str) -> bool:
    mmc = (row for row in rows if (row.train, row.test, row.metric) == (train, test, "mmc") and not row.variant)
    found = means(by_method(mmc))
    rivals = comparison.pooled.distance.mean_ranks
    return best({name: value for name, value in found.items() if name[0] in rivals}, "mmc") == (control, "")


def _claims() -> Iterator[Claim]:
    part = "Table 1, Sec. 4.2"
    yield Claim("SLOVA has the lowest MMC", part, "ood", partial(wins, control=RAW), across=True)
    yield Claim("SLOVA's MMC is lower than softmax's", part, "ood", below_softmax, across=True)
    text = "By ranks of the MMC SLOVA cannot be distinguished from"
    yield Claim(text, "Fig. 7, Sec. 4.2", "ood", partial(alike, control=RAW), across=True)
    yield Claim("ReAct is between softmax and SLOVA, and less accurate on CIFAR-100", part, "ood", react, across=True)
    text = "ACET is unstable: almost no confidence on one OOD set, that of softmax on another"
    yield Claim(text, part, "ood", acet, across=True, counted=False)
    yield Claim("SLOVA's error is softmax's, to half a point", "Table 1, Sec. 4.1", "ood", accurate)
    text = "The MMC of the calibrated SLOVA, which the paper does not use on OOD data"
    yield Claim(text, "", "ood", measured, across=True)
    text = "By ranks of the MMC in the paper's own Table 1 SLOVA cannot be distinguished from"
    yield Claim(text, "", "ood", own_table, across=True)


CLAIMS = tuple(_claims())
