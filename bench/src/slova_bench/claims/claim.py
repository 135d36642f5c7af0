"""A claim of the paper, and what rows say to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from slova_bench import labels
from slova_bench.results import Row

__all__ = ["Check", "Claim", "Finding", "Verdict"]


class Verdict(StrEnum):
    """`MEASURED` where the paper has no number to hold ours against."""

    REPRODUCED = "reproduced"
    PARTLY = "partly reproduced"
    NOT = "not reproduced"
    OPEN = "no rows yet"
    MEASURED = "measured here"


@dataclass(frozen=True)
class Finding:
    """What the paper claims, its number, ours, and the verdict; `answers` is the section it answers to, `mark` says of
    what kind our rows are, if they are not the usual ones."""

    claim: str
    on: str
    answers: str
    paper: str
    ours: str
    verdict: Verdict
    mark: str = ""

    @property
    def where(self) -> str:
        return (labels.set_name(self.on) if self.on else "all training sets") + self.mark

    @property
    def sentence(self) -> str:
        """The finding for somebody who reads on."""
        said = f"; in the paper: {self.paper}" if self.paper else ""
        verdict = "" if self.verdict is Verdict.MEASURED else f"{self.verdict}. Here: "
        return f"{self.claim} ({self.where}): {verdict}{self.ours}{said}."


@dataclass(frozen=True)
class Check:
    """Both numbers in words, and which parts of the claim hold on our rows; without parts there is nothing to hold."""

    paper: str
    ours: str
    holds: tuple[bool, ...] = ()

    @property
    def verdict(self) -> Verdict:
        if not self.holds:
            return Verdict.MEASURED
        return Verdict.REPRODUCED if all(self.holds) else Verdict.PARTLY if any(self.holds) else Verdict.NOT


@dataclass(frozen=True)
class Claim:
    """One sentence, where it stands in the paper, if it does, and how rows are asked about it.

    `check(rows, paper, on)` is None where the paper says nothing of a training set. `across` takes the rows of all
    training sets at once.
    """

    text: str
    answers: str
    experiment: str
    check: Callable[[Sequence[Row], Sequence[Row], str], Check | None]
    across: bool = False
