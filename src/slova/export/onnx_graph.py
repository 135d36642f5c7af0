"""A torch program as an ONNX graph; needs the extra `slova[onnx]`."""

from __future__ import annotations

from typing import Any

import torch
from onnx import ModelProto, helper
from torch.export import ExportedProgram

from slova.export.file_metadata import OUTPUTS, ExportError, sentence
from slova.export.job import Exported, Job
from slova.export.onnx_operators import OPSET, translation_table
from slova.export.onnx_session import Session
from slova.export.scorer_graph import append_scorer
from slova.export.torch_program import quiet, shapes

__all__ = ["joined", "translated"]

CANNOT = "the network cannot be written as an ONNX graph"


def translated(program: ExportedProgram, names: list[str], outputs: list[str]) -> ModelProto:
    """The graph with its weights in one file; `outputs` are the names of as many outputs as there are."""
    try:
        with quiet():
            found = torch.onnx.export(
                program, dynamo=True, external_data=False, opset_version=OPSET,
                custom_translation_table=translation_table(),
                input_names=names, output_names=outputs, dynamic_shapes=shapes(tuple(names)), verbose=False,
            )  # fmt: skip
        assert found is not None
        parts: list[Any] = [found.model, found.model.graph, *found.model.graph.all_nodes()]
        for part in parts:
            part.metadata_props.clear()  # paths of source files
        return found.model_proto
    except Exception as error:  # an operator without translation
        raise ExportError(f"{CANNOT}: {sentence(error)}") from error


def joined(model: ModelProto, job: Job) -> Exported:
    """The graph of a network, followed by that of the scorer if it is not there yet, with the metadata."""
    if model.graph.output[0].name != OUTPUTS[0]:
        append_scorer(model, job.scorer, job.reject)
    helper.set_model_props(model, job.metadata(OPSET).lines)
    try:
        content = model.SerializeToString()
    except Exception as error:  # more weights than one file can hold
        raise ExportError(f"{CANNOT}: {sentence(error)}") from error
    return Exported(content, Session(content))
