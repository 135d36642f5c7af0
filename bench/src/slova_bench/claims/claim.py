"""A claim of the paper, its check on rows of results, and the judged claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from slova_bench import labels
from slova_bench.exhibit import Exhibit, Kind
from slova_bench.frame import Frame, seed_counts, where
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.seeds import span

__all__ = ["Check", "JudgedClaim", "Verdict", "claim"]


class Verdict(StrEnum):
    """The verdict on a claim. `MEASURED`: the paper has no number to compare with."""

    REPRODUCED = "reproduced"
    PARTLY = "partly reproduced"
    NOT = "not reproduced"
    OPEN = "no rows yet"
    MEASURED = "measured here"


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with the number of the paper, the number measured here, and the verdict.

    `answers` is the section of the paper, `mark` the kind of the rows where it is not the usual one ("quick").
    Claims about other methods than SLOVA are judged but not `counted`. `seeds` are those of the methods of the paper.
    """

    claim: str
    on: str
    answers: str
    paper: str
    ours: str
    verdict: Verdict
    mark: str = ""
    counted: bool = True
    seeds: str = ""

    @property
    def where(self) -> str:
        return (labels.set_name(self.on) if self.on else "all training sets") + self.mark

    @property
    def sentence(self) -> str:
        """The judged claim as one sentence."""
        published = f"; in the paper: {self.paper}" if self.paper else ""
        verdict = "" if self.verdict is Verdict.MEASURED else f"{self.verdict}. Here: "
        return f"{self.claim} ({self.where}): {verdict}{self.ours}{published}."


@dataclass(frozen=True)
class Check:
    """Both numbers as text, and whether each part of the claim holds on our rows (no parts: only measured)."""

    paper: str
    ours: str
    holds: tuple[bool, ...] = ()

    @property
    def verdict(self) -> Verdict:
        if not self.holds:
            return Verdict.MEASURED
        return Verdict.REPRODUCED if all(self.holds) else Verdict.PARTLY if any(self.holds) else Verdict.NOT


def claim(
    text: str,
    answers: str,
    experiment: str,
    check: Callable[[Frame, Frame, str], Check | None],
    *,
    across: bool = False,
    counted: bool = True,
) -> Exhibit:
    """A claim: its text, its section of the paper (empty if it is not in the paper), and its check on rows.

    `check(rows, paper, on)` returns None where the paper has no claim for a training set, as does `make`. With `across`
    it takes the rows of all training sets together. `counted`: it is about SLOVA.
    """

    def make(results: ResultsFolder, on: str) -> JudgedClaim | None:
        judged = JudgedClaim(text, on, answers, "", "", Verdict.OPEN, counted=counted)
        try:
            rows = exhibit.rows(results, on)
        except MissingRowsError:  # only claims of the paper wait for rows
            return replace(judged, ours=f"run slova bench run {experiment} --on {on}") if answers else None
        judged = replace(judged, mark=exhibit.mark(results, on), seeds=_seeds(rows, results.paper, experiment))
        try:
            found = check(rows, results.paper, on)
        except MissingRowsError as error:
            return replace(judged, ours=str(error))
        return replace(judged, paper=found.paper, ours=found.ours, verdict=found.verdict) if found else None

    exhibit = Exhibit(Kind.CLAIM, text, text, answers, experiment, make, across=across)
    return exhibit


def _seeds(rows: Frame, paper: Frame, experiment: str) -> str:
    """The least and the greatest number of seeds of the methods of the paper, over all training sets."""
    theirs = published.counterparts(paper, experiment, rows["method"].unique())
    found = where(rows, method=theirs) if theirs else rows
    return span(seed_counts(found, "train", "method").tolist())
