"""Members that skl2onnx converts, each a graph from X (N, features), set side by side and followed by ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import torch
from onnx import GraphProto, ModelProto, TensorProto, compose, helper, numpy_helper
from skl2onnx import to_onnx
from torch import Tensor, nn

from slova.export.file_metadata import ExportError
from slova.export.network import Job, exported_network
from slova.export.onnx_graph import Session
from slova.export.onnx_operators import OPSET
from slova.export.sklearn_model import thawed
from slova.export.torch_program import Exported, quiet, sentence
from slova.sklearn.members import Columns, Constant, Members

__all__ = ["converted"]

ANSWERS = "members_answer"
OPSETS = {"": OPSET, "ai.onnx.ml": 3}


def converted(members: Members | Columns, log_odds: nn.Module, table: Tensor, job: Job) -> Exported:
    """The members' graph, and then `log_odds`, head, map and threshold."""
    answers = torch.rand(len(table), job.scorer.classes)
    tail = onnx.load_from_string(exported_network(log_odds, ((answers,), {}), ["answers"], job).content)
    head = _side_by_side(members, table)
    head.ir_version = tail.ir_version
    content = compose.merge_models(head, tail, io_map=[(ANSWERS, "answers")]).SerializeToString()
    return Exported(content, Session(content))


def _side_by_side(members: Members | Columns, table: Tensor) -> ModelProto:
    """From X to one column of answers per class."""
    raw, rows = members.answer.method == "decision_function", table[:1].numpy()
    if isinstance(members, Columns):
        graphs = [_columns(_graph(thawed(members.model), rows, raw), pair=raw and members.classes == 2)]
    else:
        graphs = [_last_column(_member(model, rows, raw)) for model in members.models]
    graphs = [compose.add_prefix_graph(graph, f"member_{k}/", rename_inputs=False) for k, graph in enumerate(graphs)]
    nodes = [node for graph in graphs for node in graph.node]
    nodes.append(helper.make_node("Concat", [graph.output[0].name for graph in graphs], [ANSWERS], axis=1))
    weights = [weight for graph in graphs for weight in graph.initializer]
    X = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["batch", table.shape[1]])
    output = helper.make_tensor_value_info(ANSWERS, TensorProto.FLOAT, ["batch", None])
    imports = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    return helper.make_model(helper.make_graph(nodes, "members", [X], [output], weights), opset_imports=imports)


def _member(model: Any, rows: np.ndarray, raw: bool) -> GraphProto:
    """A constant answers alike whatever X is: its logit, or the probability of that."""
    if not isinstance(model, Constant):
        return _graph(model, rows, raw)
    value = np.array([[model.logit if raw else 1 / (1 + np.exp(-model.logit))]], np.float32)
    nodes = [
        helper.make_node("ReduceSum", ["X", "axis"], ["sums"], keepdims=1),
        helper.make_node("Mul", ["sums", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "value"], ["answer"]),
    ]
    numbers = {"axis": np.array([1]), "zero": np.zeros((1, 1), np.float32), "value": value}
    output = helper.make_tensor_value_info("answer", TensorProto.FLOAT, ["batch", 1])
    return helper.make_graph(nodes, "constant", [], [output], [_named(*entry) for entry in numbers.items()])


def _graph(model: Any, rows: np.ndarray, raw: bool) -> GraphProto:
    """What skl2onnx makes of a model: its last output are scores (`raw`) or probabilities, one column per class."""
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    tried = [{"zipmap": False, "raw_scores": raw}, {"raw_scores": raw}, {"zipmap": False}]  # not all know all of them
    for options in tried[: 2 if raw else 3]:
        try:
            with quiet():
                graph: GraphProto = to_onnx(model, rows, target_opset=OPSETS, options={id(final): options}).graph
        except Exception as error:  # an option or a model that it does not know, or cannot convert
            reason = error
            continue
        del graph.output[:-1]
        return graph
    raise ExportError(f"skl2onnx cannot convert {type(final).__name__}: {sentence(reason)}") from reason


def _last_column(graph: GraphProto) -> GraphProto:
    """The answer for "it is this class", the last column, as (N, 1)."""
    graph.initializer.append(_named("last_one", np.array([-1])))
    return _followed(
        graph, [helper.make_node("Gather", [graph.output[0].name, "last_one"], ["column"], axis=1)], "column"
    )


def _columns(graph: GraphProto, *, pair: bool) -> GraphProto:
    """All columns; of two classes with one score f, (-f, f)."""
    if not pair:
        return graph
    graph = _last_column(graph)
    nodes = [
        helper.make_node("Neg", ["column"], ["other"]),
        helper.make_node("Concat", ["other", "column"], ["pair"], axis=1),
    ]
    return _followed(graph, nodes, "pair")


def _followed(graph: GraphProto, nodes: list[Any], output: str) -> GraphProto:
    graph.node.extend(nodes)
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", None]))
    return graph


def _named(name: str, values: np.ndarray) -> TensorProto:
    return numpy_helper.from_array(values, name)
