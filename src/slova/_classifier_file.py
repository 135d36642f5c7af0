"""Files of classifiers: weights, calibrators, names and the shapes of the inputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from slova import artifact
from slova._batches import Batch, device_of
from slova._collect import check_network
from slova._scorer_file import check_names, pack_scorer, unpack_saved

if TYPE_CHECKING:
    from slova.classifier import Classifier
    from slova.vision.passes import Passes


def save_classifier(classifier: Classifier, path: str | Path) -> None:
    tensors, meta = pack_scorer(classifier.scorer)
    if classifier.names is not None:
        check_names(list(classifier.names), classifier.scorer.classes)
    tensors |= {f"network.{name}": value for name, value in classifier.network.state_dict().items()}
    meta |= {"names": classifier.names, "reject": classifier.reject, "example": _describe_inputs(classifier.example)}
    if (passes := classifier.passes) is not None:
        tensors |= {f"passes.{name}": value for name, value in passes.state_dict().items()}
        meta |= {"passes": {"layers": passes.layers, "views": passes.views}}
    artifact.save(path, "classifier", tensors, meta)


def load_classifier(kind: type[Classifier], path: str | Path, network: nn.Module) -> Classifier:
    check_network(network)
    tensors, meta = artifact.load(path, "classifier", framework="torch")
    weights = {name.removeprefix("network."): value for name, value in tensors.items() if name.startswith("network.")}
    _check_weights(network, weights, path)
    saved = unpack_saved(tensors, meta, path)
    passes = _passes(network, tensors, meta, path)
    classifier = kind(network, saved.scorer, names=saved.names, reject=saved.reject, passes=passes)
    classifier.example = _described_inputs(meta.get("example"), path)
    network.load_state_dict(weights)
    return classifier


def _describe_inputs(example: Batch | None) -> list[Any] | None:
    """Name (None for a positional one), type and shape of each input, as JSON."""
    if example is None:
        return None
    inputs = [*((None, part) for part in example[0]), *example[1].items()]
    return [[name, str(part.dtype).removeprefix("torch."), list(part.shape)] for name, part in inputs]


def _described_inputs(described: Any, path: str | Path) -> Batch | None:
    """The inputs that `_describe_inputs` described, without rows; None for a file without them."""
    if described is None:
        return None
    try:
        inputs = [(name, torch.zeros(0, *shape[1:], dtype=getattr(torch, dtype))) for name, dtype, shape in described]
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        problem = f"the inputs of its network are unreadable ({error})"
        raise artifact.ArtifactError(f"{path} is damaged: {problem}") from error
    named = {name: part for name, part in inputs if name is not None}
    return tuple(part for name, part in inputs if name is None), named


def _passes(network: nn.Module, tensors: dict[str, Tensor], meta: dict[str, Any], path: str | Path) -> Passes | None:
    """The layers, statistics and views, where the file has some."""
    described = meta.get("passes")
    if described is None:
        return None
    from slova.vision.features import FeatureStatistics
    from slova.vision.passes import Passes, check_layers

    try:
        check_layers(network, described["layers"])
        parts = [
            [tensors[f"passes.{kind}{number}"] for kind in ("mean", "whiten")]
            for number in range(len(described["layers"]))
        ]
        statistics = {name: FeatureStatistics(*part) for name, part in zip(described["layers"], parts, strict=True)}
        return Passes(statistics, views=described["views"]).to(device_of(network))
    except (KeyError, TypeError, ValueError) as error:
        raise artifact.ArtifactError(f"{path} does not fit this network: {error}") from error


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
