"""A scorer as an ONNX graph, by running its own code on the nodes of a graph; no torch is needed, but `slova[onnx]`.

`_Onnx` is a backend like those of numpy and torch in `slova._backend`. Every head and calibrator that is made of the
primitives of the backend can be exported, and the graph cannot drift from `Scorer.predict`. There is no second list of
heads or calibrators here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper

from slova._backend import Array, to_numpy
from slova.export import onnx_operators as formulas
from slova.export.file_metadata import OUTPUTS, ExportError, sentence
from slova.export.job import Exported, Job
from slova.export.onnx_operators import OPSET, record
from slova.export.onnx_tracing import Graph, Node
from slova.scorer import Scorer

__all__ = ["Session", "append_scorer", "finished", "scorer_graph"]

IR_VERSION = 8  # the first with opset 18
HALF = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


def scorer_graph(job: Job) -> Exported:
    """The scorer as an .onnx file with the input logits and the five outputs."""
    columns = job.scorer.head.columns or job.scorer.classes
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ("batch", columns))
    graph, imports = helper.make_graph([], "slova", [logits], [logits]), [helper.make_opsetid("", OPSET)]
    return finished(helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION, producer_name="slova"), job)


def finished(model: ModelProto, job: Job) -> Exported:
    """The graph of a network, followed by that of the scorer if it is not there yet, with the metadata."""
    if model.graph.output[0].name != OUTPUTS[0]:
        append_scorer(model, job.scorer, job.reject)
    helper.set_model_props(model, job.metadata(OPSET).lines)
    try:
        content = model.SerializeToString()
    except Exception as error:  # more weights than one file can hold
        raise ExportError(f"the network cannot be written as an ONNX graph: {sentence(error)}") from error
    return Exported(content, Session(content))


def append_scorer(model: ModelProto, scorer: Scorer, reject: float) -> None:
    """Replace the outputs logits (N, K) and distances (N, D), if any, by the five outputs of the scorer."""
    graph = Graph(_Onnx)
    names, types = zip(
        *((output.name, output.type.tensor_type.elem_type) for output in model.graph.output), strict=True
    )
    columns = (scorer.head.columns or scorer.classes, scorer.distances)
    logits, *distances = (
        Node(graph, name, dtype, ("batch", size)) for name, dtype, size in zip(names, types, columns, strict=False)
    )
    if logits.dtype in HALF:
        logits = graph.Cast(logits, to=TensorProto.FLOAT)
    with record(graph):
        label, *probs = scorer.predict(logits, reject=reject, distances=distances[0] if distances else None)
        log_probs = scorer(logits, *distances).log_probs
    if logits.dtype == TensorProto.DOUBLE:
        *probs, log_probs = (graph.Cast(each, to=TensorProto.FLOAT) for each in (*probs, log_probs))
    graph.write(model.graph, dict(zip(OUTPUTS, (label, *probs, log_probs), strict=True)))


class _Onnx:
    """The primitives of `slova._backend` for nodes of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def floating(self, array: Node) -> Array:
        if array.dtype not in (TensorProto.FLOAT, TensorProto.DOUBLE):
            raise TypeError
        return array

    def like(self, values: Any, array: Node) -> Array:
        return self.graph.CastLike(values if isinstance(values, Node) else to_numpy(values), array)

    def minus(self, left: Node, right: Node) -> Array:
        equal = self.graph.And(self.graph.IsInf(right), self.graph.Equal(left, right))
        return self.where(equal, 0.0, left - right)

    def logsumexp(self, array: Node) -> Array:
        return formulas.logsumexp(array, [-1])

    def total(self, array: Node) -> Array:
        wide = self.graph.Cast(array, to=TensorProto.DOUBLE)
        return self.like(self.graph.ReduceSum(wide, np.array([-1]), keepdims=1), array)

    def constant(self, array: Node) -> Array:
        return array

    def log1mexp(self, array: Node) -> Array:
        near, far = self.log(-formulas.expm1(array)), formulas.log1p(-self.exp(array))
        return self.where(array > -np.log(2), near, far)

    def top(self, array: Node) -> tuple[Array, Array]:
        return formulas.top(array, -1, keepdim=True)

    def take(self, array: Node, index: Node) -> Array:
        return self.graph.GatherElements(array, index, axis=-1)

    def put(self, array: Node, index: Node, values: Node) -> Array:
        return self.graph.ScatterElements(array, index, values, axis=-1)

    def drop(self, array: Node, index: Node) -> Array:
        return self.put(array, index, self.full(self.take(array, index), 0.0))

    def where(self, condition: Node, left: Any, right: Any) -> Array:
        like = left if isinstance(left, Node) else right
        left, right = (each if isinstance(each, Node) else self.like(each, like) for each in (left, right))
        return self.graph.Where(condition, left, right)

    def clip(self, array: Node, low: float | None, high: float | None) -> Array:
        return formulas.clamp(array, low, high)

    def softplus(self, array: Node) -> Array:
        return formulas.softplus(array)

    def log1p(self, array: Node) -> Array:
        return formulas.log1p(array)

    def exp(self, array: Node) -> Array:
        return self.graph.Exp(array)

    def log(self, array: Node) -> Array:
        return self.graph.Log(array)

    def cumsum_before(self, array: Node) -> Array:
        wide = self.graph.Cast(array, to=TensorProto.DOUBLE)
        return self.like(self.graph.CumSum(wide, np.array(-1), exclusive=1), array)

    def full(self, array: Node, value: float) -> Array:
        node = self.graph.Expand(self.like(value, array), self.graph.Shape(array))
        node.shape = array.shape
        return node

    def append(self, array: Node, column: Node) -> Array:
        return self.graph.Concat(array, column[..., None], axis=-1)

    def locate(self, edges: Node, array: Node) -> Array:
        return formulas.searchsorted(edges, array, right=True)


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
