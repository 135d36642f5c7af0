"""An exhibit: a table, a figure, a panel of the page or a claim, with the rows it needs and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pandas as pd

from slova_bench.frame import Frame, frame
from slova_bench.results_folder import ResultsFolder

__all__ = ["EVERYWHERE", "Exhibit", "Kind", "rows_across"]

EVERYWHERE = ""  # the training set of an exhibit that is for all of them, or needs no rows


class Kind(StrEnum):
    """What an exhibit is, which decides where it appears."""

    TABLE = "table"  # docs and page
    FIGURE = "figure"  # docs, and files of their own
    PANEL = "panel"  # page
    CLAIM = "claim"  # docs and page


@dataclass(frozen=True)
class Exhibit:
    """One exhibit, for each training set with rows of its experiment.

    kind: what it is.
    name: its file name without suffix and training set; of a claim, its text.
    title: its heading.
    answers: the parts of the paper it corresponds to, separated by commas; empty if it is not in the paper.
    experiment: the one whose rows it needs; empty if it needs none.
    make: `make(results, on)` returns tables, a chart, a source of numbers or a judged claim. It raises
        MissingRowsError, with the command to run, where there are no rows.
    about: the caption or description.
    across: one exhibit for all training sets.
    """

    kind: Kind
    name: str
    title: str
    answers: str
    experiment: str
    make: Callable[[ResultsFolder, str], Any]
    about: str = ""
    across: bool = False

    def sets(self, results: ResultsFolder) -> Sequence[str]:
        """The training sets it can be made for."""
        found = results.sets_of(self.experiment)
        return (EVERYWHERE,) if not self.experiment or (self.across and found) else found

    def rows(self, results: ResultsFolder, on: str) -> Frame:
        """The rows it is made of."""
        return rows_across(results, self.experiment) if self.across else results.rows_of(self.experiment, on)

    def mark(self, results: ResultsFolder, on: str) -> str:
        """The suffix of its title for rows of another kind ("quick")."""
        return results.mark(results.run_of(self.experiment, on), on)

    def is_for(self, item: str) -> bool:
        """Whether it corresponds to a figure or table of the paper."""
        return item in self.answers.split(", ")


def rows_across(results: ResultsFolder, experiment: str) -> Frame:
    """The rows of all training sets together."""
    return pd.concat([results.rows(experiment, on) for on in results.sets(experiment)] or [frame(())])
