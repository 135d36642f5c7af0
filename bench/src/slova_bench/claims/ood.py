"""Claims about OOD data (Sec. 4.2, Table 1). The paper uses SLOVA without calibration there, so each claim is checked
for both of our readouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from slova_bench.claims.claim import Check, Claim
from slova_bench.claims.numbers import OURS, best, listed, means, present
from slova_bench.claims.ranking import ranking
from slova_bench.compare import Comparison
from slova_bench.labels import look
from slova_bench.results import Row
from slova_bench.tables import published
from slova_bench.tables.assembly import by_method
from slova_bench.tables.ranks import ood_comparison

__all__ = ["CLAIMS"]

AS_ACCURATE = 0.005  # half a point
READOUTS = ("slova", "slova_raw")


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


def own_table(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """The same claim on the paper's own numbers."""
    claimed = published.numbers(paper, (), experiment="ood", metric="alike")
    return ranking(ood_comparison(paper, paper), claimed) if claimed else None


def accurate(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    where = {"metric": "error", "test": f"{on}-test"}
    pair = [OURS, ("softmax", "")]
    found = means(by_method(row for row in rows if row.metric == "error" and row.test == f"{on}-test"))
    present(found, [method for method, _ in pair], "ood", on)
    theirs = published.numbers(paper, ("slova",), experiment="ood", train=f"{on}-train", **where)
    published_errors = listed({name: theirs[name] for name in pair if name in theirs}, "error")
    ours = {name: found[name] for name in pair}
    return Check(published_errors, listed(ours, "error"), (ours[OURS] < ours["softmax", ""] + AS_ACCURATE,))


def _paper_mmc(paper: Sequence[Row], train: str, test: str) -> dict[tuple[str, str], float]:
    return published.numbers(paper, (), experiment="ood", train=train, test=test, metric="mmc")


def _is_lowest(rows: Sequence[Row], comparison: Comparison, control: str, train: str, test: str) -> bool:
    mmc = (row for row in rows if (row.train, row.test, row.metric) == (train, test, "mmc") and not row.variant)
    found = means(by_method(mmc))
    rivals = comparison.pooled.distance.mean_ranks
    return best({name: value for name, value in found.items() if name[0] in rivals}, "mmc") == (control, "")


def _claims() -> Iterator[Claim]:
    for control in READOUTS:
        name = look(control).name
        yield Claim(
            f"{name} has the lowest MMC", "Table 1, Sec. 4.2", "ood", partial(wins, control=control), across=True
        )
        text = f"By ranks of the MMC {name} cannot be distinguished from"
        yield Claim(text, "Fig. 7, Sec. 4.2", "ood", partial(alike, control=control), across=True)
    text = "By ranks of the MMC in the paper's own Table 1 SLOVA cannot be distinguished from"
    yield Claim(text, "Fig. 7, Sec. 4.2", "ood", own_table, across=True)
    yield Claim("SLOVA's error is softmax's, to half a point", "Table 1, Sec. 4.2", "ood", accurate)


CLAIMS = tuple(_claims())
