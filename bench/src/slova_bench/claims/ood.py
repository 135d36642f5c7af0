"""Claims about OOD data (Sec. 4.2, Table 1), on the pairs of sets of the paper.

The paper uses SLOVA without calibration there, so this readout is judged. The calibrated one is measured, as is the
AUROC, which the paper does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import mean

from slova_bench import labels
from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import OURS, best, common_means, listed, means, present, seeds_of
from slova_bench.claims.ranking import ranking, together
from slova_bench.exhibit import Exhibit
from slova_bench.frame import Column, Frame, Name, per_seed, where
from slova_bench.labels import look, set_name
from slova_bench.tables import published
from slova_bench.tables.assembly import shown
from slova_bench.tables.ood import is_data
from slova_bench.tables.ranks import ood_comparison
from slova_bench.tables.seeds import at_common_seeds, better, is_tied, span

__all__ = ["CLAIMS"]

AS_ACCURATE = 0.005  # half a point
LARGE_DROP = 0.02  # two points of error
UNAWARE = 0.05  # as confident as softmax
RAW = "slova_raw"


def wins(rows: Frame, paper: Frame, on: str, control: str) -> Check | None:
    """How often SLOVA has the lowest MMC among the methods of the paper, at their common seeds of each pair."""
    claimed = where(paper, experiment="ood", metric="wins")
    if not len(claimed):
        return None
    ranks = ood_comparison(published.pairs(rows, paper), paper, control).pooled.mean_ranks
    present(ranks, (name for name in published.counterparts(paper, "ood", ranks) if name != "slova"), "ood", on)
    found, published_pairs = _by_pair(published.pairs(rows, paper), "mmc", ranks), published.pairs(paper, paper)
    numbers = _by_pair(published_pairs, "mmc", published_pairs["method"].unique())
    theirs = sum(best(means(numbers[pair]), "mmc") == OURS for pair in found)
    ours = sum(best(means(column), "mmc") == (control, "") for column in found.values())
    value, pairs_of_paper = claimed[["value", "n"]].iloc[0]
    total = f"{value:g} of {pairs_of_paper:g}, {theirs} of the {len(found)} pairs there are rows of"
    rivals = together(name for name in labels.ordered(ranks) if name != control)
    seeds = span([len(column[control, ""]) for column in found.values()])
    return Check(total, f"{ours} of {len(found)}, against {rivals} (seeds by pair: {seeds})", (ours >= theirs,))


def alike(rows: Frame, paper: Frame, on: str, control: str) -> Check | None:
    """The paper states for every rival whether ranks distinguish it from SLOVA."""
    claimed = where(paper, experiment="ood", metric="alike")
    if not len(claimed):
        return None
    comparison = ood_comparison(published.pairs(rows, paper), paper, control)
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
    wins, pairs = _lower(rows, paper, RAW, "softmax", on)
    return Check("significantly lower", f"lower on {wins} of {pairs} pairs of real sets", (wins == pairs,))


def react(rows: Frame, paper: Frame, on: str) -> Check | None:
    """ReAct is below softmax, SLOVA is below ReAct on every set, and on CIFAR-100 ReAct loses accuracy."""
    below, pairs = _lower(rows, paper, "react", "softmax", on)
    ours, of = _lower(rows, paper, RAW, "react", on)
    errors = _errors(rows, "cifar100", ("react", "softmax"), on)
    drop = errors["react", ""] - errors["softmax", ""]
    words = f"ReAct below softmax on {below} of {pairs} pairs of real sets, SLOVA below ReAct on {ours} of {of}"
    words += f"; error on {_errors_of('cifar100', errors, errors)}; required: more than {100 * LARGE_DROP:g} points"
    holds = (below == pairs, ours == of, drop > LARGE_DROP)
    theirs = _errors_of("cifar100", _paper_errors(paper, "cifar100"), errors)
    said = f"ReAct slightly below softmax, SLOVA below ReAct in all cases; error on {theirs}"
    return Check(said, words, holds)


def acet(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Trained on CIFAR-10: little confidence on SVHN and ImageNet, if there are rows of it, and that of softmax or CEDA
    on CIFAR-100."""
    own = where(rows, train="cifar10-train")
    name = published.counterpart("acet", own["method"].unique())
    those, tests = [name, "ceda", "softmax"], ("svhn", "imagenet224", "cifar100")
    columns = _by_pair(where(own, test=[f"{test}-test" for test in tests]), "mmc", those)
    there = {test: column for test in tests if (column := columns.get(("cifar10-train", f"{test}-test")))}
    present(those if {"svhn", "cifar100"} <= there.keys() else (), those, "ood", "cifar10")
    found = {test: means(column) for test, column in there.items()}
    near = found["cifar100"]
    holds = (
        *(far[name, ""] < far["softmax", ""] / 2 for far in found.values() if far is not near),
        near[name, ""] > near["softmax", ""] - UNAWARE,
        near[name, ""] > near["ceda", ""],
    )
    words = "; ".join(f"{set_name(test)}: {listed(values, 'mmc')}" for test, values in found.items())
    words += f" ({'full' if name == 'acet' else 'short'} attack; {seeds_of(there['cifar100'][name, ''])}); "
    words += "required: on SVHN and ImageNet below half of softmax's; on CIFAR-100 above CEDA's, and at most "
    words += f"{UNAWARE:g} below softmax's"
    return Check("detects SVHN and ImageNet, unaware of CIFAR-100, where it is worse than CEDA", words, holds)


def noise(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Two parts: without noise the calibrated MMC is larger than the uncalibrated one somewhere, with noise nowhere."""
    (above, of), (below, pairs) = (_lower(rows, paper, *pair, on) for pair in ((RAW, "slova_clean"), ("slova", RAW)))
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


def detects(rows: Frame, paper: Frame, on: str) -> Check | None:
    """The AUROC of the readout of the paper against that of softmax and of OVA, on all real OOD sets."""
    words = list[str]()
    for rival in ("softmax", "ova"):
        pair, columns = ((RAW, ""), (rival, "")), _by_pair(rows, "auroc", [RAW, rival]).values()
        if not columns:
            return None
        wins, losses = (sum(better(one, *names, "auroc") for one in columns) for names in (pair, pair[::-1]))
        ties = sum(is_tied(one[pair[0]], one[pair[1]]) for one in columns)
        ours, theirs = (shown("auroc", mean([mean(one[name].values()) for one in columns])).text for name in pair)
        count = f"higher on {wins} of {len(columns)} pairs of sets, lower on {losses}, not distinguished on {ties}"
        seeds = span([len(one[RAW, ""]) for one in columns])
        words.append(f"against {look(rival).name} {count} (means {ours} and {theirs}; seeds by pair: {seeds})")
    return Check("", "; ".join(words))


def _errors_of(train: str, found: Mapping[Name, float], names: Iterable[Name]) -> str:
    return f"{set_name(train)}: {listed({name: found[name] for name in names if name in found}, 'error')}"


def _lower(rows: Frame, paper: Frame, one: str, other: str, on: str) -> tuple[int, int]:
    """On how many pairs of sets of the paper the MMC of the first method is lower, and of how many."""
    found = [means(column) for column in _by_pair(published.pairs(rows, paper), "mmc", [one, other]).values()]
    present([one] if found else [], [one], "ood", on)
    return sum(values[one, ""] < values[other, ""] for values in found), len(found)


def _by_pair(rows: Frame, metric: str, methods: Iterable[str]) -> dict[tuple[str, str], Column]:
    """The values of these methods at their common seeds, for each pair of a training set and a real OOD set that all
    of them have."""
    names = [*methods]
    pairs = where(rows, metric=metric, variant="").groupby(["train", "test"])
    outside = {(a, b): own for (a, b), own in pairs if is_data(b) and set_name(a) != set_name(b)}
    found = {pair: at_common_seeds(per_seed(own), names) for pair, own in outside.items()}
    return {pair: column for pair, column in found.items() if len(column) == len(names)}


def _errors(rows: Frame, train: str, methods: Sequence[str], on: str) -> dict[Name, float]:
    found = common_means(where(rows, train=f"{train}-train", test=f"{train}-test", metric="error"), methods)
    present(found, methods, "ood", train)
    return found


def _paper_errors(paper: Frame, on: str) -> dict[Name, float]:
    return published.numbers(paper, (), experiment="ood", train=f"{on}-train", test=f"{on}-test", metric="error")


def _claims() -> Iterator[Exhibit]:
    part = "Table 1, Sec. 4.2"
    yield claim("SLOVA has the lowest MMC", part, "ood", partial(wins, control=RAW), across=True)
    yield claim("SLOVA's MMC is lower than softmax's", part, "ood", below_softmax, across=True)
    text = "Methods whose mean ranks of the MMC do not differ significantly from SLOVA's"
    yield claim(text, "Fig. 7, Sec. 4.2", "ood", partial(alike, control=RAW), across=True)
    yield claim("ReAct is between softmax and SLOVA, and less accurate on CIFAR-100", part, "ood", react, across=True)
    text = "ACET is unstable: little confidence on some OOD sets, that of softmax on another"
    yield claim(text, part, "ood", acet, across=True, counted=False)
    text = "Noise in the calibration set keeps calibration from raising the MMC"
    yield claim(text, "Sec. 3.6", "ood", noise, across=True)
    text = "SLOVA's error is softmax's, to half a point"
    yield claim(text, part, "ood", accurate, across=True, counted=False)  # it is counted with severities
    text = "The MMC of the calibrated SLOVA, which the paper does not use on OOD data"
    yield claim(text, "", "ood", measured, across=True)
    text = "The AUROC of the uncalibrated SLOVA on real OOD sets"
    yield claim(text, "", "ood", detects, across=True)
    text = "Methods whose mean ranks do not differ significantly from SLOVA's in the paper's own Table 1"
    yield claim(text, "", "ood", own_table, across=True)


CLAIMS = tuple(_claims())
