"""Reads and writes safetensors files with numpy alone: the base install has no other use for the package.

The format (huggingface/safetensors, README): eight bytes with the header's length, a JSON header
``{name: {dtype, shape, data_offsets}}``, then the data, without gaps.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_DTYPES: Mapping[str, str] = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "|i1", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_NAMES = {np.dtype(d): n for n, d in _DTYPES.items() if n != "BF16"}
_LARGEST_HEADER = 100_000_000


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where a tensor's bytes lie in its file."""

    offset: int
    length: int


def read_tensors(path: Path) -> "dict[str, Array]":
    """Return every tensor of a safetensors file, mapped into memory; bfloat16 comes as float32.

    Raises ``ModelError`` for a file that is missing, truncated or not of this format.
    """
    header, base = _header(path)
    size = path.stat().st_size - base
    data = np.memmap(path, np.uint8, "r", base) if size else np.zeros(0, np.uint8)
    return {name: _tensor(path, name, row, data) for name, row in header.items() if name != "__metadata__"}


def write_tensors(path: Path, tensors: "Mapping[str, Array]") -> dict[str, Stretch]:
    """Write *tensors* and return where each lies in the file."""
    rows: dict[str, object] = {}
    end = 0
    # The widest types come first, so that every tensor is aligned to its own.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    for name, tensor in ordered:
        rows[name] = {
            "dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [end, end + tensor.nbytes],
        }  # fmt: skip
        end += tensor.nbytes
    header = json.dumps(rows, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 64)
    base = 8 + len(header)
    with path.open("wb") as out:
        out.write(len(header).to_bytes(8, "little") + header)
        for _, tensor in ordered:
            out.write(np.ascontiguousarray(tensor).tobytes())
    places = {n: r["data_offsets"] for n, r in rows.items() if isinstance(r, dict)}
    return {n: Stretch(base + start, stop - start) for n, (start, stop) in places.items()}


def _header(path: Path) -> tuple[dict[str, Any], int]:
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            raw = file.read(length) if 0 < length <= _LARGEST_HEADER else b""
        if len(raw) != length or not raw:
            raise ValueError("the header is cut short")
        header = json.loads(raw)
        if not isinstance(header, dict):
            raise ValueError("the header is not an object")
    except OSError as problem:
        raise ModelError(f"{path} cannot be read: {problem.strerror}.", code="model_missing") from problem
    except ValueError as problem:
        raise ModelError(f"{path} is not a safetensors file: {problem}.", code="model_damaged") from problem
    return header, 8 + length


def _tensor(path: Path, name: str, row: Any, data: "Array") -> "Array":
    try:
        kind, shape = _DTYPES[row["dtype"]], tuple(int(n) for n in row["shape"])
        start, stop = (int(n) for n in row["data_offsets"])
        if not 0 <= start <= stop <= len(data) or stop - start != math.prod(shape) * np.dtype(kind).itemsize:
            raise ValueError("its data lie outside the file")
    except (KeyError, TypeError, ValueError) as problem:
        raise ModelError(
            f"{path}: tensor {name!r} cannot be read: {problem}.", code="model_damaged"
        ) from problem
    raw = data[start:stop].view(kind).reshape(shape)
    if row["dtype"] == "BF16":
        return (raw.astype(np.uint32) << 16).view(np.float32)
    return raw
