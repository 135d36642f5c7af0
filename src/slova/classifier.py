"""A network, a head and calibrators as one torch module: fit on validation data, predict, save, load.

Inputs are a tensor, a tuple of tensors, a dict of tensors (passed by name), a Dataset, or an iterable of batches such
as a DataLoader. A fit needs labels: the last part of a tuple, or "labels" or "label" of a dict. Numpy arrays are
accepted for whole tensors. Where no labels are needed a tuple of tensors is all inputs, while batches of a Dataset or
DataLoader may have labels, which are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from slova import artifact
from slova._backend import floating
from slova._batches import (
    Batch,
    as_tensors,
    batches,
    count,
    describe_inputs,
    described_inputs,
    device_of,
    evaluation_mode,
    logits_of,
    with_progress,
    without_rows,
)
from slova._scorer_file import pack_scorer, unpack_scorer
from slova._validation import check_share
from slova.calibration.module import CalibratorModule
from slova.heads import NONE, Head, Readout
from slova.prediction import Prediction
from slova.scorer import Calibration, Scorer

if TYPE_CHECKING:
    from slova.export.parity import Parity

__all__ = ["Classifier"]

PARTS = ("before", "calibrator", "none_calibrator")


class Classifier(nn.Module):
    """A network with a scorer of its logits.

    `forward` gives the calibrated Readout and is differentiable; `predict` gives predictions on the host. `scorer` is
    the head with its calibrators, `names` are the class names, `reject` is the confidence below which the prediction is
    NONE.
    """

    def __init__(
        self, network: nn.Module, scorer: Scorer, *, names: Sequence[str] | None = None, reject: float = 0.0
    ) -> None:
        super().__init__()
        if names is not None and len(names) != scorer.classes:
            raise ValueError(f"got {len(names)} names for {scorer.classes} classes")
        self.network = network
        self.names = None if names is None else tuple(str(name) for name in names)
        self.reject = reject
        self._scorer = scorer
        self.example: Batch | None = None  # what the network took in when it was fitted, as tensors of no rows
        self.parts = nn.ModuleDict(
            {part: CalibratorModule(getattr(scorer, part)) for part in PARTS if getattr(scorer, part) is not None}
        )
        self.register_load_state_dict_post_hook(_update_scorer)  # type: ignore[no-untyped-call]

    @classmethod
    def fit(
        cls,
        network: nn.Module,
        validation: Any,
        *,
        none_inputs: Any = None,
        names: Sequence[str] | None = None,
        head: str | Head = "auto",
        calibration: Calibration = "posterior",
        rescale: bool = False,
        batch_size: int = 256,
        progress: bool | None = None,
    ) -> Classifier:
        """Calibrate a trained network on labelled validation data (never its training data).

        none_inputs: more inputs that belong to no class, beside rows labelled NONE; the paper adds uniform noise, a
            tenth of the validation set: `torch.rand(500, 3, 32, 32)` for images in [0, 1].
        names: the class names.
        head, calibration, rescale: as in `Scorer.fit`.
        batch_size: the rows per batch, for whole tensors and Datasets.
        progress: show a progress bar, or not; by default on a terminal.
        """
        logits, labels, example = _collect(network, validation, batch_size, progress, labelled=True)
        if none_inputs is not None:
            more, *_ = _collect(network, none_inputs, batch_size, progress, labelled=False, inputs=count(example))
            logits, labels = torch.cat([logits, more]), torch.cat([labels, torch.full((len(more),), NONE)])
        scorer = Scorer.fit(logits, labels, head=head, calibration=calibration, rescale=rescale)
        classifier = cls(network, scorer, names=names)
        classifier.example = example
        return classifier

    def forward(self, *inputs: Any, **named: Any) -> Readout:
        parts: dict[str, Any] = dict(self.parts.items())
        return replace(self.scorer, **parts)(logits_of(self.network(*inputs, **named)))

    def predict(
        self, inputs: Any, *, reject: float | None = None, batch_size: int = 256, progress: bool | None = None
    ) -> Prediction:
        """Label or NONE, confidence, none and ambiguous, on the host; with names given the labels are names."""
        threshold = self.reject if reject is None else check_share(reject, "reject")
        source = as_tensors(inputs, self.network)
        stream = batches(source, batch_size, device_of(self), labelled=False, inputs=count(self.example))
        with evaluation_mode(self):
            answers = [self._answer(batch, threshold) for batch, _ in with_progress(stream, progress, "predict")]
        if not answers:
            raise ValueError("there are no inputs to predict")
        label, confidence, none, ambiguous, top = (torch.cat(parts) for parts in zip(*answers, strict=True))
        return Prediction(self._named(label), confidence, none, ambiguous, self._named(top))

    @property
    def reject(self) -> float:
        return self._reject

    @reject.setter
    def reject(self, reject: float) -> None:
        self._reject: float = check_share(reject, "reject")

    def threshold(
        self, *, risk: float | None = None, coverage: float | None = None, delta: float | None = 0.05
    ) -> float:
        """The `reject` that guarantees a risk or a coverage: see `slova.thresholds.threshold_for`."""
        return self.scorer.threshold(risk=risk, coverage=coverage, delta=delta)

    @property
    def scorer(self) -> Scorer:
        """Head and calibrators without the network: it scores arrays of logits."""
        return self._scorer

    def save(self, path: str | Path) -> None:
        """Write weights, calibrators, names and the shapes of the inputs to one file of numbers and JSON, without the
        network's code."""
        tensors, meta = pack_scorer(self.scorer)
        tensors |= {f"network.{name}": value for name, value in self.network.state_dict().items()}
        meta |= {"names": self.names, "reject": self.reject, "example": describe_inputs(self.example)}
        artifact.save(path, "classifier", tensors, meta)

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
        tensors, meta = artifact.load(path, "classifier", framework="torch")
        weights = {
            name.removeprefix("network."): value for name, value in tensors.items() if name.startswith("network.")
        }
        _check_weights(network, weights, path)
        classifier = cls(network, unpack_scorer(tensors, meta), names=meta["names"], reject=meta["reject"])
        classifier.example = described_inputs(meta.get("example"), path)
        network.load_state_dict(weights)
        return classifier

    def _answer(self, batch: Batch, reject: float) -> list[Tensor]:
        logits, ops = floating(_forward(self.network, batch, self.scorer.head.columns or self.scorer.classes), "logits")
        if self.scorer.head.to_logits is not None:
            logits = self.scorer.head.to_logits(logits, ops)
        prediction = self.scorer.answer(logits, ops, reject)
        return [part.cpu() for part in (*prediction, prediction.top)]

    def _named(self, labels: Tensor) -> Tensor | np.ndarray:
        if self.names is None:
            return labels
        table = np.array([*self.names, NONE], dtype=object)  # NONE = -1 finds the last one
        return np.asarray(table[labels.numpy()])


def _collect(
    network: nn.Module, source: Any, batch_size: int, progress: bool | None, **kind: Any
) -> tuple[Tensor, Tensor, Batch]:
    """Logits and labels of a data source, on the host, and its inputs without rows; `kind` as for `batches`."""
    stream = batches(as_tensors(source, network), batch_size, device_of(network), **kind)
    with evaluation_mode(network):
        seen = [
            (_forward(network, batch).float().cpu(), labels, without_rows(batch))
            for batch, labels in with_progress(stream, progress, "fit")
        ]
    if not seen:
        raise ValueError("there are no rows to fit on")
    logits = torch.cat([logits for logits, *_ in seen])
    labels = [torch.empty(0) if labels is None else labels.cpu() for _, labels, _ in seen]
    return logits, torch.cat(labels), seen[0][2]


def _update_scorer(classifier: Classifier, _: Any) -> None:
    """After a state dict was loaded: the scorer of the numbers that the calibrators have now."""
    parts: dict[str, Any] = {part: module.value for part, module in classifier.parts.items()}
    classifier._scorer = replace(classifier.scorer, **parts)


def _forward(network: nn.Module, batch: Batch, classes: int | None = None) -> Tensor:
    logits = logits_of(network(*batch[0], **batch[1]))
    if logits.ndim < 2 or classes not in (None, logits.shape[-1]):
        given = ", ".join(str(tuple(part.shape)) for part in (*batch[0], *batch[1].values()))
        raise ValueError(
            f"logits must have shape (n_rows, {classes or 'n_classes'}), got {tuple(logits.shape)} for inputs {given}; "
            "a single row must be a batch as well, such as images[:1] or image[None]"
        )
    return logits


def _check_weights(network: nn.Module, weights: dict[str, Tensor], path: str | Path) -> None:
    """The same names and shapes, before anything is copied."""
    expected = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    if wrong:
        first = wrong[0]
        raise artifact.ArtifactError(
            f"{path} does not fit this network: {len(wrong)} of its tensors differ, such as {first}: "
            f"{found.get(first, 'missing')} in the file, {expected.get(first, 'missing')} in the network"
        )
