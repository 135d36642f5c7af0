"""An ONNX graph under construction. Its nodes behave like arrays, but record operators instead of computing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, defs, helper, numpy_helper, shape_inference

from slova._backend import Array, to_numpy
from slova.export.onnx_operators import OPSET

__all__ = ["Graph", "Node"]


class Graph:
    """The nodes recorded so far. Operators are attributes: `graph.Add(left, right)` records a node, or finds an equal
    one. `backend` has the primitives of `slova._backend`."""

    def __init__(self, backend: Callable[[Graph], Any]) -> None:
        self.backend = backend(self)
        self.nodes: list[NodeProto] = []
        self.known: dict[Any, Node] = {}
        self.constants: dict[str, TensorProto] = {}

    def __getattr__(self, operator: str) -> Any:
        def add(*inputs: Any, **attributes: Any) -> Node:
            if operator == "Constant":
                return self.constant(_constant_value(**attributes))
            return self.node(operator, [self.as_node(value) for value in inputs], attributes)

        return add

    def node(self, operator: str, inputs: Sequence[Node], attributes: dict[str, Any]) -> Node:
        if operator == "CastLike" and inputs[0].value is not None:
            return self.constant(inputs[0].value, inputs[1].dtype)
        key = operator, tuple(value.name for value in inputs), str(attributes)
        if key not in self.known:
            name = f"slova/{operator}_{len(self.nodes)}"
            self.nodes.append(helper.make_node(operator, [value.name for value in inputs], [name], **attributes))
            self.known[key] = Node(self, name, *self._described(self.nodes[-1], inputs))
        return self.known[key]

    def _described(self, node: NodeProto, inputs: Sequence[Node]) -> tuple[int, tuple[Any, ...]]:
        """The type and the shape of the output of a node, as ONNX infers them."""
        types = {value.name: helper.make_tensor_type_proto(value.dtype, value.shape) for value in inputs}
        data = {value.name: self.constants[value.name] for value in inputs if value.value is not None}
        schema, imports = defs.get_schema(node.op_type, OPSET), [helper.make_opsetid("", OPSET)]
        found = shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=imports)
        tensor = found[node.output[0]].tensor_type
        return tensor.elem_type, tuple(size.dim_param or size.dim_value for size in tensor.shape.dim)

    def constant(self, value: Any, dtype: int | None = None) -> Node:
        array = np.asarray(value)
        array = array if dtype is None else array.astype(helper.tensor_dtype_to_np_dtype(dtype))
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self.known:
            name = f"slova/constant_{len(self.constants)}"
            self.constants[name] = numpy_helper.from_array(array, name)
            self.known[key] = Node(self, name, self.constants[name].data_type, array.shape, array)
        return self.known[key]

    def as_node(self, value: Any) -> Node:
        return value if isinstance(value, Node) else self.constant(value)

    def write(self, graph: GraphProto, outputs: dict[str, Node]) -> None:
        """Append the nodes to a graph that computes what they start from, and give it these outputs."""
        graph.node.extend(self.nodes)
        graph.node.extend(helper.make_node("Identity", [value.name], [name]) for name, value in outputs.items())
        used = {name for node in self.nodes for name in node.input}
        graph.initializer.extend(value for name, value in self.constants.items() if name in used)
        described = [helper.make_tensor_value_info(name, value.dtype, value.shape) for name, value in outputs.items()]
        del graph.output[:]
        graph.output.extend(described)


def _binary(operator: str, *, swapped: bool = False) -> Callable[[Node, Any], Node]:
    def method(self: Node, other: Any) -> Node:
        other = other if isinstance(other, Node) else self.graph.constant(to_numpy(other), self.dtype)
        return self.graph.node(operator, [other, self] if swapped else [self, other], {})

    return method


class Node:
    """A value of the graph, with the operators of an array; the class axis is the last one."""

    device = SimpleNamespace(type="onnx")  # not on the host, so that batches are not split
    requires_grad = False

    def __init__(self, graph: Graph, name: str, dtype: int, shape: tuple[Any, ...], value: Array | None = None) -> None:
        self.graph, self.name, self.dtype, self.shape, self.value = graph, name, dtype, shape, value

    @property
    def backend(self) -> Any:
        return self.graph.backend

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        if not isinstance(self.shape[0], int):
            raise TypeError("the batch has no size while a graph is recorded")
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("a node of an ONNX graph has no values")

    def __getitem__(self, key: Any) -> Node:
        if self.value is not None and not isinstance(key, Node):
            return self.graph.constant(self.value[key])
        if isinstance(key, tuple) and key == (Ellipsis, None):
            return self._record("Unsqueeze", np.array([-1]))
        if isinstance(key, tuple) and key[0] is Ellipsis and isinstance(key[1], slice):
            return self._record("Gather", np.arange(self.shape[-1])[key[1]], axis=-1)
        if isinstance(key, tuple) and len(key) == 2 and key[0] is Ellipsis:
            return self._record("Gather", np.array(key[1]), axis=-1)
        if isinstance(key, int | Node):
            return self._record("Gather", key if isinstance(key, Node) else np.array(key), axis=0)
        raise TypeError(f"an ONNX graph has no index {key!r}")

    def sum(self, axis: int) -> Node:
        return self._record("ReduceSum", np.array([axis]), keepdims=0)

    def prod(self, axis: int) -> Node:
        return self._record("ReduceProd", np.array([axis]), keepdims=0)

    def _record(self, operator: str, *others: Any, **attributes: Any) -> Node:
        return self.graph.node(operator, [self, *map(self.graph.as_node, others)], attributes)

    def __neg__(self) -> Node:
        return self._record("Neg")

    def __abs__(self) -> Node:
        return self._record("Abs")

    __hash__ = object.__hash__
    __add__ = __radd__ = _binary("Add")
    __mul__ = __rmul__ = _binary("Mul")
    __sub__, __rsub__ = _binary("Sub"), _binary("Sub", swapped=True)
    __truediv__, __rtruediv__ = _binary("Div"), _binary("Div", swapped=True)
    __lt__, __le__ = _binary("Less"), _binary("LessOrEqual")
    __gt__, __ge__ = _binary("Greater"), _binary("GreaterOrEqual")
    __matmul__ = _binary("MatMul")
    __eq__ = _binary("Equal")  # type: ignore[assignment]


def _constant_value(
    value: TensorProto | None = None, value_int: int | None = None, value_ints: Sequence[int] | None = None
) -> np.ndarray:
    if value is not None:
        return np.asarray(numpy_helper.to_array(value))
    return np.array(value_int if value_ints is None else value_ints, np.int64)
