"""Load a model: an ONNX file that slova exported, or a `.slova` file, whose input is logits and which needs no ONNX
Runtime. Classes, names and threshold of an ONNX file are in its metadata."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from slova._labels import class_names
from slova._scorer_file import load_saved
from slova.export.file_metadata import OUTPUTS, Metadata, Validation
from slova.scorer import Scorer
from slova.serve.limits import Limits, RequestError
from slova.serve.model import DTYPES, Arrays, Model, ModelError, Tensor
from slova.serve.requests import most_marks, parse_predict

__all__ = ["load_model", "scorer_model", "with_examples"]

EXAMPLE_ROWS, EXAMPLE_BYTES = 16, 1 << 20
DATATYPES = {"tensor(bool)": "BOOL", "tensor(float16)": "FP16", "tensor(float)": "FP32", "tensor(double)": "FP64"} | {
    f"tensor({name.lower()})": name for name in DTYPES if "INT" in name
}


def load_model(path: Path, *, name: str | None = None, reject: float | None = None, threads: int = 0) -> Model:
    """The model in a file. `name` defaults to that of the file, `reject` to the exported threshold; `threads` is the
    number of threads of ONNX Runtime, 0 for one per core."""
    if path.suffix == ".pt2":
        raise ModelError(f"{path}: a .pt2 file cannot be served: export to .onnx")
    if path.suffix not in (".onnx", ".slova"):
        raise ModelError(f"{path}: a model file must end in .onnx or .slova, got {path.suffix or 'no suffix'}")
    try:
        path.open("rb").close()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    model = _scorer(path) if path.suffix == ".slova" else _onnx(path, threads)
    return replace(model, name=name or path.stem, reject=model.reject if reject is None else reject)


def with_examples(model: Model, path: Path | None) -> Model:
    """The model with the rows of a JSON file, few and checked like a request, in the form of `inputs` of /predict; all
    who may use the model can read them. None changes nothing."""
    if path is None:
        return model
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if len(text) > EXAMPLE_BYTES:
        raise ModelError(f"{path} has {len(text)} bytes; examples have at most {EXAMPLE_BYTES}")
    try:
        body = b'{"inputs":' + text + b"}"
        parse_predict(body, model, Limits(rows=EXAMPLE_ROWS), most_marks(model, EXAMPLE_ROWS))
    except RequestError as error:
        is_json = not error.message.startswith("the body is not JSON")  # it is only a part of that body
        raise ModelError(f"{path}: {error.message}" if is_json else f"{path} is not JSON") from error
    return replace(model, examples=json.loads(text))


def scorer_model(
    scorer: Scorer, *, name: str = "scorer", reject: float = 0.0, names: Sequence[str] | None = None
) -> Model:
    """A model that takes logits."""

    def run(inputs: Arrays, wanted: Sequence[str]) -> Arrays:
        try:
            answer = scorer.predict(inputs["logits"])
        except ValueError as error:  # values of another kind than those of the fit
            raise RequestError(400, str(error)) from None
        outputs: Arrays = {key: np.asarray(value) for key, value in answer.to_dict().items()}
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
        names=None if names is None else class_names(names, scorer.classes),
        reject=reject,
        validation=_counts(None if scorer.validation is None else Validation.of(scorer.validation)),
    )


def _scorer(path: Path) -> Model:
    """A scorer, or the scorer of a saved classifier with its names and its threshold."""
    saved = load_saved(path)
    if saved.scorer.distances:
        raise ModelError(f"{path} is distance-aware and takes more than logits: export the classifier to .onnx")
    return scorer_model(saved.scorer, reject=saved.reject, names=saved.names)


def _onnx(path: Path, threads: int) -> Model:
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise ImportError('serving an ONNX model needs ONNX Runtime: pip install "slova[serve]"') from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # errors are raised
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # leave the cores to other threads
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=onnxruntime.get_available_providers())
    except Exception as error:  # its exceptions have no common base class
        raise ModelError(f"{path} is not a readable ONNX model: {error}") from error
    invalid = onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument

    def run(inputs: Arrays, outputs: Sequence[str]) -> Arrays:
        try:
            return dict(zip(outputs, session.run(list(outputs), inputs), strict=True))
        except invalid as error:  # such as an index out of the range of an embedding
            raise RequestError(400, f"the model cannot be run on these inputs: {str(error)[:300]}") from error

    return _described(path, session, run)


def _described(path: Path, session: Any, run: Any) -> Model:
    """The model of a graph that takes and returns what it must."""
    metadata = Metadata.of(session.get_modelmeta().custom_metadata_map, path)
    found = tuple(output.name for output in session.get_outputs())
    if found != OUTPUTS:
        raise ModelError(f"{path} has the outputs {', '.join(found)}; expected {', '.join(OUTPUTS)}")
    model = Model(
        name=path.stem,
        platform="onnxruntime_onnx",
        inputs=tuple(_tensor(value, path) for value in session.get_inputs()),
        classes=metadata.classes,
        run=run,
        head=metadata.head,
        names=metadata.names,
        exported_reject=metadata.reject,
        reject=metadata.reject,
        validation=_counts(metadata.validation),
    )
    _check_runs(model, path)
    return model


def _counts(validation: Validation | None) -> Any:
    return None if validation is None else np.asarray(validation.counts)


def _tensor(value: Any, path: Path) -> Tensor:
    if value.type not in DATATYPES:
        raise ModelError(f"{path} takes {value.name} as {value.type}; only numeric inputs are supported")
    shape = tuple(size if isinstance(size, int) else -1 for size in value.shape)
    if not shape or shape[0] != -1:
        raise ModelError(f"{path} takes {value.name} of shape {list(shape)}; its first axis must be dynamic")
    return Tensor(value.name, DATATYPES[value.type], shape)


def _check_runs(model: Model, path: Path) -> None:
    """Run the model on two rows, so that errors occur before it is served."""
    if (zeros := model.zeros(2)) is None:
        return
    try:
        width = model.run(zeros, OUTPUTS)["log_probs"].shape
    except Exception as error:
        raise ModelError(f"{path} cannot be run: {error}") from error
    if width != (2, model.classes) or len(model.names or range(model.classes)) != model.classes:
        raise ModelError(f"{path} returns log_probs {width} for 2 rows, but its metadata has {model.classes} classes")
