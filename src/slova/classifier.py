"""A network, a head and a calibration map as one torch module: fit on validation data, predict, save, load.

Inputs come as a tensor, a tuple of tensors, a dict of tensors (passed by name), a Dataset, or an iterable of batches
such as a DataLoader; with labels where a fit needs them, as the last of a tuple or under "labels" or "label" of a dict.
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
from slova.backend import Array
from slova.batches import batches, evaluating, logits_of, shown
from slova.calibration import ExponentialCalibration, Map
from slova.calibration.module import MapModule
from slova.heads import NONE, Readout, log_slova, read_slova
from slova.scorer import Prediction, Scorer

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
        self.network = network
        self.names = None if names is None else tuple(str(name) for name in names)
        self.reject = reject
        self.example: Any = None  # what the network took in when it was fitted, as tensors of no rows
        self._plain = scorer
        self.parts = nn.ModuleDict(
            {part: MapModule(getattr(scorer, part)) for part in PARTS if getattr(scorer, part) is not None}
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
        calibrate: Callable[[Array, Array], Map] | None = ExponentialCalibration.fit,
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
        logits, labels, example = _collect(network, validation, batch_size, progress)
        if none_inputs is not None:
            more, *_ = _collect(network, none_inputs, batch_size, progress, labelled=False)
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
        with evaluating(self):
            source = shown(batches(inputs, batch_size, _device(self), labelled=False), progress, "predict")
            answers = [
                [part.cpu() for part in scorer.predict(_forward(self.network, batch), reject=threshold)]
                for batch, _ in source
            ]
        if not answers:
            raise ValueError("there are no inputs to predict")
        prediction = Prediction(*(torch.cat(parts) for parts in zip(*answers, strict=True)))
        return prediction if self.names is None else prediction._replace(label=self._named(prediction.label))

    def threshold(
        self, *, risk: float | None = None, coverage: float | None = None, delta: float | None = 0.05
    ) -> float:
        """The `reject` that keeps a promised risk or coverage, by the validation data; see
        `slova.promise.threshold_for`."""
        return self._plain.threshold(risk=risk, coverage=coverage, delta=delta)

    @property
    def scorer(self) -> Scorer:
        """Head and maps as a plain value, without the network: it scores arrays of logits."""
        return self._with({part: module.value for part, module in self.parts.items()})

    @property
    def none_is_calibrated(self) -> bool:
        return self._plain.none_is_calibrated

    def save(self, path: str | Path) -> None:
        """Weights, maps and names in one file of numbers and JSON; the network's code is not in it."""
        tensors, meta = self.scorer.packed()
        tensors |= {f"network.{name}": value for name, value in self.network.state_dict().items()}
        artifact.save(path, "classifier", tensors, {**meta, "names": self.names, "reject": self.reject})

    def export(
        self, path: str | Path, inputs: Any = None, *, reject: float | None = None, tolerance: float | None = None
    ) -> Parity:
        """Network, head, map and threshold as one file: .onnx for ONNX runtimes, .pt2 for `torch.export.load`.

        It is compared with this classifier on `inputs`, as for `predict`, or on random ones of the shape seen in `fit`,
        and written only if every answer is within `tolerance` (`slova.export.Parity`, which is given back).
        """
        from slova.export.network import export_classifier

        with evaluating(self):
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
    network: nn.Module, source: Any, batch_size: int, progress: bool | None, *, labelled: bool = True
) -> tuple[Tensor, Tensor, Any]:
    """Logits and labels of a data source, on the host, and its inputs without their rows."""
    with evaluating(network):
        stream = shown(batches(source, batch_size, _device(network), labelled=labelled), progress, "fit")
        seen = [(_forward(network, batch).float().cpu(), labels, _no_rows(batch)) for batch, labels in stream]
    if not seen:
        raise ValueError("there are no rows to fit on")
    logits = torch.cat([logits for logits, *_ in seen])
    return logits, torch.cat([labels.cpu() for _, labels, _ in seen]) if labelled else torch.empty(0), seen[0][2]


def _no_rows(batch: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    return tuple(part[:0].cpu() for part in batch[0]), {name: part[:0].cpu() for name, part in batch[1].items()}


def _forward(network: nn.Module, batch: tuple[tuple[Any, ...], dict[str, Any]]) -> Tensor:
    return logits_of(network(*batch[0], **batch[1]))


def _device(module: nn.Module) -> torch.device:
    tensor = next(module.parameters(), None)
    return torch.device("cpu") if tensor is None else tensor.device


def _warn_if_softmax(logits: np.ndarray, labels: np.ndarray) -> None:
    """P(exactly one class) is near 1 on most validation rows of a one-vs-all network; softmax leaves the level of the
    logits, and so P, to chance."""
    known = logits[labels != NONE]
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
