"""A claim of the paper, its check on rows of results, and the judged claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from slova_bench import labels
from slova_bench.results import Row

__all__ = ["Check", "Claim", "JudgedClaim", "Verdict"]


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


@dataclass(frozen=True)
class Claim:
    """A claim: its text, its section of the paper (empty if it is not in the paper), and its check on rows.

    `check(rows, paper, on)` returns None where the paper has no claim for a training set. With `across` it takes the
    rows of all training sets together. `counted`: it is about SLOVA.
    """

    text: str
    answers: str
    experiment: str
    check: Callable[[Sequence[Row], Sequence[Row], str], Check | None]
    across: bool = False
    counted: bool = True
