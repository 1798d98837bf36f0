"""Turns the matrices of an encoder into int8, in a way that costs next to no accuracy.

* One scale a column (output channel), 7 bits of range: CPUs without VNNI add pairs of products in
  16 bits, which 8-bit weights overflow.
* Activations are quantised when they are computed, one scale a window. A few channels are ten times
  larger than the rest and would take the range: they are divided by a vector, and the matrix's rows
  multiplied by it (SmoothQuant, Xiao et al. 2023, eq. 3). The vector is chosen by trying a few, the one with
  the least squared error on sample windows stays; where none gains a tenth, none is used. Behind the attention
  it costs nothing, the value matrix takes it up.
* Rounding errors of a matrix's rows are made up for in its other rows (GPTQ).
* Word and position embeddings get one scale a row. The span head, norms, biases and segments stay as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.models.card import Architecture
from quoth.protocols import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Tensors = dict[str, NDArray[Any]]
    Taps = Callable[[Window], Mapping[str, Floats]]

LIMIT = 64  # of 127: reduced range
_POWERS = (0.3, 0.45, 0.6, 0.75)
_QUANTILES = (0.6, 0.75, 0.9, 0.98)
_WORTH = 0.9
_DAMPING, _BLOCK = 0.01, 64
_SITES = ("context", "attended", "inner")
_READS = {
    "query": "input",
    "key": "input",
    "value": "input",
    "output": "context",
    "up": "attended",
    "down": "inner",
}
_ROWS = 3  # every third token is enough to choose a vector


def tap_names(architecture: Architecture) -> list[str]:
    """Return the inner values that ``quantize`` needs from its sample windows."""
    layers = range(architecture.layers)
    return ["embedded", *(f"layer.{i}.{part}" for i in layers for part in (*_SITES, "hidden"))]


def quantize(
    architecture: Architecture, tensors: "Mapping[str, NDArray[Any]]", windows: Sequence[Window], run: "Taps"
) -> "Tensors":
    """Return int8 tensors for fp32 ones. *run* gives the values of ``tap_names`` for a window, (n, width) each."""
    made: Tensors = {name: np.asarray(tensor) for name, tensor in tensors.items()}
    seen = [run(window) for window in windows]
    for layer in range(architecture.layers):
        name = f"layer.{layer}"
        before = f"layer.{layer - 1}.hidden" if layer else "embedded"
        values = {
            site: [row[source] for row in seen]
            for site, source in (("input", before), *((part, f"{name}.{part}") for part in _SITES))
        }
        vector = best_vector(values["context"], made[f"{name}.output.weight"])
        if vector is not None:
            _fold(made, name, vector, architecture.hidden)
            values["context"] = [rows / vector for rows in values["context"]]
        for part, site in (("up", "attended"), ("down", "inner")):
            vector = best_vector(values[site], made[f"{name}.{part}.weight"])
            if vector is not None:
                made[f"{name}.{part}.weight"] = made[f"{name}.{part}.weight"] * vector[:, None]
                made[f"{name}.{part}.smooth"] = (1 / vector).astype(np.float32)
                values[site] = [rows / vector for rows in values[site]]
        for part, site in _READS.items():
            weight = made[f"{name}.{part}.weight"]
            made[f"{name}.{part}.weight"], made[f"{name}.{part}.scale"] = fit_int8(weight, values[site])
    for table in ("embeddings.word", "embeddings.position"):
        rows, scale = to_int8(made[table].T, limit=127)
        made[table], made[f"{table}.scale"] = np.ascontiguousarray(rows.T), scale[:, None]
    return made


def dequantize(tensors: "Mapping[str, NDArray[Any]]") -> "Tensors":
    """Return fp32 tensors that compute, in exact arithmetic, what the int8 ones do."""
    made: Tensors = {}
    for name, tensor in tensors.items():
        if name.endswith((".scale", ".smooth")):
            continue
        stem = name.removesuffix(".weight")
        if tensor.dtype == np.int8:
            tensor = tensor.astype(np.float32) * tensors[f"{stem}.scale"]
            if f"{stem}.smooth" in tensors:
                tensor = tensor * tensors[f"{stem}.smooth"][:, None]
        made[name] = np.asarray(tensor, np.float32)
    return made


def to_int8(matrix: "NDArray[Any]", *, limit: int = LIMIT) -> "tuple[NDArray[np.int8], Floats]":
    """Return a matrix as int8 within +-*limit*, and one scale a column."""
    scale = (np.abs(matrix).max(axis=0) / limit).astype(np.float32)
    scale[scale == 0] = 1
    return np.clip(np.rint(matrix / scale), -limit, limit).astype(np.int8), scale


def fit_int8(matrix: "Floats", samples: "Sequence[Floats]") -> "tuple[NDArray[np.int8], Floats]":
    """Return a matrix as int8, rounded so that what it makes of the samples changes least, and a scale a column.

    Row by row, each row's rounding error is made up for in the rows still to come (GPTQ, Frantar et al. 2023,
    eq. 2 and 3, with the Cholesky form of its section 3.3).
    """
    _, scale = to_int8(matrix)
    inputs = np.concatenate(samples).astype(np.float64)
    second = inputs.T @ inputs
    second[np.diag_indices_from(second)] += _DAMPING * max(float(np.diag(second).mean()), 1e-12)
    factor = np.linalg.cholesky(np.linalg.inv(second)).T
    left = matrix.astype(np.float64)
    whole = np.empty(matrix.shape, np.int8)
    for start in range(0, len(left), _BLOCK):
        stop = min(start + _BLOCK, len(left))
        errors = np.empty((stop - start, left.shape[1]))
        for i in range(start, stop):
            whole[i] = np.clip(np.rint(left[i] / scale), -LIMIT, LIMIT)
            errors[i - start] = (left[i] - whole[i] * scale) / factor[i, i]
            left[i + 1 : stop] -= np.outer(factor[i, i + 1 : stop], errors[i - start])
        left[stop:] -= factor[start:stop, stop:].T @ errors
    return whole, scale


def best_vector(samples: "Sequence[Floats]", matrix: "Floats") -> "Floats | None":
    """Return the vector to divide activations by that leaves the least squared error, or None."""
    thinned = [sample[::_ROWS] for sample in samples]
    exact = [sample @ matrix for sample in thinned]
    peaks = np.max([np.abs(sample).max(axis=0) for sample in samples], axis=0)
    plain = _error(thinned, matrix, exact, np.ones_like(peaks))
    tried = [
        (_error(thinned, matrix, exact, vector), i, vector)
        for i, vector in enumerate(_vectors(peaks, matrix))
    ]
    error, _, vector = min(tried)
    return vector if error < _WORTH**2 * plain else None


def _vectors(peaks: "Floats", matrix: "Floats") -> "list[Floats]":
    """Return the vectors to try: all channels evened out to a degree, or only the largest cut down."""
    rows = np.abs(matrix).max(axis=1) + 1e-9
    evened = [(peaks**p) / rows ** (1 - p) for p in _POWERS]
    evened = [vector / max(float(np.median(vector)), 1e-9) for vector in evened]
    cut = [np.maximum(peaks / max(float(np.quantile(peaks, q)), 1e-9), 1) for q in _QUANTILES]
    return [np.clip(vector, 0.05, 50).astype(np.float32) for vector in (*evened, *cut)]


def _error(
    samples: "Sequence[Floats]", matrix: "Floats", exact: "Sequence[Floats]", vector: "Floats"
) -> float:
    whole, scale = to_int8(matrix * vector[:, None])
    rounded = whole.astype(np.float32) * scale
    return float(
        sum(((_rounded(s / vector) @ rounded - e) ** 2).sum() for s, e in zip(samples, exact, strict=True))
    )


def _rounded(values: "Floats") -> "Floats":
    """Return what DynamicQuantizeLinear leaves of the values (ONNX operator set 11)."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    scale = (high - low) / 255 or 1.0
    zero = np.rint(-low / scale)
    whole: Floats = np.clip(np.rint(values / scale) + zero, 0, 255).astype(np.float32)
    return np.asarray((whole - zero) * scale, np.float32)


def _fold(tensors: "Tensors", name: str, vector: "Floats", hidden: int) -> None:
    """Divide the attention's values by *vector*, and let the matrix behind it make up for that."""
    tensors[f"{name}.value.weight"] = tensors[f"{name}.value.weight"] / vector
    bias = tensors[f"{name}.attention.bias"].copy()
    bias[2 * hidden :] /= vector
    tensors[f"{name}.attention.bias"] = bias
    tensors[f"{name}.output.weight"] = tensors[f"{name}.output.weight"] * vector[:, None]
