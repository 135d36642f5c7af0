"""What `slova report` measures of a file of logits: the numbers of `slova metrics`, and histograms of confidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from slova_bench.histograms import Histogram
from slova_bench.report.own import Known, Model, own
from slova_bench.results import Cell

from slova._validation import Flags
from slova.batch.measures import Added, Answers, Foreign, Measures
from slova.cli.files import load
from slova.cli.terminal import tracked
from slova.heads import NONE
from slova.io import Block, Table
from slova.scorer import HEADS, Scorer

if TYPE_CHECKING:
    from slova_bench.report.page import Page

    from slova.cli.report import ReportOptions

__all__ = ["own_page"]

LABELLED = "rows labelled -1"
CELL = Cell("own", "", "", "", "", "", 0, 0, 0)  # whose histogram it is, is said by where it stands


def own_page(options: ReportOptions, logits: Path) -> Page:
    if options.map_file is not None and options.head is not None:
        raise click.UsageError("--head belongs to logits without a --map, which has a head of its own")
    known = None if options.map_file is None else load(options.map_file).scorer
    table = Table(logits, options.labels, options.size)
    scorer = known or Scorer(classes=table.classes(), head=HEADS[options.head or "slova"])
    files = _named([Table(path, size=options.size) for path in options.ood])
    models = [_model(name, each, table, files) for name, each in _scorers(scorer, options).items()]
    return own(logits.name, _lede(scorer, models[0], options), models)


def _scorers(scorer: Scorer, options: ReportOptions) -> dict[str, Scorer]:
    """With a map, the same head without it as well."""
    if options.map_file is None:
        return {"This model": scorer}
    return {"Before calibration": replace(scorer, before=None, map=None, none_map=None), "Calibrated": scorer}


def _lede(scorer: Scorer, model: Model, options: ReportOptions) -> str:
    rows = int(model.ece.count.sum())
    head = next((name for name, head in HEADS.items() if head is scorer.head), "own")
    calibrated = "not calibrated" if options.map_file is None else f"calibrated by {options.map_file.name}"
    return f"{rows:,} rows of {scorer.classes} classes, read out by the head {head}, {calibrated}."


def _named(tables: Sequence[Table]) -> dict[str, Table]:
    """Files by their names, with their folders where two have the same."""
    names = [table.path.name for table in tables]
    return {t.path.name if names.count(t.path.name) == 1 else str(t.path): t for t in tables}


def _model(name: str, scorer: Scorer, table: Table, files: Mapping[str, Table]) -> Model:
    whole = reduce(add, (_File.of(scorer, block) for block in _blocks(table, scorer, labelled=True)))
    others = {LABELLED: whole.outside} if whole.outside.count else {}
    for file, foreign in files.items():
        answers = (Answers.of(scorer, block.logits) for block in _blocks(foreign, scorer, labelled=False))
        others[file] = reduce(add, (_Rows.of(each, NONE) for each in answers))
    inside = Known(whole.inside.histograms, whole.inside.count, whole.measures.values())
    outside = {file: rows.told_from(whole.inside) for file, rows in others.items()}
    return Model(name, whole.measures.ece, inside, outside)


def _blocks(table: Table, scorer: Scorer, *, labelled: bool) -> Iterator[Block]:
    return tracked(table.blocks(labelled=labelled, classes=scorer.classes), f"measuring {table.path.name}")


@dataclass(frozen=True)
class _Rows(Added):
    """Rows of one kind: histograms of their confidence, a block each, and what tells them from the other kind."""

    histograms: tuple[Histogram, ...]
    foreign: Foreign

    @classmethod
    def of(cls, answers: Answers, label: int) -> _Rows:
        """All of these rows are foreign (NONE), or none of them is (any other label)."""
        labels = np.full(len(answers.confidence), label)
        return cls((Histogram.of(CELL, *answers),), Foreign.of(answers.confidence, labels))

    @property
    def count(self) -> int:
        return int(self.foreign.detection.count.sum())

    def told_from(self, inside: _Rows) -> Known:
        return Known(self.histograms, self.count, (self.foreign + inside.foreign).values())


@dataclass(frozen=True)
class _File(Added):
    """What labelled blocks leave behind: the measures of all rows, and the rows of a class and the others apart."""

    measures: Measures
    inside: _Rows
    outside: _Rows

    @classmethod
    def of(cls, scorer: Scorer, block: Block) -> _File:
        answers = Answers.of(scorer, block.logits, block.labels)
        known: Flags = block.labels != NONE
        inside, outside = (Answers(answers.confidence[rows], answers.hits[rows]) for rows in (known, ~known))
        return cls(Measures.of(scorer, block, answers), _Rows.of(inside, 0), _Rows.of(outside, NONE))
