"""An exported classifier, run by ONNX Runtime. Classes, names and threshold are in the metadata of the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from slova.export.file_metadata import OUTPUTS, Metadata
from slova.serve.datatypes import DTYPES
from slova.serve.limits import RequestError
from slova.serve.model import Arrays, Model, ModelError, Tensor

__all__ = ["onnx_model"]

DATATYPES = {
    "tensor(bool)": "BOOL",
    "tensor(float16)": "FP16",
    "tensor(float)": "FP32",
    "tensor(double)": "FP64",
    **{f"tensor({sign}int{bits})": f"{sign}INT{bits}".upper() for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def onnx_model(path: Path, threads: int = 0) -> Model:
    session = _session(path, threads)
    metadata = Metadata.of(session.get_modelmeta().custom_metadata_map, path)
    found = tuple(output.name for output in session.get_outputs())
    if found != OUTPUTS:
        raise ModelError(f"{path} has the outputs {', '.join(found)}; expected {', '.join(OUTPUTS)}")
    model = Model(
        name=path.stem,
        platform="onnxruntime_onnx",
        inputs=tuple(_tensor(value, path) for value in session.get_inputs()),
        classes=metadata.classes,
        run=_runner(session),
        head=metadata.head,
        names=metadata.names,
        exported_reject=metadata.reject,
        reject=metadata.reject,
        validation=None if metadata.validation is None else np.asarray(metadata.validation.counts),
    )
    _check_runs(model, path)
    return model


def _session(path: Path, threads: int) -> Any:
    try:
        path.open("rb").close()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # errors are raised
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # leave the cores to other threads
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=onnxruntime.get_available_providers())
    except Exception as error:  # its exceptions have no common base class
        raise ModelError(f"{path} is not a readable ONNX model: {error}") from error


def _tensor(value: Any, path: Path) -> Tensor:
    if value.type not in DATATYPES:
        raise ModelError(f"{path} takes {value.name} as {value.type}; only numeric inputs are supported")
    shape = tuple(size if isinstance(size, int) else -1 for size in value.shape)
    if not shape or shape[0] != -1:
        raise ModelError(f"{path} takes {value.name} of shape {list(shape)}; its first axis must be dynamic")
    return Tensor(value.name, DATATYPES[value.type], shape)


def _runner(session: Any) -> Callable[[Arrays, Sequence[str]], Arrays]:
    invalid = onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument

    def run(inputs: Arrays, outputs: Sequence[str]) -> Arrays:
        try:
            return dict(zip(outputs, session.run(list(outputs), inputs), strict=True))
        except invalid as error:  # such as an index out of the range of an embedding
            raise RequestError(400, f"the model cannot be run on these inputs: {str(error)[:300]}") from error

    return run


def _check_runs(model: Model, path: Path) -> None:
    """Run the model on two rows of zeros, so that errors occur before it is served; not for inputs of dynamic shape."""
    shapes = {tensor.name: (2, *tensor.shape[1:]) for tensor in model.inputs}
    if any(-1 in shape for shape in shapes.values()):
        return
    zeros = {tensor.name: np.zeros(shapes[tensor.name], DTYPES[tensor.datatype]) for tensor in model.inputs}
    try:
        width = model.run(zeros, OUTPUTS)["log_probs"].shape
    except Exception as error:
        raise ModelError(f"{path} cannot be run: {error}") from error
    if width != (2, model.classes) or len(model.names or range(model.classes)) != model.classes:
        raise ModelError(f"{path} returns log_probs {width} for 2 rows, but its metadata has {model.classes} classes")
