"""Claims about OOD data (Sec. 4.2, Table 1). The paper uses SLOVA without calibration there, so this readout is judged;
the calibrated one is measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import OURS, best, common_means, listed, means, present
from slova_bench.claims.ranking import ranking
from slova_bench.exhibit import Exhibit
from slova_bench.frame import Frame, Name, per_seed, where
from slova_bench.labels import set_name
from slova_bench.tables import published
from slova_bench.tables.ood import is_data
from slova_bench.tables.ranks import ood_comparison

__all__ = ["CLAIMS"]

AS_ACCURATE = 0.005  # half a point
LARGE_DROP = 0.02  # two points of error
UNAWARE = 0.05  # as confident as softmax
RAW = "slova_raw"


def wins(rows: Frame, paper: Frame, on: str, control: str) -> Check | None:
    """How often SLOVA has the lowest MMC among the methods of the paper, on the pairs of sets that both have."""
    claimed = where(paper, experiment="ood", metric="wins")
    if not len(claimed):
        return None
    comparison = ood_comparison(rows, paper, control)
    ranks = comparison.pooled.mean_ranks
    present(ranks, (name for name in published.counterparts(paper, "ood", ranks) if name != "slova"), "ood", on)
    pairs = {(cell.train, cell.test) for cell in comparison.cells}
    common = sorted(pairs & {*zip(paper["train"], paper["test"], strict=True)})
    theirs = sum(_lowest(where(paper, experiment="ood"), *pair) == OURS for pair in common)
    ours = sum(_lowest(where(rows, method=ranks, variant=""), *pair) == (control, "") for pair in common)
    value, pairs_of_paper = claimed[["value", "n"]].iloc[0]
    total = f"{value:g} of {pairs_of_paper:g}, {theirs} of the {len(common)} pairs there are rows of"
    return Check(total, f"{ours} of {len(common)}", (ours >= theirs,))


def alike(rows: Frame, paper: Frame, on: str, control: str) -> Check | None:
    """The paper states for every rival whether ranks distinguish it from SLOVA."""
    claimed = where(paper, experiment="ood", metric="alike")
    if not len(claimed):
        return None
    comparison = ood_comparison(rows, paper, control)
    return ranking(comparison, published.numbers(claimed, comparison.pooled.mean_ranks))


def measured(rows: Frame, paper: Frame, on: str) -> Check | None:
    """The same of the calibrated readout, which the paper does not use here."""
    found = [check(rows, paper, on, "slova") for check in (wins, alike)]
    checks = [check for check in found if check is not None]
    return Check("", f"lowest in {checks[0].ours}; not distinguished from {checks[1].ours}") if checks else None


def own_table(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Ranks of the paper's own numbers."""
    claimed = published.numbers(paper, (), experiment="ood", metric="alike")
    return Check("", ranking(ood_comparison(paper, paper), claimed).ours) if claimed else None


def below_softmax(rows: Frame, paper: Frame, on: str) -> Check | None:
    wins, pairs = _lower(rows, RAW, "softmax", on)
    return Check("significantly lower", f"lower on {wins} of {pairs} pairs of real sets", (wins == pairs,))


def react(rows: Frame, paper: Frame, on: str) -> Check | None:
    """ReAct is below softmax, SLOVA is below ReAct on every set, and on CIFAR-100 ReAct loses accuracy."""
    below, pairs = _lower(rows, "react", "softmax", on)
    ours, _ = _lower(rows, RAW, "react", on)
    errors = _errors(rows, "cifar100", ("react", "softmax"), on)
    drop = errors["react", ""] - errors["softmax", ""]
    words = f"ReAct below softmax on {below} of {pairs} pairs of real sets, SLOVA below ReAct on {ours} of {pairs}"
    words += f"; error on {_errors_of('cifar100', errors, errors)}"
    holds = (below == pairs, ours == pairs, drop > LARGE_DROP)
    theirs = _errors_of("cifar100", _paper_errors(paper, "cifar100"), errors)
    said = f"ReAct slightly below softmax, SLOVA below ReAct in all cases; error on {theirs}"
    return Check(said, words, holds)


def acet(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Trained on CIFAR-10: almost no confidence on SVHN, and that of softmax or CEDA on CIFAR-100."""
    own = where(rows, train="cifar10-train", metric="mmc")
    name = published.counterpart("acet", own["method"].unique())
    those = [name, "ceda", "softmax"]
    found = {test: common_means(where(own, test=f"{test}-test"), those) for test in ("svhn", "cifar100")}
    for values in found.values():
        present(values, those, "ood", "cifar10")
    svhn, near = found["svhn"], found["cifar100"]
    holds = (
        svhn[name, ""] < svhn["softmax", ""] / 2,
        near[name, ""] > near["softmax", ""] - UNAWARE,
        near[name, ""] > near["ceda", ""],
    )
    words = "; ".join(f"{set_name(test)}: {listed(values, 'mmc')}" for test, values in found.items())
    return Check("detects SVHN, unaware of CIFAR-100, where it is worse than CEDA", words, holds)


def noise(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Two parts: without noise the calibrated MMC is larger than the uncalibrated one somewhere, with noise nowhere."""
    (above, of), (below, pairs) = _lower(rows, RAW, "slova_clean", on), _lower(rows, "slova", RAW, on)
    words = f"above the uncalibrated one on {above} of {of} pairs of real sets without noise, "
    words += f"on {pairs - below} of {pairs} with noise"
    return Check("calibration can increase the confidence, noise prevents it", words, (above > 0, below == pairs))


def accurate(rows: Frame, paper: Frame, on: str) -> Check | None:
    """One part per training set of the paper that there are rows of."""
    run = [on for on in ("svhn", "cifar10", "cifar100") if f"{on}-train" in {*rows["train"]}] or ["cifar10"]
    ours = {on: _errors(rows, on, ("slova", "softmax"), on) for on in run}
    theirs = "; ".join(_errors_of(on, _paper_errors(paper, on), found) for on, found in ours.items())
    here = "; ".join(_errors_of(on, found, found) for on, found in ours.items())
    return Check(theirs, here, tuple(v[OURS] < v["softmax", ""] + AS_ACCURATE for v in ours.values()))


def _errors_of(train: str, found: Mapping[Name, float], names: Iterable[Name]) -> str:
    return f"{set_name(train)}: {listed({name: found[name] for name in names if name in found}, 'error')}"


def _lower(rows: Frame, one: str, other: str, on: str) -> tuple[int, int]:
    """On how many pairs of a training set and a real OOD set the MMC of the first method is lower, and of how many."""
    pairs = where(rows, metric="mmc").groupby(["train", "test"])
    outside = (own for (train, test), own in pairs if is_data(test) and set_name(test) != set_name(train))
    found = [values for own in outside if (values := common_means(own, [one, other]))]
    present([one] if found else [], [one], "ood", on)
    return sum(values[one, ""] < values[other, ""] for values in found), len(found)


def _errors(rows: Frame, train: str, methods: Sequence[str], on: str) -> dict[Name, float]:
    found = common_means(where(rows, train=f"{train}-train", test=f"{train}-test", metric="error"), methods)
    present(found, methods, "ood", train)
    return found


def _paper_errors(paper: Frame, on: str) -> dict[Name, float]:
    return published.numbers(paper, (), experiment="ood", train=f"{on}-train", test=f"{on}-test", metric="error")


def _lowest(rows: Frame, train: str, test: str) -> Name:
    """The method with the lowest MMC on a pair of sets."""
    return best(means(per_seed(where(rows, train=train, test=test, metric="mmc"))), "mmc")


def _claims() -> Iterator[Exhibit]:
    part = "Table 1, Sec. 4.2"
    yield claim("SLOVA has the lowest MMC", part, "ood", partial(wins, control=RAW), across=True)
    yield claim("SLOVA's MMC is lower than softmax's", part, "ood", below_softmax, across=True)
    text = "By ranks of the MMC SLOVA cannot be distinguished from"
    yield claim(text, "Fig. 7, Sec. 4.2", "ood", partial(alike, control=RAW), across=True)
    yield claim("ReAct is between softmax and SLOVA, and less accurate on CIFAR-100", part, "ood", react, across=True)
    text = "ACET is unstable: almost no confidence on one OOD set, that of softmax on another"
    yield claim(text, part, "ood", acet, across=True, counted=False)
    text = "Noise in the calibration set keeps calibration from raising the MMC"
    yield claim(text, "Sec. 3.6", "ood", noise, across=True)
    yield claim("SLOVA's error is softmax's, to half a point", "Table 1, Sec. 4.2", "ood", accurate, across=True)
    text = "The MMC of the calibrated SLOVA, which the paper does not use on OOD data"
    yield claim(text, "", "ood", measured, across=True)
    text = "By ranks of the MMC in the paper's own Table 1 SLOVA cannot be distinguished from"
    yield claim(text, "", "ood", own_table, across=True)


CLAIMS = tuple(_claims())
