"""Writes the network as an ONNX graph, by hand: fused operators, int8 where they gain, no exporter in between.

The operators are those that ONNX Runtime's CPU provider runs fastest (``com.microsoft``:
MatMulIntegerToFloat, MultiHeadAttention, BiasGelu; its SkipLayerNormalization is slower than the sum
and the standard's LayerNormalization, by a sixth of all time). The graph takes one
window, unpadded: without a mask the attention needs no padding logic, and a window's result cannot depend on
its neighbours. Weights stay outside, in the bundle's safetensors file, which other engines read too.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quoth.errors import MissingExtraError
from quoth.models.card import WEIGHTS, Architecture
from quoth.models.tensors import Stretch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tensors = Mapping[str, NDArray[Any]]

OURS = "com.microsoft"
OPSET, IR = 18, 9
INPUTS, OUTPUT, VECTOR = ("ids", "types"), "logits", "vector"

Head = Literal["span", "mean", "first"]


def build(
    architecture: Architecture,
    tensors: "Tensors",
    *,
    places: Mapping[str, Stretch] | None = None,
    taps: Sequence[str] = (),
    head: Head = "span",
) -> bytes:
    """Return the serialised graph: ids and types (1, n) in, logits (1, n, 2) out.

    With another *head* than ``span`` it gives a vector (1, hidden): the mean over the tokens, or the first one's.
    A matrix is computed in int8 where its tensor is int8. *places* says where each tensor lies in the
    weights file; without it they are put into the graph. *taps* are inner values to give out as well.
    """
    writer = _Writer(tensors, places)
    x = _embed(writer, architecture)
    for layer in range(architecture.layers):
        x = _layer(writer, architecture, f"layer.{layer}", x)
    if head == "span":
        writer.op("MatMul", [x, writer.tensor("span.weight")], "span")
        output = writer.op("Add", ["span", writer.tensor("span.bias")], OUTPUT)
        return writer.serialise(output, ("tokens", 2), taps)
    if head == "mean":
        axis = writer.constant("axis", np.array([1], np.int64))
        output = writer.op("ReduceMean", [x, axis], VECTOR, keepdims=0)
    else:
        output = writer.op("Gather", [x, writer.constant("first", np.array(0, np.int64))], VECTOR, axis=1)
    return writer.serialise(output, (architecture.hidden,), taps)


def _embed(w: "_Writer", architecture: Architecture) -> str:
    """Word, position and segment embeddings, normalised."""
    zero = w.constant("zero", np.array([0], np.int64))
    length = w.op("Shape", ["ids"], "length", start=1, end=2)
    words = w.rows("embeddings.word", "Gather", "ids")
    position = w.rows("embeddings.position", "Slice", zero, length, zero)
    types = w.op("Gather", [w.tensor("embeddings.type"), "types"], "segment")
    place = w.op("Add", [types, position], "place")
    return w.norm(words, place, "embeddings.norm", architecture.epsilon, "embedded")


def _layer(w: "_Writer", architecture: Architecture, name: str, x: str) -> str:
    """One transformer layer, normalised after each half (Vaswani et al. 2017)."""
    q, k, v = (w.matmul(x, f"{name}.{part}") for part in ("query", "key", "value"))
    inputs = [q, k, v, w.tensor(f"{name}.attention.bias")]
    context = w.op("MultiHeadAttention", inputs, f"{name}.context", OURS, num_heads=architecture.heads)
    attended = w.matmul(context, f"{name}.output")
    x = w.norm(
        attended, x, f"{name}.attention.norm", architecture.epsilon, f"{name}.attended", f"{name}.output"
    )
    inner = w.op("BiasGelu", [w.matmul(x, f"{name}.up"), w.tensor(f"{name}.up.bias")], f"{name}.inner", OURS)
    outer = w.matmul(inner, f"{name}.down")
    return w.norm(outer, x, f"{name}.norm", architecture.epsilon, f"{name}.hidden", f"{name}.down")


class _Writer:
    """Collects nodes and initialisers; names are unique because the tensors' are."""

    def __init__(self, tensors: "Tensors", places: Mapping[str, Stretch] | None) -> None:
        try:
            import onnx
        except ImportError as problem:
            raise MissingExtraError(
                "Writing a model needs the package onnx.", hint="pip install 'quoth[export]'"
            ) from problem
        self._onnx = onnx
        self._tensors, self._places = tensors, places
        self._nodes: list[Any] = []
        self._initialisers: dict[str, Any] = {}
        self._quantised: dict[str, tuple[str, str, str]] = {}

    def is_int8(self, name: str) -> bool:
        return bool(self._tensors[name].dtype == np.int8)

    def op(
        self, kind: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: object
    ) -> str:
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def rows(self, name: str, kind: str, *which: str) -> str:
        """Some rows of a table, as floats: in int8 each row has a scale."""
        rows = self.op(kind, [self.tensor(name), *which], f"{name}.rows")
        if not self.is_int8(name):
            return rows
        scale = self.op(kind, [self.tensor(f"{name}.scale"), *which], f"{name}.rows.scale")
        return self.op(
            "Mul", [self.op("Cast", [rows], f"{name}.rows.float", to=1), scale], f"{name}.rows.scaled"
        )

    def norm(self, x: str, skip: str, name: str, epsilon: float, output: str, bias: str = "") -> str:
        """Layer normalisation of x + skip (+ the bias of the matrix that made x)."""
        total = self.op("Add", [x, skip], f"{output}.sum")
        if bias:
            total = self.op("Add", [total, self.tensor(f"{bias}.bias")], f"{output}.biased")
        inputs = [total, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")]
        return self.op("LayerNormalization", inputs, output, axis=-1, epsilon=epsilon)

    def matmul(self, x: str, name: str) -> str:
        """x times a matrix, in int8 with a scale a column where the matrix is int8; no bias."""
        weight, output = self.tensor(f"{name}.weight"), f"{name}.product"
        if not self.is_int8(f"{name}.weight"):
            return self.op("MatMul", [x, weight], output)
        if f"{name}.smooth" in self._tensors:
            x = self.op("Mul", [x, self.tensor(f"{name}.smooth")], f"{name}.smoothed")
        if x not in self._quantised:
            parts = (f"{x}.int8", f"{x}.scale", f"{x}.zero")
            self._nodes.append(self._onnx.helper.make_node("DynamicQuantizeLinear", [x], parts))
            self._quantised[x] = parts
        value, scale, zero = self._quantised[x]
        inputs = [value, weight, scale, self.tensor(f"{name}.scale"), zero]
        return self.op("MatMulIntegerToFloat", inputs, output, OURS)

    def tensor(self, name: str) -> str:
        if name not in self._initialisers:
            array = self._tensors[name]
            if self._places is None:
                return self.constant(name, np.ascontiguousarray(array))
            self._initialisers[name] = self._outside(name, array, self._places[name])
        return name

    def constant(self, name: str, array: "NDArray[Any]") -> str:
        self._initialisers[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def _outside(self, name: str, array: "NDArray[Any]", place: Stretch) -> Any:
        tensor = self._onnx.TensorProto(name=name, dims=array.shape)
        tensor.data_type = self._onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor.data_location = self._onnx.TensorProto.EXTERNAL
        for key, value in (("location", WEIGHTS), ("offset", place.offset), ("length", place.length)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor

    def serialise(self, output: str, shape: Sequence[str | int], taps: Sequence[str]) -> bytes:
        helper, proto = self._onnx.helper, self._onnx.TensorProto
        ids = [helper.make_tensor_value_info(name, proto.INT64, [1, "tokens"]) for name in INPUTS]
        outs = [helper.make_tensor_value_info(output, proto.FLOAT, [1, *shape])]
        outs += [helper.make_tensor_value_info(name, proto.FLOAT, None) for name in taps]
        graph = helper.make_graph(self._nodes, "reader", ids, outs, list(self._initialisers.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(OURS, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="quoth")
        return bytes(model.SerializeToString())
