"""Distance-aware fits: what `Classifier.fit` does with validation images, and its options for them.

Each batch of validation images is read three times: as it is, degraded (the labels are kept), and as synthetic images
that belong to no class. Distances of all of them from the clean images are measured in a few layers, those of an image
by statistics without it. Degraded and synthetic images only help the fit: the report, the thresholds and the prediction
sets are about the clean validation images, which are like the inputs to come, and all versions of an image are in one
fold.

- shift_aware: None does this for images in [0, 1] where it is possible; False does not; True is an error where it is
  not possible. Images are floats (N, C, H, W) of 1 or 3 channels, and the first input.
- normalize: (mean, std), numbers or one per channel, of networks that are given normalised images.
- layers: names of the layers to measure distances in, by default the last one of each resolution, or three blocks of
  a transformer. Networks for text and tables may name some as well; there are no degraded rows then without `degrade`.
- degrade: called as `degrade(images, seed=0)` with images in [0, 1], or with the first input where that is no image.
- views: "flip" or "turns": logits are the mean over an image and its horizontal flip, or over four quarter turns, in
  the fit and in every prediction, at the cost of one pass each. Distances are those of the image. Turns are for images
  without an upright position; photographs lose accuracy by them.

Validation rows labelled NONE, or `none_inputs`, take the place of the synthetic images.

>>> import slova
>>> classifier = slova.Classifier.fit(network, val_images, val_labels, views="flip")
>>> print(classifier.scorer.report)
1,000 rows, ... right, one-vs-all logits ...; distances in 0, with 1,000 degraded and 1,000 synthetic NONE rows ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from slova._validation import NONE, NONE_INDEX
from slova.vision.features import FeatureStatistics
from slova.vision.passes import check_views, mean_over_members
from slova.vision.shrinkage import ShrunkStatistics

__all__ = [
    "DEGRADED_NONE_WEIGHT",
    "DEGRADED_WEIGHT",
    "SYNTHETIC_WEIGHT",
    "FitRows",
    "Outputs",
    "ShiftOptions",
    "fit_rows",
]

# How often a degraded and a synthetic image count where a clean one counts once, in the class part and in the model of
# NONE: chosen on validation images of CIFAR-10, by degradations and outliers that neither training nor the fit uses.
DEGRADED_WEIGHT, DEGRADED_NONE_WEIGHT, SYNTHETIC_WEIGHT = 1 / 2, 1 / 6, 1 / 6

Values = float | Sequence[float] | Tensor
Floats = NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ShiftOptions:
    """The options of a distance-aware fit: see `slova.vision.shift_aware`."""

    shift_aware: bool | None = None
    normalize: tuple[Values, Values] | None = None
    layers: Sequence[str] | str | None = None
    degrade: Callable[..., Tensor] | None = None
    views: str | None = None

    def __post_init__(self) -> None:
        check_views(self.views)
        given = [part for part in (self.layers, self.degrade, self.normalize) if part is not None]
        if self.shift_aware is False and given:
            raise ValueError("layers, degrade and normalize must be None with shift_aware=False")
        if self.normalize is not None and len(self.normalize) != 2:
            raise ValueError(f"normalize must be (mean, std), got {len(self.normalize)} parts")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the layers that were given."""
        return (self.layers,) if isinstance(self.layers, str) else tuple(self.layers or ())

    def only_posterior(self, calibration: Any) -> ShiftOptions:
        """For another calibrator there are no distances; to ask for them is an error."""
        if calibration == "posterior":
            return self
        asked = self.shift_aware or self.layers or self.degrade or self.normalize
        if asked:
            raise ValueError(f"distances need calibration='posterior', got {calibration!r}: give views= only")
        return ShiftOptions(shift_aware=False, views=self.views)


class Outputs(NamedTuple):
    """Logits (N, K), the channels (N, C) of each layer, and the numbers (N,) of the validation rows they are of."""

    logits: Floats
    channels: Sequence[Floats]
    rows: Ints

    @classmethod
    def joined(cls, parts: Sequence[Outputs]) -> Outputs:
        channels = [np.concatenate(layer) for layer in zip(*(part.channels for part in parts), strict=True)]
        logits, rows = (np.concatenate([part[column] for part in parts]) for column in (0, 2))
        return cls(logits, channels, rows)


class FitRows(NamedTuple):
    """What a scorer is fitted to, by the names of the arguments of `Scorer.fit`."""

    logits: Floats
    labels: Ints
    distances: Floats
    weight: Floats
    none_weight: Floats
    versions_of: Ints


def fit_rows(
    clean: Outputs,
    labels: Ints,
    degraded: Outputs | None,
    synthetic: Outputs | None,
    none: Outputs | None,
    *,
    members: int = 1,
) -> tuple[FitRows, list[FeatureStatistics]]:
    """The rows of a fit, clean ones first, and the statistics of each layer over the clean images of a class. `none`
    are inputs of no class that were given: they count like validation rows. `members`: see `Passes`."""
    known = labels != NONE if (labels != NONE).any() else np.ones(len(labels), bool)
    layers = [ShrunkStatistics.of(channels[known]) for channels in clean.channels]

    def distances(part: Outputs) -> Floats:
        if part is none:
            squares = [layer.square(channels) for layer, channels in zip(layers, part.channels, strict=True)]
        else:
            pairs = zip(layers, part.channels, clean.channels, strict=True)
            squares = [_squares(layer, channels, own, known, part.rows) for layer, channels, own in pairs]
        return np.asarray(mean_over_members(np.log1p(np.column_stack(squares)), members))

    size = len(labels) + sum(len(part.rows) for part in (degraded, synthetic) if part is not None)
    parts = [(clean, labels, (1.0, 1.0), clean.rows)]
    if degraded is not None:
        weights = (DEGRADED_WEIGHT, DEGRADED_NONE_WEIGHT)
        parts.append((degraded, labels[degraded.rows], weights, degraded.rows))
    if synthetic is not None:
        weights = (SYNTHETIC_WEIGHT, SYNTHETIC_WEIGHT)
        parts.append((synthetic, np.full(len(synthetic.rows), NONE_INDEX), weights, synthetic.rows))
    if none is not None:
        count = len(none.logits)
        parts.append((none, np.full(count, NONE_INDEX), (1.0, 1.0), size + np.arange(count)))
    columns = [
        (part.logits, truth, distances(part), *(np.full(len(truth), weight) for weight in weights), source)
        for part, truth, weights, source in parts
    ]
    rows = FitRows(*(np.concatenate(column) for column in zip(*columns, strict=True)))
    return rows, [layer.statistics for layer in layers]


def _squares(layer: ShrunkStatistics, channels: Floats, clean: Floats, known: NDArray[np.bool_], rows: Ints) -> Floats:
    """Squared distances of versions of the clean rows, each by statistics in which its image is not."""
    squares, inside = np.array(layer.square(channels)), known[rows]
    squares[inside] = layer.held_out(channels[inside], of=clean[rows[inside]])
    return squares
