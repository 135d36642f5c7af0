"""Load a model: an exported ONNX file, or a `.slova` file, whose input is logits and which needs no ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from slova._scorer_file import load_saved
from slova.export.file_metadata import Validation
from slova.scorer import Scorer
from slova.serve.model import Arrays, Model, ModelError, Tensor

__all__ = ["load_model", "scorer_model"]


def load_model(path: Path, *, name: str | None = None, reject: float | None = None, threads: int = 0) -> Model:
    """The model in a file. `name` defaults to that of the file, `reject` to the exported threshold; `threads` is the
    number of threads of ONNX Runtime, 0 for one per core."""
    _check_suffix(path)
    model = _scorer(path) if path.suffix == ".slova" else _onnx(path, threads)
    return replace(model, name=name or path.stem, reject=model.reject if reject is None else reject)


def scorer_model(
    scorer: Scorer, *, name: str = "scorer", reject: float = 0.0, names: Sequence[str] | None = None
) -> Model:
    """A model that takes logits."""

    def run(inputs: Arrays, wanted: Sequence[str]) -> Arrays:
        answers = scorer.predict(inputs["logits"]).to_dict()
        outputs: Arrays = {key: np.asarray(value) for key, value in answers.items()}
        if "log_probs" in wanted:
            outputs["log_probs"] = np.asarray(scorer(inputs["logits"]).log_probs)
        return {key: outputs[key] for key in wanted}

    return Model(
        name=name,
        platform="slova",
        inputs=(Tensor("logits", "FP32", (-1, scorer.head.columns or scorer.classes)),),
        classes=scorer.classes,
        run=run,
        head=scorer.head.name,
        names=None if names is None else tuple(names),
        reject=reject,
        validation=None if scorer.validation is None else np.asarray(Validation.of(scorer.validation).counts),
    )


def _check_suffix(path: Path) -> None:
    if path.suffix == ".pt2":
        raise ModelError(f"{path}: a .pt2 file cannot be served: export to .onnx")
    if path.suffix not in (".onnx", ".slova"):
        raise ModelError(f"{path}: a model file must end in .onnx or .slova, got {path.suffix or 'no suffix'}")


def _scorer(path: Path) -> Model:
    """A scorer, or the scorer of a saved classifier with its names and its threshold."""
    try:
        saved = load_saved(path)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if saved.scorer.distances:
        raise ModelError(f"{path} is distance-aware and takes more than logits: export the classifier to .onnx")
    return scorer_model(saved.scorer, reject=saved.reject, names=saved.names)


def _onnx(path: Path, threads: int) -> Model:
    try:
        from slova.serve.onnx_model import onnx_model
    except ModuleNotFoundError as error:
        raise ImportError('serving an ONNX model needs ONNX Runtime: pip install "slova[serve]"') from error
    return onnx_model(path, threads)
