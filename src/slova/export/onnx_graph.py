"""A torch program as an ONNX graph, and the runtime that reads it back; needs the extra `slova[onnx]`."""

from __future__ import annotations

from typing import Any

import onnxruntime
import torch
from torch import Tensor
from torch.export import ExportedProgram

from slova._backend import to_numpy
from slova.export.file_metadata import OUTPUTS, ExportError, Metadata
from slova.export.onnx_operators import OPSET, TABLE
from slova.export.torch_program import Exported, quiet, sentence, shapes

__all__ = ["Session", "graphed"]


def graphed(program: ExportedProgram, names: list[str], metadata: Metadata) -> Exported:
    """The graph with its metadata, all in one piece."""
    try:
        with quiet():
            found = torch.onnx.export(
                program, dynamo=True, external_data=False, opset_version=OPSET, custom_translation_table=TABLE,
                input_names=names, output_names=list(OUTPUTS), dynamic_shapes=shapes(tuple(names)), verbose=False,
            )  # fmt: skip
        assert found is not None
        parts: list[Any] = [found.model, found.model.graph, *found.model.graph.all_nodes()]
        for part in parts:
            part.metadata_props.clear()  # where the code lay on the disk of whoever exported it
        found.model.metadata_props.update(metadata.lines)
        content = found.model_proto.SerializeToString()
    except Exception as error:  # an operator without a translation, or more weights than one file can hold
        raise ExportError(f"the network cannot be written as an ONNX graph: {sentence(error)}") from error
    return Exported(content, Session(content))


class Session:
    """What ONNX Runtime answers, on the host."""

    def __init__(self, content: bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors
        try:
            self.session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no base class of their own
            raise ExportError(f"ONNX Runtime refuses the graph: {sentence(error)}") from error

    def __call__(self, inputs: dict[str, Tensor]) -> tuple[Any, ...]:
        half = torch.float16  # which numpy has, and `to_numpy` would widen
        feeds = {
            name: value.cpu().numpy() if value.dtype == half else to_numpy(value) for name, value in inputs.items()
        }
        try:
            return tuple(self.session.run(list(OUTPUTS), feeds))
        except Exception as error:  # as above
            raise ExportError(f"ONNX Runtime cannot run the graph: {sentence(error)}") from error
