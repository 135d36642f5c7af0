"""A torch program as an ONNX graph; needs the extra `slova[onnx]`."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram

from slova.export.file_metadata import OUTPUTS, ExportError, Metadata, sentence
from slova.export.job import Exported
from slova.export.onnx_operators import OPSET, translation_table
from slova.export.onnx_session import Session
from slova.export.torch_program import quiet, shapes

__all__ = ["graphed"]


def graphed(program: ExportedProgram, names: list[str], metadata: Metadata) -> Exported:
    """The graph with its weights and metadata in one file."""
    try:
        with quiet():
            found = torch.onnx.export(
                program, dynamo=True, external_data=False, opset_version=OPSET,
                custom_translation_table=translation_table(),
                input_names=names, output_names=list(OUTPUTS), dynamic_shapes=shapes(tuple(names)), verbose=False,
            )  # fmt: skip
        assert found is not None
        parts: list[Any] = [found.model, found.model.graph, *found.model.graph.all_nodes()]
        for part in parts:
            part.metadata_props.clear()  # paths of source files
        found.model.metadata_props.update(metadata.lines)
        content = found.model_proto.SerializeToString()
    except Exception as error:  # an operator without translation, or more weights than one file can hold
        raise ExportError(f"the network cannot be written as an ONNX graph: {sentence(error)}") from error
    return Exported(content, Session(content))
