"""Run an ONNX graph with ONNX Runtime; needs the extra `slova[onnx]`."""

from __future__ import annotations

from typing import Any

import onnxruntime

from slova._backend import Array, to_numpy
from slova.export.file_metadata import OUTPUTS, ExportError, sentence

__all__ = ["Session"]


class Session:
    """A graph as a function of inputs by name, on the CPU."""

    def __init__(self, content: bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors
        try:
            self.session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions have no common base class
            raise ExportError(f"ONNX Runtime refuses the graph: {sentence(error)}") from error

    def __call__(self, inputs: dict[str, Array]) -> tuple[Any, ...]:
        feeds = {name: _as_numpy(value) for name, value in inputs.items()}
        try:
            return tuple(self.session.run(list(OUTPUTS), feeds))
        except Exception as error:  # as above
            raise ExportError(f"ONNX Runtime cannot run the graph: {sentence(error)}") from error


def _as_numpy(value: Array) -> Any:
    """Like `to_numpy`, but half precision is kept."""
    return value.cpu().numpy() if str(value.dtype) == "torch.float16" else to_numpy(value)
