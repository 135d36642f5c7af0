"""The page of a classifier from its inputs: `classifier.report(...)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slova._backend import Array, to_numpy
from slova.artifact import atomic_path
from slova.heads import Readout
from slova.io import Block
from slova.prediction import Prediction
from slova.report.details import details_of, usage_of
from slova.report.measuring import measure
from slova.report.model_page import advised_page
from slova.report.page import render
from slova.report.thumbnails import picture_of
from slova.scorer import Scorer

if TYPE_CHECKING:
    from slova.classifier import Classifier

__all__ = ["classifier_report"]


class _Arrays:
    """Logits and labels as a table of one block."""

    def __init__(self, logits: Array, labels: Array | None, name: str) -> None:
        rows = to_numpy(logits)
        labels = np.full(len(rows), -1) if labels is None else to_numpy(labels)
        self.block, self.path = Block(rows, labels, 1.0), Path(name)

    def blocks(self, **_: Any) -> Iterator[Block]:
        yield self.block


class _AtDistances:
    """The scorer of a classifier for arrays of logits, with the distances of their rows."""

    def __init__(self, classifier: Classifier, options: dict[str, Any]) -> None:
        self.classifier, self.options = classifier, options
        self.head, self.classes = classifier.scorer.head, classifier.scorer.classes
        self.known: list[tuple[Array, Array | None]] = []

    def table(self, inputs: Any, labels: Any = None, *, name: str, labelled: bool = False) -> Any:
        """The logits of inputs as a table; their distances are remembered."""
        found = self.classifier._collected(inputs, labels, labelled=labelled, **self.options)
        made = _Arrays(found.logits, found.labels if labelled else None, name)
        self.known.append((made.block.logits, None if found.distances is None else to_numpy(found.distances)))
        return made

    def predict(self, logits: Array) -> Prediction:
        return self.classifier.scorer.predict(logits, distances=self._of(logits))

    def __call__(self, logits: Array) -> Readout:
        return self.classifier.scorer(logits, self._of(logits))

    def _of(self, logits: Array) -> Array | None:
        return next(distances for rows, distances in self.known if rows is logits)


def classifier_report(
    classifier: Classifier,
    inputs: Any,
    labels: Any,
    path: str | Path,
    *,
    ood: Any = None,
    before: Any = None,
    groups: Any = None,
    **options: Any,
) -> Path:
    """Write the page of a classifier on labelled inputs, and return its path.

    - ood: inputs that belong to no class; a dict for several sets, by name
    - before: earlier inputs, without labels, to see whether inputs have drifted
    - groups: a dict or a table with one value per row in each column: a table per column

    `classifier.report(images, labels, "report.html")` calls it.
    """
    path, scorer = Path(path), classifier.scorer
    calibrated: Any = _AtDistances(classifier, options)
    own = calibrated.table(inputs, labels, name=path.name, labelled=True)
    sets = {} if ood is None else ood if isinstance(ood, Mapping) else {"out-of-distribution": ood}
    others = {name: calibrated.table(part, name=name) for name, part in sets.items()}
    models = {"Before calibration": Scorer(classes=scorer.classes, head=scorer.head), "Calibrated": calibrated}
    found = [measure(name, one, own, others) for name, one in models.items()]
    page = advised_page(
        path.stem,
        f"{len(own.block.labels):,} rows: {', '.join(scorer.summary)}.",
        found,
        details_of(calibrated, own.blocks(), {} if groups is None else {str(key): list(groups[key]) for key in groups}),
        calibrated=scorer.calibrator is not None,
        before=None if before is None else usage_of(calibrated, calibrated.table(before, name="before").blocks()),
        names=classifier.names,
        picture=partial(picture_of, inputs),
    )
    with atomic_path(path) as temporary:
        temporary.write_text(render(page), encoding="utf-8")
    return path
