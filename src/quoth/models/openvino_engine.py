"""OpenVINO (the extra ``openvino``): the same int8 weights, turned back into float when they are loaded.

Computes in bfloat16 where the CPU has AMX, else in fp32. Windows are padded to few shapes and batched,
because each new shape is prepared once; a mask keeps padding out of the attention.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import ModelError
from quoth.models.batches import Batch, pad, plan
from quoth.models.card import WEIGHTS, Architecture, Card
from quoth.models.quantize import dequantize
from quoth.models.tensors import read_tensors
from quoth.protocols import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Tensors = Mapping[str, NDArray[Any]]

BUDGET, MULTIPLE = 1536, 32
_MASKED = -1e9


class OpenVinoEngine:
    """Runs a bundle's weights in OpenVINO. Safe to share between threads, and after a fork."""

    name = "openvino"

    def __init__(self, folder: Path, card: Card, *, threads: int) -> None:
        self._folder, self._card, self._threads = folder, card, threads
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._left: list[object] = []
        self._request = self._open()

    def _open(self) -> Any:
        tensors = dequantize(read_tensors(self._folder / WEIGHTS))
        return compile_network(network(self._card.architecture, tensors), threads=self._threads)

    def run(self, windows: Sequence[Window]) -> "list[Floats]":
        """Return logits of shape (n, 2) for each window, in the order given.

        In fp32 they depend on the batch by at most 1e-4.
        """
        rows: dict[int, Floats] = {}
        lengths = [len(window.ids) for window in windows]
        with self._lock:
            if self._process != os.getpid():
                self._left.append(self._request)  # to end it is to wait for threads that a fork leaves behind
                self._request, self._process = self._open(), os.getpid()
            for batch in plan(lengths, budget=BUDGET, multiple=MULTIPLE, longest=self._card.max_length):
                values = self._infer(windows, batch)
                rows |= {
                    member: values[row, : lengths[member]].copy() for row, member in enumerate(batch.members)
                }
        return [rows[i] for i in range(len(windows))]

    def _infer(self, windows: Sequence[Window], batch: Batch) -> "Floats":
        padded = pad(windows, batch, pad_id=self._card.pad)
        mask = np.where(padded.mask, np.float32(0), np.float32(_MASKED))[:, None, None, :]
        try:
            result = self._request.infer(
                [padded.ids, padded.types, mask.astype(np.float32)], share_inputs=True
            )
        except RuntimeError as problem:
            raise ModelError(f"OpenVINO failed: {problem}", hint="Take --engine onnxruntime.") from problem
        return np.asarray(next(iter(result.values())), np.float32)


def compile_network(model: Any, *, threads: int) -> Any:
    """Return an inference request for the network, for the least time of one request."""
    import openvino

    core = openvino.Core()
    options: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    if threads:
        options["INFERENCE_NUM_THREADS"] = threads
    if has_amx():
        options["INFERENCE_PRECISION_HINT"] = "bf16"
    try:
        return core.compile_model(model, "CPU", options).create_infer_request()
    except RuntimeError as problem:
        raise ModelError(
            f"OpenVINO cannot compile the reader: {problem}", hint="Take --engine onnxruntime."
        ) from problem


def has_amx() -> bool:
    """Tell whether the processor multiplies bfloat16 matrices in hardware; elsewhere bfloat16 is no faster."""
    try:
        return "amx_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def network(architecture: Architecture, tensors: "Tensors") -> Any:
    """Return the network as an OpenVINO model.

    In: ids and types (b, n), an additive mask (b, 1, 1, n). Out: logits (b, n, 2).
    """
    import openvino
    from openvino import opset13 as op

    ids, types = (op.parameter([-1, -1], np.int64, name=name) for name in ("ids", "types"))
    mask = op.parameter([-1, 1, 1, -1], np.float32, name="mask")
    builder = _Builder(op, tensors, architecture)
    x = builder.embed(ids, types)
    for layer in range(architecture.layers):
        x = builder.layer(x, mask, f"layer.{layer}")
    logits = op.add(builder.matmul(x, "span"), builder.constant("span.bias"))
    return openvino.Model([logits], [ids, types, mask], "reader")


class _Builder:
    """The encoder in OpenVINO's operators."""

    def __init__(self, op: Any, tensors: "Tensors", architecture: Architecture) -> None:
        self._op, self._tensors, self._sizes = op, tensors, architecture

    def constant(self, name: str) -> Any:
        return self._op.constant(np.ascontiguousarray(self._tensors[name], np.float32))

    def matmul(self, x: Any, name: str) -> Any:
        return self._op.matmul(x, self.constant(f"{name}.weight"), False, False)

    def linear(self, x: Any, name: str) -> Any:
        return self._op.add(self.matmul(x, name), self.constant(f"{name}.bias"))

    def norm(self, x: Any, name: str) -> Any:
        op = self._op
        scaled = op.mvn(x, op.constant(np.array([-1], np.int64)), True, self._sizes.epsilon, "inside_sqrt")
        return op.add(op.multiply(scaled, self.constant(f"{name}.weight")), self.constant(f"{name}.bias"))

    def embed(self, ids: Any, types: Any) -> Any:
        op = self._op
        axis = op.constant(np.int64(0))
        length = op.gather(op.shape_of(ids), op.constant(np.array([1], np.int64)), axis)
        first, step = (op.constant(np.array([n], np.int64)) for n in (0, 1))
        position = op.slice(self.constant("embeddings.position"), first, length, step, first)
        words = op.gather(self.constant("embeddings.word"), ids, axis)
        segments = op.gather(self.constant("embeddings.type"), types, axis)
        return self.norm(op.add(op.add(words, segments), position), "embeddings.norm")

    def layer(self, x: Any, mask: Any, name: str) -> Any:
        op, sizes = self._op, self._sizes
        biases = np.split(self._tensors[f"{name}.attention.bias"], 3)
        shape = op.constant(np.array([0, 0, sizes.heads, sizes.hidden // sizes.heads], np.int64))
        order = op.constant(np.array([0, 2, 1, 3], np.int64))
        parts = []
        for part, bias in zip(("query", "key", "value"), biases, strict=True):
            value = op.add(
                self.matmul(x, f"{name}.{part}"), op.constant(np.ascontiguousarray(bias, np.float32))
            )
            parts.append(op.transpose(op.reshape(value, shape, True), order))
        context = op.scaled_dot_product_attention(*parts, mask)
        flat = op.constant(np.array([0, 0, sizes.hidden], np.int64))
        joined = op.reshape(op.transpose(context, order), flat, True)
        x = self.norm(op.add(self.linear(joined, f"{name}.output"), x), f"{name}.attention.norm")
        inner = op.gelu(self.linear(x, f"{name}.up"), "erf")
        return self.norm(op.add(self.linear(inner, f"{name}.down"), x), f"{name}.norm")
