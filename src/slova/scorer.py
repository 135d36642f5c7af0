"""From logits to an answer: a label or NONE, a calibrated confidence, P(none) and P(several).

The order of things, the same for files of logits, torch modules and scikit-learn:

    logits -> [affine map] -> head -> Readout -> calibration map -> confidence of the top class
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slova import artifact
from slova._backend import Array, floating, of, to_numpy
from slova.calibration import CALIBRATORS, AffineCalibration, Calibrator, ExponentialCalibration
from slova.calibration.pairs import check_rows, check_weight
from slova.heads import NONE, Readout, log_several, read_ova, read_slova, read_softmax
from slova.metrics import Selection
from slova.thresholds import threshold_for
from slova.top import Top, by_pieces, top_slova

if TYPE_CHECKING:
    from slova.export.parity import Parity

__all__ = ["HEADS", "Prediction", "Scorer"]

HEADS: dict[str, Callable[[Array], Readout]] = {"slova": read_slova, "ova": read_ova, "softmax": read_softmax}
PARTS = ("before", "map", "none_map", "validation")
VALUES: dict[str, type] = {**CALIBRATORS, "Selection": Selection}


class Prediction(NamedTuple):
    """What is said of each input: the label (NONE where it was rejected; with class names given the name, and None),
    the calibrated probability that this label is right, the probability that no class fits, and that several do."""

    label: Array
    confidence: Array
    none: Array
    several: Array


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """A head, what calibrates it, and what its validation set looked like. It acts on numpy arrays and torch tensors
    alike."""

    classes: int
    head: Callable[[Array], Readout] = read_slova
    before: AffineCalibration | None = None
    map: Calibrator | None = None
    none_map: Calibrator | None = None
    validation: Selection | None = None

    @classmethod
    def fit(
        cls,
        logits: Array,
        labels: Array,
        *,
        head: Callable[[Array], Readout] = read_slova,
        calibrate: Callable[..., Calibrator] | None = ExponentialCalibration.fit,
        rescale: bool = False,
        weight: Array | None = None,
    ) -> Scorer:
        """Fit on validation logits (N, K) and labels (N,), NONE allowed. `calibrate` fits the map of the
        log-probabilities, None leaves them; `rescale` fits an affine map of the logits first. P(none) is calibrated
        when the labels have NONE rows. `weight`, how often each row counts, goes to all of them and to `threshold`, for
        which a row of weight 3 is three rows; other weights than whole numbers keep no `delta` there. Among thousands
        of classes the hits drown in the other pairs: `slova.extreme.fit` looks at the top class of each row alone."""
        logits, labels = _check_logits(logits, labels)
        weight = None if weight is None else check_weight(weight, labels)
        before = AffineCalibration.fit(logits, labels, weight=weight) if rescale else None
        readout = head(logits if before is None else before(logits))
        scorer = cls(
            classes=logits.shape[1],
            head=head,
            before=before,
            map=None if calibrate is None else calibrate(readout.log_probs, labels, **_weighted(weight)),
            none_map=none_map_of(readout.log_none, labels, weight),
        )
        answer = scorer.predict(logits)  # and not the top after the map, which may tie classes or change their order
        rows = answer.confidence.astype(np.float64), answer.label == labels
        kept = Selection.histogram(*rows) if weight is None else Selection.weighted(*rows, weight)
        return replace(scorer, validation=kept)

    def __call__(self, logits: Array) -> Readout:
        """The calibrated read-out of all classes; calibrated class by class, a row need not sum to one (see
        `complete`)."""
        log_probs, log_none = self.raw(logits)
        return Readout(log_probs if self.map is None else self.map(log_probs), self._none(log_none))

    def raw(self, logits: Array) -> Readout:
        """The read-out before calibration."""
        logits = self._checked(logits)
        return self.head(logits if self.before is None else self.before(logits))

    def predict(self, logits: Array, *, reject: float = 0.0) -> Prediction:
        """The answer for each row; NONE where the confidence is below `reject`, or NaN. The label is the top class
        before the map, so a map that ties classes cannot change it."""
        check_reject(reject)
        label, log_confidence, log_none, several = by_pieces(self._answer, self._checked(logits))
        ops = of(log_none)
        confidence = ops.exp(log_confidence)
        label = ops.where(confidence >= reject, label, ops.full(label, NONE))
        return Prediction(label, confidence, ops.exp(log_none), ops.exp(several))

    @property
    def none_is_calibrated(self) -> bool:
        """Whether P(none) was calibrated on NONE rows; otherwise it is the network's own."""
        return self.none_map is not None

    def threshold(
        self, *, risk: float | None = None, coverage: float | None = None, delta: float | None = 0.05
    ) -> float:
        """The `reject` that keeps a promise, by the validation set: see `slova.thresholds.threshold_for`."""
        if self.validation is None:
            raise ValueError("this scorer was not fitted on a validation set, so it knows no threshold")
        return threshold_for(self.validation, risk=risk, coverage=coverage, delta=delta)

    def save(self, path: str | Path) -> None:
        artifact.save(path, "scorer", *self.packed())

    @classmethod
    def load(cls, path: str | Path) -> Scorer:
        """From its own file, or out of a saved classifier, whose network is left alone."""
        return cls.unpacked(*artifact.load(path, "scorer", "classifier"))

    def export(self, path: str | Path, **options: Any) -> Parity:
        """The answers to logits as one .onnx or .pt2 file, with the options of `slova.export.scorer.export_scorer`."""
        from slova.export.scorer import export_scorer

        return export_scorer(self, path, **options)

    def packed(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays and JSON, for an artifact."""
        names = [name for name, head in HEADS.items() if head is self.head]
        if not names:
            raise ValueError(f"the head {self.head} is not one of {', '.join(HEADS)} and cannot be saved")
        tensors, meta = artifact.pack_parts(self, PARTS, VALUES)
        return tensors, {"classes": self.classes, "head": names[0], **meta}

    @classmethod
    def unpacked(cls, tensors: dict[str, Array], meta: dict[str, Any]) -> Scorer:
        if meta.get("head") not in HEADS:
            raise artifact.ArtifactError(f"the head {meta.get('head')!r} is not one of {', '.join(HEADS)}")
        parts = artifact.unpack_parts(tensors, meta, PARTS, VALUES)
        return cls(classes=int(meta["classes"]), head=HEADS[meta["head"]], **parts)

    def _checked(self, logits: Array) -> Array:
        logits, _ = floating(logits, "logits")
        if logits.shape[-1] != self.classes:
            raise ValueError(f"logits {tuple(logits.shape)} do not have the {self.classes} classes of this scorer")
        return logits

    def _answer(self, logits: Array) -> tuple[Array, Array, Array, Array]:
        """Label, log-confidence, log P(none) and log P(several) of each row."""
        logits = logits if self.before is None else self.before(logits)
        label, log_confidence, log_none = self._top(logits)
        several = log_none if self.head is read_softmax else log_several(logits)
        return label, log_confidence, self._none(log_none), several

    def _top(self, logits: Array) -> Top:
        """Label, calibrated log-confidence and log P(none) as the head gives it."""
        if self.head is read_slova and (self.map is None or self.map.elementwise):
            top = top_slova(logits)
            return (
                top
                if self.map is None
                else top._replace(log_confidence=self.map(top.log_confidence[..., None])[..., 0])
            )
        log_probs, log_none = self.head(logits)
        ops = of(log_probs)
        index = ops.top(logits if self.head in HEADS.values() else log_probs)[1]  # log_probs may tie by rounding
        calibrated = log_probs if self.map is None else self.map(log_probs)
        return Top(index[..., 0], ops.take(calibrated, index)[..., 0], log_none)

    def _none(self, log_none: Array) -> Array:
        return log_none if self.none_map is None else self.none_map(log_none[..., None])[..., 0]


def _check_logits(logits: Array, labels: Array) -> tuple[np.ndarray, np.ndarray]:
    logits, labels = check_rows(to_numpy(logits), labels, "logits")
    return logits, labels


def check_reject(reject: Array) -> None:
    """A threshold, or one a row, is a share; on an accelerator it is not looked at, which would wait for the device."""
    if str(getattr(reject, "device", "cpu")) != "cpu":
        return
    if not (0 <= reject <= 1 if isinstance(reject, int | float) else _all_shares(to_numpy(reject))):
        raise ValueError(f"reject must lie in [0, 1], got {reject}")


def _all_shares(values: np.ndarray) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())


def _weighted(weight: Array | None) -> dict[str, Array]:
    """Maps that know no weight are not asked for it where there is none."""
    return {} if weight is None else {"weight": weight}


def none_map_of(log_none: np.ndarray, labels: np.ndarray, weight: Array | None) -> ExponentialCalibration | None:
    if not (labels == NONE).any() or np.isneginf(log_none).all():
        return None
    is_none = np.where(labels == NONE, 0, NONE)  # of the one class "none"
    return ExponentialCalibration.fit(log_none[:, None], is_none, at_most_one=True, weight=weight)
