"""The answer of a classifier: a label or NONE, and why.

>>> import slova
>>> logits = np.array([[6.0, -6.0], [-4.0, -5.0], [1.0, 2.0]])
>>> prediction = slova.Scorer(classes=2).predict(logits, reject=0.9)
>>> prediction
       label  confidence    none  ambiguous
           0       0.995   0.002      0.002
        NONE       0.018   0.975      0.007
        NONE       0.237   0.032      0.731
Prediction of 3 rows, 2 rejected, mean confidence 0.417
>>> isinstance(prediction, Prediction), prediction.none > prediction.ambiguous     # no class fits, or several
(True, array([False,  True, False]))
>>> list(prediction[:1].to_dict())
['label', 'confidence', 'none', 'ambiguous']
>>> prediction.to_pandas().label
0       0
1    <NA>
2    <NA>
Name: label, dtype: Int64

Confidence, none and ambiguous add up to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from slova._backend import Array, to_numpy
from slova._types import Answers, BatchFloats
from slova._validation import NONE

if TYPE_CHECKING:
    import pandas

__all__ = ["COLUMNS", "Prediction"]

COLUMNS = ("label", "confidence", "none", "ambiguous")
"""The columns of a prediction in files and responses."""

SHOWN = 6  # rows of a repr
NOTE = "NONE is likelier than the label in {:,} rows: reject= rejects rows of low confidence"


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """The calibrated answer per row, from one distribution over the K classes and NONE.

    label: the most probable class, or NONE where it was rejected.
    confidence: the probability of that class, whether it was rejected or not.
    none: the probability that no class fits.
    ambiguous: the probability of another class; `confidence + none + ambiguous` is 1.
    top: the most probable class, also where it was rejected.

    It unpacks to the first four, has a length, and is sliced by rows. `confidence_given_class` is the confidence for
    inputs that are known to have a class.
    """

    label: Answers
    confidence: BatchFloats
    none: BatchFloats
    ambiguous: BatchFloats
    top: Answers

    def __iter__(self) -> Iterator[Array]:
        return iter((self.label, self.confidence, self.none, self.ambiguous))

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, rows: Any) -> Prediction:
        """The answers of some rows: a slice, a mask, or indices."""
        if isinstance(rows, int | np.integer):
            rows = slice(int(rows), int(rows) + 1 or None)
        return Prediction(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def confidence_given_class(self) -> BatchFloats:
        """The probability of the top class given that some class fits: confidence / (1 - none)."""
        return self.confidence / (self.confidence + self.ambiguous).clip(min=1e-30)  # 0 where none is 1

    def to_dict(self) -> dict[str, Array]:
        """The columns label, confidence, none and ambiguous by name."""
        return dict(zip(COLUMNS, self, strict=True))

    def to_pandas(self) -> pandas.DataFrame:
        """A table of the columns label (`pandas.NA` for NONE), confidence, none, ambiguous and top."""
        import pandas

        label, top = (np.asarray(to_numpy(column)) for column in (self.label, self.top))
        column = pandas.Series(label, dtype="Int64" if label.dtype.kind in "iu" else object)
        parts = {name: to_numpy(getattr(self, name)) for name in ("confidence", "none", "ambiguous")}
        return pandas.DataFrame({"label": column.mask(self._rejected, pandas.NA), **parts, "top": top})

    @property
    def _rejected(self) -> np.ndarray:
        labels = np.ravel(to_numpy(self.label))
        return labels == NONE if labels.dtype.kind in "iu" else np.array([label is NONE for label in labels], bool)

    def __repr__(self) -> str:
        columns = [np.ravel(to_numpy(part)) for part in self]
        rows = len(columns[0])
        lines = [f"{'label':>12}  confidence    none  ambiguous"]
        for label, *numbers in zip(*(column[:SHOWN].tolist() for column in columns), strict=True):
            name = "NONE" if label == NONE else str(label)
            lines.append(f"{name[:12]:>12}  {numbers[0]:10.3f}  {numbers[1]:6.3f}  {numbers[2]:9.3f}")
        if rows > SHOWN:
            lines.append(f"{'…':>12}")
        mean = f", mean confidence {columns[1].mean():.3f}" if rows else ""
        lines.append(f"Prediction of {rows:,} rows, {int(self._rejected.sum()):,} rejected{mean}")
        likely = int((~self._rejected & (columns[2] > columns[1])).sum())
        return "\n".join([*lines, *([NOTE.format(likely)] if likely else [])])
