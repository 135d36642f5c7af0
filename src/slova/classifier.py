"""A network, a head and calibrators as one torch module: fit on validation data, predict, save, load.

>>> classifier = Classifier.fit(network, val_images, val_labels)
>>> classifier
Classifier(3 classes, one-vs-all, posterior calibration on 1,000 rows, ECE 0.211 -> 0.01..., NONE evidence)
>>> classifier.predict(images[:1], reject=classifier.threshold(risk=0.05))
       label  confidence    none  ambiguous
           0       0.999   0.001      0.000
Prediction of 1 rows, 0 rejected, mean confidence 0.999
>>> classifier.save("model.slova")
>>> same = Classifier.load("model.slova", network)

Inputs are a tensor, a tuple or a dict of tensors, a Dataset, or an iterable of batches such as a DataLoader; arrays,
tables and lists may stand for tensors. Labels, integers or names or NONE, are given by themselves or in the inputs: the
last part of a tuple, or "labels" of a dict. Where none are needed a tuple is all inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from slova._backend import floating
from slova._batches import Batch, batches, count, device_of, evaluation_mode, logits_of, run_network, with_progress
from slova._collect import Collected, as_inputs, check_network, collect
from slova._labels import class_names
from slova._outcomes import answer
from slova._validation import check_share
from slova.calibration.module import CalibratorModules
from slova.heads import NONE, Head, Readout
from slova.prediction import Prediction
from slova.scorer import Calibration, Scorer

if TYPE_CHECKING:
    from slova.evaluation import Evaluation
    from slova.export.parity import Parity
    from slova.vision.passes import Passes

__all__ = ["Classifier"]


class Classifier(nn.Module):
    """A network with a scorer of its logits.

    `forward` gives the calibrated Readout and is differentiable; `predict` gives predictions on the host. `scorer` is
    the head with its calibrators, `names` are the class names; below the confidence `reject` the prediction is NONE.
    """

    def __init__(
        self,
        network: nn.Module,
        scorer: Scorer,
        *,
        names: Sequence[str] | None = None,
        reject: float = 0.0,
        passes: Passes | None = None,
    ) -> None:
        super().__init__()
        check_network(network)
        self.names = None if names is None else class_names(names, scorer.classes)
        if scorer.distances != (0 if passes is None else passes.distances):
            raise ValueError(f"the scorer takes {scorer.distances} distances: give passes= with as many layers")
        self.network, self.passes, self.reject = network, passes, reject
        self._scorer = scorer
        self.example: Batch | None = None  # what the network took in when it was fitted, as tensors of no rows
        self.parts = CalibratorModules(scorer, ("before", "calibrator", "none_calibrator"))
        self.register_load_state_dict_post_hook(_update_scorer)  # type: ignore[no-untyped-call]

    @classmethod
    def fit(
        cls,
        network: nn.Module,
        inputs: Any,
        labels: Any = None,
        *,
        none_inputs: Any = None,
        none_share: float | None = None,
        names: Sequence[str] | None = None,
        head: str | Head = "auto",
        calibration: Calibration = "posterior",
        rescale: bool = False,
        keep_order: bool = False,
        shift_aware: bool | None = None,
        normalize: tuple[Any, Any] | None = None,
        layers: Sequence[str] | str | None = None,
        degrade: Callable[..., Tensor] | None = None,
        views: Literal["flip", "turns"] | None = None,
        batch_size: int = 256,
        progress: bool | None = None,
        seed: int = 0,
    ) -> Classifier:
        """Calibrate a trained network on labelled validation data; on images in [0, 1] the fit is distance-aware.

        - inputs, labels: arrays and their labels, or batches that have labels; never the training data
        - none_inputs: more inputs that belong to no class; images have synthetic ones without them
        - none_share: the prior of NONE; by default the share of the rows labelled NONE, and .05 if none is
        - names: the class names, in the order of the outputs; by default the labels that are names, sorted
        - head, calibration, rescale, keep_order, seed: as in `Scorer.fit`; `slova.prepare` states the head
        - shift_aware, normalize, layers, degrade, views: see `slova.vision.shift_aware`
        - batch_size, progress: rows per batch of tensors and Datasets; a progress bar, by default on a terminal
        """
        from slova._classifier_fit import fit_classifier
        from slova.vision.shift_aware import ShiftOptions

        options = {"head": head, "calibration": calibration, "none_share": none_share}
        options |= {"rescale": rescale, "keep_order": keep_order, "seed": seed}
        run = {"batch_size": batch_size, "progress": progress}
        shift = ShiftOptions(shift_aware, normalize, layers, degrade, views)
        return fit_classifier(cls, network, inputs, labels, none_inputs, names, shift, run, options)

    def forward(self, *inputs: Any, **named: Any) -> Readout:
        logits, distances = self._run((inputs, named), lambda batch: logits_of(self.network(*batch[0], **batch[1])))
        return Readout(*self.parts.on_buffers(self.scorer)(logits, distances))

    def predict(
        self, inputs: Any, *, reject: float | None = None, batch_size: int = 256, progress: bool | None = None
    ) -> Prediction:
        """Label or NONE, confidence, none and ambiguous, on the host; with names given the labels are names."""
        threshold = self.reject if reject is None else check_share(reject, "reject")
        source = inputs if isinstance(inputs, Tensor) else as_inputs(inputs, self.network, self.example)
        stream = batches(source, batch_size, device_of(self), labelled=False, inputs=count(self.example))
        with evaluation_mode(self):
            answers = [self._answer(batch, threshold) for batch, _ in with_progress(stream, progress, "predict")]
        if not answers:
            raise ValueError("there are no inputs to predict")
        label, confidence, none, ambiguous, top = (torch.cat(parts) for parts in zip(*answers, strict=True))
        shown: Any = (label, top)
        if self.names is not None:  # NONE = -1 finds the last one
            shown = np.array([*self.names, NONE], dtype=object)[torch.stack(shown).numpy()]
        return Prediction(shown[0], confidence, none, ambiguous, shown[1])

    def predict_proba(self, inputs: Any, **options: Any) -> Tensor:
        """The calibrated probabilities (N, K + 1) on the host, NONE last; rows sum to one. Options: batch_size and
        progress, as in `predict`, here and below."""
        found = self._collected(inputs, **options)
        return torch.as_tensor(self.scorer.predict_proba(found.logits, distances=found.distances))

    def predict_set(
        self,
        inputs: Any,
        *,
        coverage: float = 0.95,
        per_class: bool = False,
        calibration_inputs: Any = None,
        calibration_labels: Any = None,
        **options: Any,
    ) -> Tensor:
        """Booleans (N, K + 1), NONE last: the outcomes that each input may have; see `Scorer.predict_set`. The
        guarantee is exact with labelled inputs that no fit has seen, and approximate without."""
        given: dict[str, Any] = {}
        if calibration_inputs is not None:
            more = self._collected(calibration_inputs, calibration_labels, labelled=True, **options)
            given = {f"calibration_{name}": getattr(more, name) for name in ("logits", "labels", "distances")}
        found = self._collected(inputs, **options)
        given |= {"distances": found.distances, "coverage": coverage, "per_class": per_class}
        return torch.as_tensor(self.scorer.predict_set(found.logits, **given))

    def evaluate(self, inputs: Any, labels: Any = None, **options: Any) -> Evaluation:
        """Accuracy, calibration and ranking metrics of labelled inputs, with standard errors."""
        found = self._collected(inputs, labels, labelled=True, **options)
        return self.scorer.evaluate(found.logits, found.labels, distances=found.distances)

    def threshold(
        self,
        inputs: Any = None,
        labels: Any = None,
        *,
        risk: float | None = None,
        coverage: float | None = None,
        delta: float | None = 0.05,
        **options: Any,
    ) -> float:
        """The `reject` that guarantees a risk or a coverage: see `slova.thresholds.threshold_for`. The guarantee is
        exact with labelled inputs that no fit has seen, and approximate without, by the cross-fitted confidences."""
        given: dict[str, Any] = {}
        if inputs is not None:
            found = self._collected(inputs, labels, labelled=True, **options)
            given = {name: getattr(found, name) for name in ("logits", "labels", "distances")}
        return self.scorer.threshold(**given, risk=risk, coverage=coverage, delta=delta)

    def report(self, inputs: Any, labels: Any = None, path: str | Path = "report.html", **options: Any) -> Path:
        """Write one offline HTML page on labelled inputs: a verdict, reliability, thresholds, classes, examples.
        Options: `ood`, `before` and `groups`, see `slova.report.arrays.classifier_report`; batch_size, progress."""
        from slova.report.arrays import classifier_report

        return classifier_report(self, inputs, labels, path, **options)

    @property
    def reject(self) -> float:
        return self._reject

    @reject.setter
    def reject(self, reject: float) -> None:
        self._reject: float = check_share(reject, "reject")

    @property
    def scorer(self) -> Scorer:
        """Head and calibrators without the network: it scores arrays of logits."""
        return self._scorer

    def save(self, path: str | Path) -> None:
        """Write weights, calibrators, names and shapes of inputs to one file of numbers and JSON, without any code."""
        from slova._classifier_file import save_classifier

        save_classifier(self, path)

    def export(
        self, path: str | Path, inputs: Any = None, *, reject: float | None = None, tolerance: float | None = None
    ) -> Parity:
        """Write network, head, calibrators and threshold to one file: .onnx for ONNX runtimes, .pt2 for
        `torch.export.load`.

        It is compared with this classifier on `inputs`, as for `predict`, or on random ones of the shape seen in `fit`,
        and written only if every answer is within `tolerance`; the result is a `slova.export.Parity`.
        """
        from slova.export.network import export_classifier

        with evaluation_mode(self):
            return export_classifier(self, path, inputs, reject=reject, tolerance=tolerance)

    @classmethod
    def load(cls, path: str | Path, network: nn.Module) -> Classifier:
        """The classifier that was saved; its weights go into `network`, which must have the same architecture."""
        from slova._classifier_file import load_classifier

        return load_classifier(cls, path, network)

    def __repr__(self) -> str:
        return f"Classifier({', '.join(self.scorer.summary)})"

    def _answer(self, batch: Batch, reject: float) -> list[Tensor]:
        found, distances = self._run(batch)
        logits, ops = floating(found, "logits")
        if (to_logits := self.scorer.head.to_logits) is not None:
            logits = to_logits(logits, ops)
        return [part.cpu() for part in answer(self.scorer, logits, ops, reject, distances)]

    def _run(self, batch: Batch, run: Callable[[Batch], Tensor] | None = None) -> tuple[Tensor, Tensor | None]:
        if run is None and self.passes is not None:
            self.passes.warn_of_other_values(batch)
        columns = self.scorer.head.columns or self.scorer.classes
        run = run or partial(run_network, self.network, classes=columns, like=self.example)
        return (run(batch), None) if self.passes is None else self.passes(self.network, batch, run)

    def _collected(self, inputs: Any, labels: Any = None, *, labelled: bool = False, **options: Any) -> Collected:
        given: dict[str, Any] = {"names": self.names, "like": self.example, "read": self._run, "labelled": labelled}
        found = collect(self.network, inputs, labels, what="evaluate" if labelled else "predict", **given, **options)
        if found.names is not None and self.names is None:
            raise ValueError("the classifier has no names: labels must be integers, got text")
        return found


def _update_scorer(classifier: Classifier, _: Any) -> None:
    """After a state dict was loaded: the scorer of the numbers that the calibrators have now."""
    classifier._scorer = classifier.parts.current(classifier.scorer)
