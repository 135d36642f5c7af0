"""A network, a head and a calibration map as one torch module: fit on validation data, predict, save, load.

Inputs come as a tensor, a tuple of tensors, a dict of tensors (passed by name), a Dataset, or an iterable of batches
such as a DataLoader; with labels where a fit needs them, as the last of a tuple or under "labels" or "label" of a dict.
Numpy arrays do for whole tensors. Where no labels are needed a tuple of tensors is all inputs, while batches of a
Dataset or DataLoader may bring labels, which are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from slova import artifact
from slova._backend import NUMPY, Array
from slova._batches import Batch, as_tensors, batches, count, device_of, evaluation_mode, logits_of, shown
from slova.calibration import Calibrator, ExponentialCalibration
from slova.calibration.module import CalibratorModule
from slova.heads import NONE, Readout, log_slova, read_slova
from slova.scorer import Prediction, Scorer, check_reject

if TYPE_CHECKING:
    from slova.export.parity import Parity

__all__ = ["Classifier", "SoftmaxNetworkWarning"]

PARTS = ("before", "map", "none_map")


class SoftmaxNetworkWarning(UserWarning):
    """The network does not look as if it was trained one-vs-all."""


class Classifier(nn.Module):
    """`forward` gives the calibrated Readout, `predict` the answers. `reject` is the confidence below which an answer
    is NONE."""

    def __init__(
        self, network: nn.Module, scorer: Scorer, *, names: Sequence[str] | None = None, reject: float = 0.0
    ) -> None:
        super().__init__()
        if names is not None and len(names) != scorer.classes:
            raise ValueError(f"got {len(names)} names for {scorer.classes} classes")
        check_reject(reject)
        self.network = network
        self.names = None if names is None else tuple(str(name) for name in names)
        self.reject = reject
        self.example: Batch | None = None  # what the network took in when it was fitted, as tensors of no rows
        self._plain = scorer
        self.parts = nn.ModuleDict(
            {part: CalibratorModule(getattr(scorer, part)) for part in PARTS if getattr(scorer, part) is not None}
        )

    @classmethod
    def fit(
        cls,
        network: nn.Module,
        validation: Any,
        *,
        none_inputs: Any = None,
        names: Sequence[str] | None = None,
        head: Callable[[Array], Readout] = read_slova,
        calibrate: Callable[[Array, Array], Calibrator] | None = ExponentialCalibration.fit,
        rescale: bool = False,
        batch_size: int = 256,
        progress: bool | None = None,
    ) -> Classifier:
        """Calibrate a trained network on labelled validation data (never its training data).

        Rows labelled NONE are welcome; `none_inputs` are more of them, inputs that belong to no class: the paper adds
        uniform noise, a tenth of the validation set, for images scaled to [0, 1] `torch.rand(500, 3, 32, 32)`. Nothing
        is added unless asked. `head`, `calibrate` and `rescale` as in `Scorer.fit`. A progress bar shows on a terminal;
        `progress` forces it on or off.
        """
        logits, labels, example = _collect(network, validation, batch_size, progress, labelled=True)
        if none_inputs is not None:
            more, *_ = _collect(network, none_inputs, batch_size, progress, labelled=False, inputs=count(example))
            logits, labels = torch.cat([logits, more]), torch.cat([labels, torch.full((len(more),), NONE)])
        scorer = Scorer.fit(logits, labels, head=head, calibrate=calibrate, rescale=rescale)
        if head is read_slova and not rescale:
            _warn_if_softmax(logits.numpy(), labels.numpy())
        classifier = cls(network, scorer, names=names)
        classifier.example = example
        return classifier

    def forward(self, *inputs: Any, **named: Any) -> Readout:
        return self._scorer()(logits_of(self.network(*inputs, **named)))

    def predict(
        self, inputs: Any, *, reject: float | None = None, batch_size: int = 256, progress: bool | None = None
    ) -> Prediction:
        """Label or NONE, confidence, P(none) and P(several), on the host; with names given the labels are names, and
        None for NONE."""
        scorer, threshold = self._scorer(), self.reject if reject is None else reject
        check_reject(threshold)
        source = as_tensors(inputs, self.network)
        stream = batches(source, batch_size, device_of(self), labelled=False, inputs=count(self.example))
        with evaluation_mode(self):
            answers = [
                [part.cpu() for part in scorer.predict(_forward(self.network, batch), reject=threshold)]
                for batch, _ in shown(stream, progress, "predict")
            ]
        if not answers:
            raise ValueError("there are no inputs to predict")
        prediction = Prediction(*(torch.cat(parts) for parts in zip(*answers, strict=True)))
        return prediction if self.names is None else prediction._replace(label=self._named(prediction.label))

    def threshold(
        self, *, risk: float | None = None, coverage: float | None = None, delta: float | None = 0.05
    ) -> float:
        """The `reject` that keeps a promised risk or coverage, by the validation data; see
        `slova.thresholds.threshold_for`."""
        return self._plain.threshold(risk=risk, coverage=coverage, delta=delta)

    @property
    def scorer(self) -> Scorer:
        """Head and maps as a plain value, without the network: it scores arrays of logits."""
        return self._with({part: module.value for part, module in self.parts.items()})

    @property
    def none_is_calibrated(self) -> bool:
        return self._plain.none_is_calibrated

    def save(self, path: str | Path) -> None:
        """Weights, maps, names and the shapes of the inputs in one file of numbers and JSON; the network's code is not
        in it."""
        tensors, meta = self.scorer.packed()
        tensors |= {f"network.{name}": value for name, value in self.network.state_dict().items()}
        meta |= {"names": self.names, "reject": self.reject, "example": _described(self.example)}
        artifact.save(path, "classifier", tensors, meta)

    def export(
        self, path: str | Path, inputs: Any = None, *, reject: float | None = None, tolerance: float | None = None
    ) -> Parity:
        """Network, head, map and threshold as one file: .onnx for ONNX runtimes, .pt2 for `torch.export.load`.

        It is compared with this classifier on `inputs`, as for `predict`, or on random ones of the shape seen in `fit`,
        and written only if every answer is within `tolerance` (`slova.export.Parity`, which is given back).
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
        classifier = cls(network, Scorer.unpacked(tensors, meta), names=meta["names"], reject=meta["reject"])
        classifier.example = _empty(meta.get("example"), path)
        network.load_state_dict(weights)
        return classifier

    def _scorer(self) -> Scorer:
        return self._with(dict(self.parts.items()))

    def _with(self, parts: dict[str, Any]) -> Scorer:
        return replace(self._plain, **parts)

    def _named(self, labels: Tensor) -> np.ndarray:
        table = np.array([*(self.names or ()), None], dtype=object)  # NONE = -1 finds the last one
        return np.asarray(table[labels.numpy()])


def _collect(
    network: nn.Module, source: Any, batch_size: int, progress: bool | None, **kind: Any
) -> tuple[Tensor, Tensor, Batch]:
    """Logits and labels of a data source, on the host, and its inputs without their rows; `kind` as for `batches`."""
    stream = batches(as_tensors(source, network), batch_size, device_of(network), **kind)
    with evaluation_mode(network):
        seen = [
            (_forward(network, batch).float().cpu(), labels, _no_rows(batch))
            for batch, labels in shown(stream, progress, "fit")
        ]
    if not seen:
        raise ValueError("there are no rows to fit on")
    logits = torch.cat([logits for logits, *_ in seen])
    labels = [torch.empty(0) if labels is None else labels.cpu() for _, labels, _ in seen]
    return logits, torch.cat(labels), seen[0][2]


def _no_rows(batch: Batch) -> Batch:
    return tuple(part[:0].cpu() for part in batch[0]), {name: part[:0].cpu() for name, part in batch[1].items()}


def _described(example: Batch | None) -> list[Any] | None:
    """Name (None for a positional one), type and shape of each input, as JSON."""
    if example is None:
        return None
    inputs = [*((None, part) for part in example[0]), *example[1].items()]
    return [[name, str(part.dtype).removeprefix("torch."), list(part.shape)] for name, part in inputs]


def _empty(described: Any, path: str | Path) -> Batch | None:
    """The inputs that `_described` says; None for a file that does not know them."""
    if described is None:
        return None
    try:
        inputs = [(name, torch.zeros(0, *shape[1:], dtype=getattr(torch, dtype))) for name, dtype, shape in described]
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        raise artifact.ArtifactError(f"{path} is damaged: what its network takes cannot be read ({error})") from error
    named = {name: part for name, part in inputs if name is not None}
    return tuple(part for name, part in inputs if name is None), named


def _forward(network: nn.Module, batch: Batch) -> Tensor:
    logits = logits_of(network(*batch[0], **batch[1]))
    if logits.ndim < 2:
        given = ", ".join(str(tuple(part.shape)) for part in (*batch[0], *batch[1].values()))
        raise ValueError(
            f"logits must be (rows, classes), got {tuple(logits.shape)} for inputs {given}: "
            "a single row is a batch as well, such as images[:1] or image[None]"
        )
    return logits


def _warn_if_softmax(logits: np.ndarray, labels: np.ndarray) -> None:
    """P(exactly one class) is near 1 on most validation rows of a one-vs-all network; softmax leaves the level of the
    logits, and so P, to chance. Log-probabilities, of which no row is ever above 1, are neither."""
    known = logits[labels != NONE]
    total = NUMPY.logsumexp(known)
    if len(known) and total.max() < 1e-4 and np.median(total) > -0.5:  # no trained one-vs-all network is never sure
        warnings.warn(
            "the network gives log-probabilities, which are no one-vs-all logits: pass head=read_softmax",
            SoftmaxNetworkWarning,
            stacklevel=3,
        )
        return
    one = float(np.median(np.exp(log_slova(known)).sum(axis=-1))) if len(known) else 1.0
    if one < 0.1:
        warnings.warn(
            f"on half of the validation rows P(exactly one class) is below {one:.2g}: it looks like a softmax network; "
            "train it with ova_loss, or pass rescale=True, or head=read_softmax",
            SoftmaxNetworkWarning,
            stacklevel=3,
        )


def _check_weights(network: nn.Module, weights: dict[str, Tensor], path: str | Path) -> None:
    """Before anything is copied: the same names and shapes."""
    wanted = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if wrong:
        first = wrong[0]
        raise artifact.ArtifactError(
            f"{path} does not fit this network: {len(wrong)} of its tensors differ, such as {first}: "
            f"{found.get(first, 'missing')} in the file, {wanted.get(first, 'missing')} in the network"
        )
