"""Members converted by skl2onnx, each to a graph from X (N, features), joined and followed by that of the scorer."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import torch
from onnx import GraphProto, ModelProto, TensorProto, compose, helper, numpy_helper
from skl2onnx import to_onnx
from torch import Tensor, nn

from slova.export.file_metadata import ExportError, sentence
from slova.export.job import Exported, Job
from slova.export.network import exported_network
from slova.export.onnx_operators import OPSET
from slova.export.scorer_graph import Session
from slova.export.sklearn_model import unfrozen
from slova.export.torch_program import quiet
from slova.sklearn.models import Constant, Members, Multiclass

__all__ = ["converted"]

SCORES = "member_scores"
OPSETS = {"": OPSET, "ai.onnx.ml": 3}


def converted(members: Members | Multiclass, log_odds: nn.Module, table: Tensor, job: Job) -> Exported:
    """The graph of the members, followed by `log_odds`, head, calibrator and threshold."""
    pairs = isinstance(members, Members) and members.response.method == "predict_proba"
    scores = torch.rand(len(table), job.scorer.classes * (2 if pairs else 1))
    tail = onnx.load_from_string(exported_network(log_odds, ((scores,), {}), ["scores"], job).content)
    head = _joined(members, table)
    head.ir_version = tail.ir_version
    content = compose.merge_models(head, tail, io_map=[(SCORES, "scores")]).SerializeToString()
    return Exported(content, Session(content))


def _joined(members: Members | Multiclass, table: Tensor) -> ModelProto:
    """A graph from X to one column of scores per class; probabilities of a member and its complement are two columns,
    because in float32 the complement of a probability near one has no digits."""
    raw, rows = members.response.method == "decision_function", table[:1].numpy()
    if isinstance(members, Multiclass):
        graphs = [_columns(_graph(unfrozen(members.model), rows, raw), pair=raw and len(members.classes) == 2)]
    else:
        graphs = [_member(model, rows, raw) for model in members.models]
        graphs = [_last_column(graph) for graph in graphs] if raw else graphs
    graphs = [compose.add_prefix_graph(graph, f"member_{k}/", rename_inputs=False) for k, graph in enumerate(graphs)]
    nodes = [node for graph in graphs for node in graph.node]
    nodes.append(helper.make_node("Concat", [graph.output[0].name for graph in graphs], [SCORES], axis=1))
    weights = [weight for graph in graphs for weight in graph.initializer]
    X = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["batch", table.shape[1]])
    output = helper.make_tensor_value_info(SCORES, TensorProto.FLOAT, ["batch", None])
    imports = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    return helper.make_model(helper.make_graph(nodes, "members", [X], [output], weights), opset_imports=imports)


def _member(model: Any, rows: np.ndarray, raw: bool) -> GraphProto:
    """The graph of a member; for a constant one its logit or its probabilities, whatever X is."""
    if not isinstance(model, Constant):
        return _graph(model, rows, raw)
    odds = np.exp([model.logit, -model.logit])
    value = np.array([[model.logit] if raw else 1 / (1 + odds)], np.float32)
    nodes = [
        helper.make_node("ReduceSum", ["X", "axis"], ["sums"], keepdims=1),
        helper.make_node("Mul", ["sums", "zero"], ["zeros"]),
        helper.make_node("Add", ["zeros", "value"], ["score"]),
    ]
    numbers = {"axis": np.array([1]), "zero": np.zeros((1, 1), np.float32), "value": value}
    output = helper.make_tensor_value_info("score", TensorProto.FLOAT, ["batch", value.shape[1]])
    return helper.make_graph(nodes, "constant", [], [output], [_named(*entry) for entry in numbers.items()])


def _graph(model: Any, rows: np.ndarray, raw: bool) -> GraphProto:
    """The graph of a model by skl2onnx. Its last output is scores (`raw`) or probabilities, one column per class."""
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    tried = [
        {"zipmap": False, "raw_scores": raw},
        {"raw_scores": raw},
        {"zipmap": False},
    ]  # not every converter has all options
    for options in tried[: 2 if raw else 3]:
        try:
            with quiet():
                graph: GraphProto = to_onnx(model, rows, target_opset=OPSETS, options={id(final): options}).graph
        except Exception as error:  # an unknown option or an unsupported model
            reason = error
            continue
        del graph.output[:-1]
        return graph
    raise ExportError(f"skl2onnx cannot convert {type(final).__name__}: {sentence(reason)}") from reason


def _last_column(graph: GraphProto) -> GraphProto:
    """The score of the positive class, the last column, as (N, 1)."""
    graph.initializer.append(_named("last_one", np.array([-1])))
    return _followed(
        graph, [helper.make_node("Gather", [graph.output[0].name, "last_one"], ["column"], axis=1)], "column"
    )


def _columns(graph: GraphProto, *, pair: bool) -> GraphProto:
    """All columns; for two classes with a single score f, (-f, f)."""
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
