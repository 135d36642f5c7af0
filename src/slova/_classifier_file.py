"""Files of classifiers: weights, calibrators, names and the shapes of the inputs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from slova import artifact
from slova._batches import Batch, device_of
from slova._collect import check_network
from slova._scorer_file import check_names, pack_scorer, unpack_saved
from slova.artifact import ArtifactError, shown

if TYPE_CHECKING:
    from slova.classifier import Classifier
    from slova.vision.features import FeatureStatistics
    from slova.vision.passes import Passes


def save_classifier(classifier: Classifier, path: str | Path) -> None:
    tensors, meta = pack_scorer(classifier.scorer)
    if classifier.names is not None:
        check_names(list(classifier.names), classifier.scorer.classes)
    tensors |= {f"network.{name}": value for name, value in classifier.network.state_dict().items()}
    meta |= {"names": classifier.names, "reject": classifier.reject, "example": _describe_inputs(classifier.example)}
    if (passes := classifier.passes) is not None:
        tensors |= {f"passes.{name}": value for name, value in passes.state_dict().items()}
        names = ("layers", "views", "members", "value_range")
        meta |= {"passes": {name: getattr(passes, name) for name in names}}
    artifact.save(path, "classifier", tensors, meta)


def load_classifier(kind: type[Classifier], path: str | Path, network: nn.Module) -> Classifier:
    check_network(network)
    tensors, meta = artifact.load(path, "classifier", framework="torch")
    weights = {name.removeprefix("network."): value for name, value in tensors.items() if name.startswith("network.")}
    _check_weights(network, weights, path)
    saved = unpack_saved(tensors, meta, path)
    passes = _passes(network, tensors, meta, path)
    measured = 0 if passes is None else passes.distances
    if measured != saved.scorer.distances:
        problem = f"its scorer takes {saved.scorer.distances} distances, and it measures {measured}"
        raise ArtifactError(f"{path} is damaged: {problem}")
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
        if not isinstance(described, list) or not described:
            raise TypeError(f"they must be a list, got {described}")
        inputs = [_described_input(*one) for one in described]
    except (RuntimeError, TypeError, ValueError) as error:
        problem = f"the inputs of its network are unreadable ({shown(error, 200)})"
        raise ArtifactError(f"{path} is damaged: {problem}") from error
    named = {name: part for name, part in inputs if name is not None}
    return tuple(part for name, part in inputs if name is None), named


def _described_input(name: Any, dtype: Any, shape: Any) -> tuple[str | None, Tensor]:
    kind = vars(torch).get(dtype)  # getattr would import the submodules that torch has under some names
    if not (name is None or isinstance(name, str)) or not isinstance(kind, torch.dtype) or not isinstance(shape, list):
        raise TypeError(f"an input must have a name, a type and a shape, got {[name, dtype, shape]}")
    return name, torch.zeros(0, *shape[1:], dtype=kind)


def _passes(network: nn.Module, tensors: dict[str, Tensor], meta: dict[str, Any], path: str | Path) -> Passes | None:
    """The layers, statistics and views, where the file has some."""
    described = meta.get("passes")
    if described is None:
        return None
    from slova.vision.passes import Passes, check_layers

    layers = described.get("layers") if isinstance(described, dict) else None
    if not isinstance(layers, list) or list(dict.fromkeys(map(str, layers))) != layers:
        raise ArtifactError(f"{path} is damaged: its layers must be a list of different names, got {shown(layers)}")
    try:
        check_layers(network, layers)
    except ValueError as error:
        raise ArtifactError(f"{path} does not fit this network: {str(error)[:1000]}") from error
    try:
        statistics = {name: _statistics(tensors, number) for number, name in enumerate(layers)}
        members = described.get("members", 1)
        if type(members) is not int:
            raise TypeError(f"members must be a whole number, got {members!r}")
        given = {"views": described.get("views", "missing"), "value_range": _value_range(described.get("value_range"))}
        return Passes(statistics, members=members, **given).to(device_of(network))
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"{path} is damaged: {shown(error, 200)}") from error


def _value_range(found: Any) -> tuple[float, float] | None:
    """The least and the largest value of images of the fit; None in files of before, and for other inputs."""
    if found is None:
        return None
    if not isinstance(found, list) or len(found) != 2 or not all(type(one) is float for one in found):
        raise TypeError(f"value_range must be two floats, got {shown(found)}")
    if not -math.inf < found[0] <= found[1] < math.inf:
        raise ValueError(f"value_range must be finite and in order, got {shown(found)}")
    return found[0], found[1]


def _statistics(tensors: dict[str, Tensor], number: int) -> FeatureStatistics:
    """The statistics of a layer, which must give a distance of every input."""
    from slova.vision.features import FeatureStatistics

    names = [f"passes.{kind}{number}" for kind in ("mean", "whiten")]
    if missing := [name for name in names if name not in tensors]:
        raise ValueError(f"{missing[0]} is missing")
    mean, whiten = (tensors[name].float() for name in names)
    if mean.ndim != 1 or not len(mean) or whiten.shape != (len(mean), len(mean)):
        wrong = " and ".join(shown(tuple(part.shape)) for part in (mean, whiten))
        raise ValueError(f"{' and '.join(names)} must have shapes (C,) and (C, C), got {wrong}")
    found = FeatureStatistics(mean, whiten)
    if not all(part.isfinite().all() for part in (mean, whiten, found.square(torch.zeros_like(mean)))):
        raise ValueError(f"{' and '.join(names)} must be finite, and so must the distances by them")
    return found


def _check_weights(network: nn.Module, weights: dict[str, Tensor], path: str | Path) -> None:
    """The same names and shapes, before anything is copied."""
    expected = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    if wrong:
        first = wrong[0]
        shapes = [shown(shape.get(first, "missing")) for shape in (found, expected)]
        raise ArtifactError(
            f"{path} does not fit this network: {len(wrong)} of its tensors differ, such as {shown(first)}: "
            f"{shapes[0]} in the file, {shapes[1]} in the network"
        )
