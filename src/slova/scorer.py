"""From logits to the answer: a label or NONE, its calibrated confidence, and why it is low.

    logits -> head -> log-odds or log-probabilities -> calibrator -> probabilities of the K classes and of NONE

The same steps serve files of logits, torch modules and scikit-learn. One distribution over K + 1 outcomes decides
everything: `predict_proba` returns it, and `predict` the top class, its probability (`confidence`), that of NONE
(`none`) and that of the other classes (`ambiguous`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from slova._backend import Array, Backend, in_chunks
from slova._validation import NONE, check_share
from slova.calibration import AffineCalibration, Calibrator, complete
from slova.heads import SLOVA, Head, Readout
from slova.metrics import Selection
from slova.prediction import Prediction
from slova.thresholds import threshold_for

if TYPE_CHECKING:
    from slova.evaluation import Evaluation, FitReport
    from slova.export.parity import Parity

__all__ = ["Calibration", "Scorer"]

TIE = 1e-6  # between the top class and those that an elementwise calibrator ties with it
LOWEST = -1e4  # of a log-probability when the other classes share what is left: those at 0 then share equally

Calibration = str | Callable[..., Calibrator] | None


@dataclass(frozen=True, kw_only=True, repr=False)
class Scorer:
    """A head and its calibrators, for numpy arrays and torch tensors of logits.

    classes: the number of classes K.
    head: how logits are read.
    before: an affine calibrator of the logits, in front of the head.
    calibrator: the calibrator of the log-odds or log-probabilities; None leaves them as the head gives them.
    none_calibrator: the calibrator of log P(none), where the calibrator has none of its own.
    validation: the confidences and hits of the validation rows, by which `threshold` is found.
    report: what `fit` found.
    """

    classes: int
    head: Head = SLOVA
    before: AffineCalibration | None = None
    calibrator: Calibrator | None = None
    none_calibrator: Calibrator | None = None
    validation: Selection | None = None
    report: FitReport | None = None

    @classmethod
    def fit(
        cls,
        logits: Array,
        labels: Array,
        *,
        head: str | Head = "auto",
        calibration: Calibration = "posterior",
        distances: Array | None = None,
        none_share: float | None = None,
        rescale: bool = False,
        weight: Array | None = None,
        seed: int = 0,
    ) -> Scorer:
        """Fit on validation logits (N, K) and labels (N,), NONE allowed; never on training data.

        logits: one-vs-all logits, softmax logits, log-probabilities or probabilities; one column for two classes.
        head: a name of `slova.heads.HEADS`, or a head; "auto" recognises the kind of the logits by the labels.
        calibration: a name of `slova.calibration.CALIBRATORS`, a fit function of log-probabilities, labels and
            `weight`, or None for no calibration.
        distances: distances (N, D) from the validation data, for the posterior calibrator.
        none_share: the prior probability of NONE; by default the share of the NONE rows.
        rescale: fit an affine calibrator of the logits first.
        weight: how often each row counts.
        seed: of the folds of cross-fitting.

        With thousands of classes `slova.extreme.fit` uses only the top class of each row.
        """
        from slova._fitting import fit_scorer

        options = {"distances": distances, "none_share": none_share, "rescale": rescale, "weight": weight, "seed": seed}
        return fit_scorer(logits, labels, head=head, calibration=calibration, **options)

    @property
    def none(self) -> Literal["calibrated", "evidence", "absent"]:
        """Where P(none) comes from: it was calibrated on NONE rows; a one-vs-all model splits what is left of the
        confidence like its raw evidence; or there is no evidence of NONE, and P(none) is 0."""
        if self.none_calibrator is not None or getattr(self.calibrator, "none", None) is not None:
            return "calibrated"
        return "absent" if self.head.log_none is None else "evidence"

    def predict(self, logits: Array, *, distances: Array | None = None, reject: float = 0.0) -> Prediction:
        """The answer per row; the label is NONE where the confidence is below `reject`, or NaN."""
        return self.answer(*self.head.check(logits, self.classes), check_share(reject, "reject"), distances)

    def predict_proba(self, logits: Array, *, distances: Array | None = None) -> Array:
        """The calibrated probabilities (..., K + 1), NONE last; rows sum to one."""
        logits, ops = self.head.check(logits, self.classes)
        log_probs, log_none = self.readout(logits, ops, distances)
        return ops.exp(ops.append(log_probs, log_none))

    def __call__(self, logits: Array, distances: Array | None = None) -> Readout:
        """The logs of `predict_proba`: of the classes (..., K), and of NONE (...)."""
        return self.readout(*self.head.check(logits, self.classes), distances)

    def raw(self, logits: Array) -> Readout:
        """The readout before calibration."""
        logits, ops = self.head.check(logits, self.classes)
        return self.head.readout(logits if self.before is None else self.before(logits), ops)

    def answer(self, logits: Array, ops: Backend, reject: float, distances: Array | None = None) -> Prediction:
        """The same as `predict`, for logits that were checked."""
        if distances is None:
            top, confidence, none, ambiguous = in_chunks(self._outcome, logits, ops)
        else:
            top, confidence, none, ambiguous = self._outcome(logits, ops, distances)
        label = ops.where(confidence >= reject, top, ops.full(top, NONE))
        return Prediction(label, confidence, none, ambiguous, top)

    def threshold(
        self,
        logits: Array | None = None,
        labels: Array | None = None,
        *,
        risk: float | None = None,
        coverage: float | None = None,
        delta: float | None = 0.05,
    ) -> float:
        """The `reject` that guarantees a risk or a coverage: see `slova.thresholds.threshold_for`. The guarantee is
        exact for rows that no fit has seen, given as logits and labels; without them the cross-fitted confidences of
        the fit are used, and it is approximate."""
        from slova.evaluation import selection_of

        validation = self.validation if logits is None else selection_of(self.predict(logits), labels)
        if validation is None:
            raise ValueError("this scorer was not fitted on a validation set, so it knows no threshold: give rows")
        return threshold_for(validation, risk=risk, coverage=coverage, delta=delta)

    def evaluate(self, logits: Array, labels: Array) -> Evaluation:
        """Accuracy, calibration and ranking metrics of labelled rows, with standard errors."""
        from slova.evaluation import evaluate

        return evaluate(self.predict(logits), self(logits), labels)

    def save(self, path: str | Path) -> None:
        from slova._scorer_file import save_scorer

        save_scorer(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Scorer:
        """The scorer of a file that `save` wrote, or of a saved classifier."""
        from slova._scorer_file import load_saved

        return load_saved(path).scorer

    def export(self, path: str | Path, **options: Any) -> Parity:
        """The answers to logits as one .onnx or .pt2 file, with the options of `slova.export.scorer.export_scorer`."""
        from slova.export.scorer import export_scorer

        return export_scorer(self, path, **options)

    def __repr__(self) -> str:
        parts = [f"{self.classes} classes", f"{self.head.name} head", _name(self.calibrator), f"NONE {self.none}"]
        return f"Scorer({', '.join([*parts, *([] if self.report is None else [str(self.report)])])})"

    def _outcome(
        self, logits: Array, ops: Backend, distances: Array | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """Top class, confidence, none and ambiguous per row."""
        logits = logits if self.before is None else self.before(logits)
        if self._is_elementwise:
            top, log_top, log_none = self.head.read_top(logits, ops)
            return top, *self._shares(logits, ops, _calibrated(self.calibrator, log_top), log_none)
        index, log_probs, log_none = self._joint(logits, ops, distances)
        return index[..., 0], *self._shares(logits, ops, ops.take(log_probs, index)[..., 0], log_none)

    @property
    def _is_elementwise(self) -> bool:
        return self.calibrator is None or self.calibrator.elementwise

    def _joint(self, logits: Array, ops: Backend, distances: Array | None) -> tuple[Array, Array, Array | None]:
        """Top class, log-probabilities of the classes (..., K), and log P(none), None where the calibrator has none;
        those of the classes are given that it is one of them where it has none."""
        calibrator: Any = self.calibrator
        if getattr(calibrator, "takes", "log_probs") == "log_odds":
            log_odds = logits if self.head.log_odds is None else self.head.log_odds(logits, ops)
            joint = calibrator(log_odds) if distances is None else calibrator(log_odds, distances)
            log_probs, log_none = joint[..., :-1], joint[..., -1]
        else:
            log_probs, log_none = calibrator(self.head.log_probs(logits, ops)), None
        keeps_order = self.head.order_preserving and calibrator.order_preserving
        index = ops.top(logits if keeps_order else log_probs)[1]
        return index, log_probs, log_none if getattr(calibrator, "none", None) is not None else None

    def _shares(
        self, logits: Array, ops: Backend, log_confidence: Array, log_none: Array | None
    ) -> tuple[Array, Array, Array]:
        """Confidence, none and ambiguous from the calibrated log-probability of the top class. `log_none` is what the
        calibrator, or the head in front of an elementwise calibrator, makes of NONE."""
        if self.none == "calibrated" and self.none_calibrator is not None:
            log_none = self.none_calibrator(self.head.log_none(logits, ops)[..., None])[..., 0]  # type: ignore[misc]
            if not self._is_elementwise:  # given one of the classes, so far
                log_confidence = log_confidence + ops.log1mexp(log_none)
        elementwise = self.calibrator is not None and self.calibrator.elementwise
        least = ops.full(log_confidence, 1 / self.classes)
        if elementwise and self.none == "absent":  # no class may be above the top one
            log_confidence = ops.where(log_confidence < ops.log(least), ops.log(least), log_confidence)
        confidence, log_left = ops.exp(log_confidence), ops.log1mexp(ops.clip(log_confidence, None, 0.0))
        left = ops.exp(log_left)
        if self.none == "absent":
            return confidence, ops.full(left, 0.0), left
        if self.none == "evidence":
            _, log_top, log_none = SLOVA.read_top(logits, ops)
            none = left * ops.exp(ops.clip(ops.minus(log_none, ops.log1mexp(log_top)), None, 0.0))
        else:
            none = ops.exp(log_none)
        if elementwise:
            none = ops.where(none < 1 - self.classes * confidence, 1 - self.classes * confidence, none)
        none = ops.where(none > left, left, none)
        return confidence, none, left - none

    def readout(self, logits: Array, ops: Backend, distances: Array | None) -> Readout:
        logits = logits if self.before is None else self.before(logits)
        if self._is_elementwise:
            log_probs, log_none = self.head.readout(logits, ops)
            index = self.head.top_index(logits, log_probs, ops)
            log_top = _calibrated(self.calibrator, self.head.read_top(logits, ops).log_confidence)
            if self.calibrator is not None:
                log_probs, below = self.calibrator(log_probs), log_top[..., None] - TIE
                log_probs = ops.where(log_probs > below, below, log_probs)
                log_probs = complete(ops.put(log_probs, index, log_top[..., None])).log_probs
        else:
            index, log_probs, log_none = self._joint(logits, ops, distances)
            log_top = ops.take(log_probs, index)[..., 0]
        confidence, none, ambiguous = self._shares(logits, ops, log_top, log_none)
        others = ops.put(ops.clip(log_probs, LOWEST, None), index, ops.full(index + log_probs[..., :1], -float("inf")))
        others = others - ops.logsumexp(others)[..., None] + ops.log(ambiguous)[..., None]
        return Readout(ops.put(others, index, ops.log(confidence)[..., None]), ops.log(none))


def _calibrated(calibrator: Calibrator | None, log_probs: Array) -> Array:
    """One log-probability per row (...), calibrated by itself."""
    return log_probs if calibrator is None else calibrator(log_probs[..., None])[..., 0]


def _name(calibrator: Calibrator | None) -> str:
    return "no calibration" if calibrator is None else f"{getattr(calibrator, 'name', 'own')} calibration"
