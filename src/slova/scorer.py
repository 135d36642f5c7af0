"""From logits to predictions: a label or NONE, a calibrated confidence, P(none) and P(several).

The same steps for files of logits, torch modules and scikit-learn:

    logits -> [affine calibrator] -> head -> Readout -> calibrator -> confidence of the top class
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slova import artifact
from slova._backend import Array, Backend
from slova._validation import Floats, Ints, check_logits, check_rows, check_share, check_weight
from slova.calibration import CALIBRATORS, AffineCalibration, Calibrator, ExponentialCalibration, resolve
from slova.heads import HEADS, NONE, SLOVA, Head, Readout, Top, find_head, in_chunks
from slova.metrics import Selection
from slova.thresholds import threshold_for

if TYPE_CHECKING:
    from slova.export.parity import Parity

__all__ = ["Prediction", "Saved", "Scorer", "file_labels", "fit_none_calibrator", "load_saved"]

PARTS = ("before", "calibrator", "none_calibrator", "validation")
VALUES: dict[str, type] = {**CALIBRATORS, "Selection": Selection}

Calibration = str | Callable[..., Calibrator] | None


class Prediction(NamedTuple):
    """The answer per input: the label (NONE where it was rejected; with class names given the name, and None), the
    calibrated probability that this label is right, the probability that no class fits, and that several do."""

    label: Array
    confidence: Array
    none: Array
    several: Array


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """A head and its calibrators, for numpy arrays and torch tensors of logits.

    classes: the number of classes K.
    head: how logits are read.
    before: an affine calibrator of the logits, in front of the head.
    calibrator: the calibrator of the log-probabilities; None leaves them as the head gives them.
    none_calibrator: the calibrator of log P(none).
    validation: the confidences and hits of the validation set, by which `threshold` is found.
    """

    classes: int
    head: Head = SLOVA
    before: AffineCalibration | None = None
    calibrator: Calibrator | None = None
    none_calibrator: Calibrator | None = None
    validation: Selection | None = None

    @classmethod
    def fit(
        cls,
        logits: Array,
        labels: Array,
        *,
        head: str | Head = SLOVA,
        calibration: Calibration = "exponential",
        rescale: bool = False,
        weight: Array | None = None,
    ) -> Scorer:
        """Fit on validation logits (N, K) and labels (N,), NONE allowed.

        head: a name of `slova.heads.HEADS`, or a head.
        calibration: a name of `slova.calibration.CALIBRATORS`, a fit function of log-probabilities, labels and
            `weight`, or None for no calibration. P(none) is calibrated if there are NONE rows.
        rescale: fit an affine calibrator of the logits first.
        weight: how often each row counts, in every calibrator and in `threshold`; weights other than whole numbers
            allow no `delta` there.

        With thousands of classes the hits are rare among the pairs: `slova.extreme.fit` uses only the top class of each
        row.
        """
        logits, labels = check_rows(logits, labels, "logits")
        weight = None if weight is None else check_weight(weight, labels)
        head, fit = find_head(head), resolve(calibration)
        before = AffineCalibration.fit(logits, labels, weight=weight) if rescale else None
        readout = head(logits if before is None else before(logits))
        scorer = cls(
            classes=logits.shape[1],
            head=head,
            before=before,
            calibrator=None if fit is None else fit(readout.log_probs, labels, weight=weight),
            none_calibrator=fit_none_calibrator(readout.log_none, labels, weight),
        )
        prediction = scorer.predict(logits)  # the top after calibration may be another class, or tied
        rows = prediction.confidence.astype(np.float64), prediction.label == labels
        validation = Selection.histogram(*rows) if weight is None else Selection.weighted(*rows, weight)
        return replace(scorer, validation=validation)

    def __call__(self, logits: Array) -> Readout:
        """The calibrated readout of all classes; calibrated class by class, a row need not sum to one (see
        `complete`)."""
        log_probs, log_none = self.raw(logits)
        return Readout(log_probs if self.calibrator is None else self.calibrator(log_probs), self._none(log_none))

    def raw(self, logits: Array) -> Readout:
        """The readout before calibration."""
        logits, ops = check_logits(logits, self.classes)
        return self.head.readout(logits if self.before is None else self.before(logits), ops)

    def predict(self, logits: Array, *, reject: float = 0.0) -> Prediction:
        """The prediction per row; NONE where the confidence is below `reject`, or NaN. The label is the top class
        before calibration, so a calibrator that ties classes cannot change it."""
        return self.answer(*check_logits(logits, self.classes), check_share(reject, "reject"))

    def answer(self, logits: Array, ops: Backend, reject: float) -> Prediction:
        """The same as `predict`, for logits that were checked."""
        label, log_confidence, log_none, several = in_chunks(self._log_answer, logits, ops)
        confidence = ops.exp(log_confidence)
        label = ops.where(confidence >= reject, label, ops.full(label, NONE))
        return Prediction(label, confidence, ops.exp(log_none), ops.exp(several))

    @property
    def none_is_calibrated(self) -> bool:
        """Whether P(none) was calibrated on NONE rows; otherwise it is the network's own."""
        return self.none_calibrator is not None

    def threshold(
        self, *, risk: float | None = None, coverage: float | None = None, delta: float | None = 0.05
    ) -> float:
        """The `reject` that guarantees a risk or a coverage, by the validation set: see
        `slova.thresholds.threshold_for`."""
        if self.validation is None:
            raise ValueError("this scorer was not fitted on a validation set, so it knows no threshold")
        return threshold_for(self.validation, risk=risk, coverage=coverage, delta=delta)

    def save(self, path: str | Path) -> None:
        artifact.save(path, "scorer", *self.packed())

    @classmethod
    def load(cls, path: str | Path) -> Scorer:
        """The scorer of a file that `save` wrote, or of a saved classifier."""
        return load_saved(path).scorer

    def export(self, path: str | Path, **options: Any) -> Parity:
        """The answers to logits as one .onnx or .pt2 file, with the options of `slova.export.scorer.export_scorer`."""
        from slova.export.scorer import export_scorer

        return export_scorer(self, path, **options)

    def packed(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays and JSON, for an artifact."""
        if HEADS.get(self.head.name) != self.head:
            raise ValueError(f"the head {self.head.name!r} is not one of {', '.join(HEADS)} and cannot be saved")
        tensors, meta = artifact.pack_parts(self, PARTS, VALUES)
        return tensors, {"classes": self.classes, "head": self.head.name, **meta}

    @classmethod
    def unpacked(cls, tensors: dict[str, Array], meta: dict[str, Any]) -> Scorer:
        if meta.get("head") not in HEADS:
            raise artifact.ArtifactError(f"the head {meta.get('head')!r} is not one of {', '.join(HEADS)}")
        try:
            parts = artifact.unpack_parts(tensors, meta, PARTS, VALUES)
            return cls(classes=int(meta["classes"]), head=HEADS[meta["head"]], **parts)
        except (KeyError, AttributeError, TypeError) as error:
            raise artifact.ArtifactError(f"the content is not that of a scorer ({error!r})") from error

    def _log_answer(self, logits: Array, ops: Backend) -> tuple[Array, Array, Array, Array]:
        """Label, log-confidence, log P(none) and log P(several) per row."""
        logits = logits if self.before is None else self.before(logits)
        label, log_confidence, log_none = self._top(logits, ops)
        return label, log_confidence, self._none(log_none), self.head.several(logits, ops)

    def _top(self, logits: Array, ops: Backend) -> Top:
        """Label, calibrated log-confidence, and log P(none) as the head gives it."""
        if self.calibrator is None or self.calibrator.elementwise:
            top = self.head.read_top(logits, ops)
            return top._replace(log_confidence=_calibrated(self.calibrator, top.log_confidence))
        log_probs, log_none = self.head.readout(logits, ops)
        index = self.head.top_index(logits, log_probs, ops)
        return Top(index[..., 0], ops.take(self.calibrator(log_probs), index)[..., 0], log_none)

    def _none(self, log_none: Array) -> Array:
        return _calibrated(self.none_calibrator, log_none)


def _calibrated(calibrator: Calibrator | None, log_probs: Array) -> Array:
    """One log-probability per row (...), calibrated by itself."""
    return log_probs if calibrator is None else calibrator(log_probs[..., None])[..., 0]


def fit_none_calibrator(log_none: Floats, labels: Ints, weight: Floats | None) -> ExponentialCalibration | None:
    """The calibrator of log P(none) (N,); None without NONE rows, or where the head rules them out."""
    if not (labels == NONE).any() or np.isneginf(log_none).all():
        return None
    is_none = np.where(labels == NONE, 0, NONE)  # of the one class "none"
    return ExponentialCalibration.fit(log_none[:, None], is_none, at_most_one=True, weight=weight)


class Saved(NamedTuple):
    """The content of a file: a scorer, and a classifier's threshold and class names (0 and None for a scorer)."""

    scorer: Scorer
    reject: float
    names: tuple[str, ...] | None


def load_saved(path: str | Path) -> Saved:
    """The content of a file of a scorer, or of a classifier, without its network."""
    tensors, meta = artifact.load(path, "scorer", "classifier")
    try:
        names = meta.get("names")
        scorer = Scorer.unpacked(tensors, meta)
        return Saved(scorer, float(meta.get("reject") or 0.0), None if names is None else tuple(names))
    except (artifact.ArtifactError, TypeError) as error:
        raise artifact.ArtifactError(f"{path} cannot be used: {error}") from error


def file_labels(names: Sequence[str], classes: int) -> Array:
    """The text that stands in a file for each label of so many classes: its name, and last "-1" for NONE."""
    if len(names) != classes:
        raise ValueError(f"got {len(names)} names for {classes} classes")
    if str(NONE) in names:
        raise ValueError(f"a class is named {str(NONE)!r}, which is NONE in a file: rename it")
    return np.array([*names, str(NONE)])  # NONE = -1 finds the last one
