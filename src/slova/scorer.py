"""From logits to the answer: a label or NONE, its calibrated confidence, and why it is low.

    logits -> head -> log-odds or log-probabilities -> calibrator -> probabilities of the K classes and of NONE

The same steps serve files of logits, torch modules and scikit-learn. One distribution over K + 1 outcomes decides
everything: `predict_proba` returns it, and `predict` the top class, its probability (`confidence`), that of NONE
(`none`) and that of the other classes (`ambiguous`).

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> labels = rng.integers(3, size=500)
>>> logits = rng.normal(-3, 2, (500, 3)) + 5 * np.eye(3)[labels]
>>> scorer = Scorer.fit(logits, labels)
>>> scorer
Scorer(3 classes, one-vs-all, posterior calibration on 500 rows, ECE 0.327 -> 0.021, NONE evidence)
>>> scorer.predict(logits[:2], reject=scorer.threshold(risk=0.05))
       label  confidence    none  ambiguous
           2       1.000   0.000      0.000
           1       0.923   0.066      0.011
Prediction of 2 rows, 0 rejected, mean confidence 0.962
>>> scorer.predict_proba(logits[:1]).round(3)                           # the classes, NONE last
array([[0., 0., 1., 0.]])
>>> scorer.predict_set(logits, coverage=0.98).sum(axis=1).mean()        # outcomes per row
np.float64(1.388)
>>> print(scorer.evaluate(logits, labels).accuracy)
0.9400 ± 0.0106
>>> scorer.save("model.slova")
>>> same = Scorer.load("model.slova")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from slova._backend import Backend
from slova._detect import check_kind
from slova._outcomes import answer, none_source, readout
from slova._types import DistanceRows, Distances, Groups, Labels, LogitRows, Logits, OutcomeFlags, Outcomes, Weight
from slova._validation import check_share
from slova.calibration import AffineCalibration, Calibrator
from slova.heads import SLOVA, Head, Readout
from slova.metrics import Selection
from slova.prediction import Prediction
from slova.prediction_sets import PredictionSets
from slova.thresholds import threshold_for

if TYPE_CHECKING:
    from slova.evaluation import Conformity, Evaluation, FitReport
    from slova.export.parity import Parity

__all__ = ["Calibration", "Scorer"]

Calibration = str | Callable[..., Calibrator] | None


@dataclass(frozen=True, kw_only=True, repr=False)
class Scorer:
    """A head and its calibrators, for numpy arrays and torch tensors of logits.

    classes: the number of classes K.
    head: how logits are read.
    before: an affine calibrator of the logits, in front of the head.
    calibrator: the calibrator of the log-odds or log-probabilities; None leaves them as the head gives them.
    none_calibrator: the calibrator of log P(none), where the calibrator has none of its own.
    validation: the cross-fitted confidences and hits of the validation rows, by which `threshold` is found.
    conformity: the cross-fitted probabilities of their true outcomes, by which `predict_set` finds its sets.
    report: what `fit` found.
    """

    classes: int
    head: Head = SLOVA
    before: AffineCalibration | None = None
    calibrator: Calibrator | None = None
    none_calibrator: Calibrator | None = None
    validation: Selection | None = None
    conformity: Conformity | None = None
    report: FitReport | None = None

    @classmethod
    def fit(
        cls,
        logits: LogitRows,
        labels: Labels,
        *,
        head: str | Head = "auto",
        calibration: Calibration = "posterior",
        distances: DistanceRows | None = None,
        none_share: float | None = None,
        rescale: bool = False,
        keep_order: bool = False,
        weight: Weight | None = None,
        none_weight: Weight | None = None,
        versions_of: Groups | None = None,
        seed: int = 0,
    ) -> Scorer:
        """Fit on validation logits (N, K) and labels (N,), NONE allowed; never on training data.

        logits: one-vs-all logits, softmax logits, log-probabilities or probabilities; one column for two classes.
        head: a name of `slova.heads.HEADS`, or a head; "auto" recognises the kind of the logits by the labels.
        calibration: a name of `slova.calibration.CALIBRATORS`, a fit function of log-probabilities, labels and
            `weight`, or None for no calibration.
        distances: distances (N, D) from the validation data, for the posterior calibrator.
        none_share: the prior probability of NONE; by default the share of the NONE rows. Where it is given, the NONE
            rows are not counted as draws from the inputs to come, and `threshold` and `predict_set` look at the others.
        rescale: fit an affine calibrator of the logits first.
        keep_order: the top class is always that of the logits; by default calibration may change it.
        weight: how often each row counts; `none_weight` says it for the model of NONE of the posterior calibrator.
        versions_of: for each row the index of the validation row that it is a version of, its own if it is one. Other
            versions, such as degraded ones, help the fit: the report, `threshold` and `predict_set` leave them out, and
            all versions of a row are in one fold. If no validation row is NONE, the report is given "not none".
        seed: of the folds of cross-fitting.

        With thousands of classes `slova.extreme.fit` uses only the top class of each row.
        """
        from slova._fitting import fit_scorer

        options: dict[str, Any] = {"distances": distances, "none_share": none_share, "rescale": rescale, "seed": seed}
        options |= {"keep_order": keep_order, "weight": weight, "none_weight": none_weight, "versions_of": versions_of}
        return fit_scorer(logits, labels, head=head, calibration=calibration, **options)

    @property
    def none(self) -> Literal["calibrated", "evidence", "absent"]:
        """Where P(none) comes from: it was calibrated on NONE rows; a one-vs-all model splits what is left of the
        confidence like its raw evidence; or there is no evidence of NONE, and P(none) is 0."""
        return none_source(self)

    @property
    def distances(self) -> int:
        """How many distances the calibrator takes beside the logits."""
        return len(getattr(self.calibrator, "positive_weights", (0,))) - 1

    def predict(self, logits: Logits, *, distances: Distances | None = None, reject: float = 0.0) -> Prediction:
        """The answer per row; the label is NONE where the confidence is below `reject`, or NaN. Values that are seen to
        be of another kind than those of the fit, such as probabilities instead of logits, are an error."""
        return self.answer(*self._checked(logits), check_share(reject, "reject"), distances)

    def predict_proba(self, logits: Logits, *, distances: Distances | None = None) -> Outcomes:
        """The calibrated probabilities (..., K + 1), NONE last; rows sum to one."""
        logits, ops = self._checked(logits)
        log_probs, log_none = self.readout(logits, ops, distances)
        return ops.exp(ops.append(log_probs, log_none))

    def predict_set(
        self,
        logits: Logits,
        *,
        coverage: float = 0.95,
        per_class: bool = False,
        distances: Distances | None = None,
        calibration_logits: LogitRows | None = None,
        calibration_labels: Labels | None = None,
        calibration_distances: DistanceRows | None = None,
    ) -> OutcomeFlags:
        """Booleans (..., K + 1), NONE last: the outcomes that each row may have. The true one is among them with
        probability `coverage`, see `slova.prediction_sets`. The guarantee is exact with rows that no fit has seen,
        given as calibration_logits and calibration_labels; without them the cross-fitted probabilities of the fit are
        used, and it is approximate."""
        if calibration_logits is not None:
            probs = self.predict_proba(calibration_logits, distances=calibration_distances)
            sets = PredictionSets.fit(probs, calibration_labels, coverage=coverage, per_class=per_class)
        elif self.conformity is not None:
            sets = PredictionSets.from_scores(*self.conformity.columns, self.classes + 1, coverage, per_class)
        else:
            raise ValueError(
                "predict_set needs labelled rows: calibration_logits (inputs of a Classifier: calibration_inputs) and "
                "calibration_labels; a scorer keeps those of its fit only if this had all rows in memory"
            )
        return sets(self.predict_proba(logits, distances=distances))

    def __call__(self, logits: Logits, distances: Distances | None = None) -> Readout:
        """The logs of `predict_proba`: of the classes (..., K), and of NONE (...)."""
        return self.readout(*self.head.check(logits, self.classes), distances)

    def raw(self, logits: Logits) -> Readout:
        """The readout before calibration."""
        logits, ops = self.head.check(logits, self.classes)
        return self.head.readout(logits if self.before is None else self.before(logits), ops)

    def answer(self, logits: Logits, ops: Backend, reject: float, distances: Distances | None = None) -> Prediction:
        """The same as `predict`, for logits that were checked."""
        return Prediction(*answer(self, logits, ops, reject, distances))

    def readout(self, logits: Logits, ops: Backend, distances: Distances | None = None) -> Readout:
        """The same as calling the scorer, for logits that were checked."""
        return readout(self, logits, ops, distances)

    def threshold(
        self,
        logits: LogitRows | None = None,
        labels: Labels | None = None,
        *,
        risk: float | None = None,
        coverage: float | None = None,
        delta: float | None = 0.05,
        distances: DistanceRows | None = None,
    ) -> float:
        """The `reject` that guarantees a risk or a coverage: see `slova.thresholds.threshold_for`. The guarantee is
        exact for rows that no fit has seen, given as logits and labels; without them the cross-fitted confidences of
        the fit are used, and it is approximate."""
        from slova.evaluation import selection_of

        validation = self.validation
        if logits is not None:
            validation = selection_of(self.predict(logits, distances=distances), labels)
        if validation is None:
            raise ValueError("this scorer was not fitted on a validation set, so it knows no threshold: give rows")
        return threshold_for(validation, risk=risk, coverage=coverage, delta=delta)

    def evaluate(self, logits: LogitRows, labels: Labels, *, distances: DistanceRows | None = None) -> Evaluation:
        """Accuracy, calibration and ranking metrics of labelled rows, with standard errors."""
        from slova.evaluation import evaluate

        return evaluate(self.predict(logits, distances=distances), self(logits, distances), labels)

    def save(self, path: str | Path) -> None:
        """Write head, calibrators and what `fit` found to one file of numbers and JSON."""
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
        return f"Scorer({', '.join(self.summary)})"

    @property
    def summary(self) -> list[str]:
        """What it is, in a few words: classes, kind of logits, calibration, rows and ECE of the fit, NONE."""
        name = "no" if self.calibrator is None else getattr(self.calibrator, "name", "own")
        about, none = [f"{self.classes} classes", self.head.kind, f"{name} calibration"], f"NONE {self.none}"
        if self.report is None:
            return [*about, none]
        about[-1] += f" on {self.report.rows:,} rows"
        ece = f"ECE {self.report.ece_before:.3f} -> {self.report.ece_after:.3f}"
        ece += " given a class" if self.report.given_class else ""
        return [*about, ece, none, *filter(None, [self.report.shift])]

    def _checked(self, values: Logits) -> tuple[Logits, Backend]:
        check_kind(self.head, values)
        return self.head.check(values, self.classes)
