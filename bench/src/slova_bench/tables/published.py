"""The numbers of the paper, by the names of our corresponding methods."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pandas as pd

from slova_bench.frame import Frame, Name, where
from slova_bench.labels import look

__all__ = ["Numbers", "counterpart", "counterparts", "numbers", "pairs", "stand_in_note"]

Numbers = dict[Name, float]
STAND_INS = {"acet": "acet_short"}  # with fewer attack steps, where the full attack was not run


def numbers(paper: Frame, ours: Collection[str], **columns: object) -> Numbers:
    """The numbers of the paper per method, by our name; `columns` selects rows (`metric="ece_q25"`)."""
    rows, ours = where(paper, **columns)[["method", "variant", "value"]].itertuples(index=False, name=None), set(ours)
    return {(counterpart(method, ours), variant): value for method, variant, value in rows}


def counterpart(method: str, ours: Collection[str]) -> str:
    """Our method for one of the paper: the one of the same name, or else its stand-in if that was run."""
    other = STAND_INS.get(method, method)
    return other if method not in ours and other in ours else method


def counterparts(paper: Frame, experiment: str, ours: Collection[str]) -> list[str]:
    """Our names of the methods that the paper compares in an experiment, run or not."""
    ours, theirs = set(ours), where(paper, experiment=experiment)["method"].unique()
    return sorted({counterpart(method, ours) for method in theirs})


def pairs(rows: Frame, paper: Frame) -> Frame:
    """The rows of the pairs of a training set and an OOD set that the paper has."""
    theirs = where(paper, experiment="ood", metric="mmc")
    known = [*zip(theirs["train"], theirs["test"], strict=True)]
    return rows[pd.MultiIndex.from_frame(rows[["train", "test"]]).isin(known)]


def stand_in_note(names: Iterable[Name]) -> str:
    """A note where a stand-in is shown next to a number of the paper."""
    run = {method for method, _ in names}
    found = [(of, other) for of, other in STAND_INS.items() if other in run and of not in run]
    return " ".join(f"{look(other).name} is next to the paper's number of {look(of).name}." for of, other in found)
