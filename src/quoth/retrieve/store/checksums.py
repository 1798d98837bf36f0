"""The sums that the engine writes at the end of each of its files and does not check by itself.

A file ends with ``{"version":…,"crc":N}``, the length of that JSON and a magic number, both four
bytes, little-endian; N is the CRC-32 of all before (tantivy, ``directory/footer.rs``).
"""

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

META_FILE = "meta.json"
MAGIC = 1337
BLOCK = 1 << 20


def shapes(folder: Path) -> list[str]:
    """Return what is wrong at a glance: files missing, cut short or without their ending."""
    return _problems(folder, sums=False)


def sums(folder: Path) -> list[str]:
    """Return what is wrong when every byte is read."""
    return _problems(folder, sums=True)


def stamp(folder: Path) -> int:
    """Return the operation stamp of the last commit, 0 where that cannot be read."""
    try:
        return int(json.loads((folder / META_FILE).read_bytes())["opstamp"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _problems(folder: Path, *, sums: bool) -> list[str]:
    try:
        meta = json.loads((folder / META_FILE).read_bytes())
        names = [name for segment in meta["segments"] for name in _names(segment)]
    except PermissionError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as problem:
        return [f"meta.json cannot be read ({type(problem).__name__})"]
    found = []
    for name in names:
        path = folder / name
        wrong = _problem(path, sums=sums) if path.exists() else "is missing"
        if wrong:
            found.append(f"{name} {wrong}")
    return found


def _names(segment: Mapping[str, Any]) -> list[str]:
    """Return the files of a segment that a search reads."""
    stem = str(segment["segment_id"]).replace("-", "")
    names = [f"{stem}.{ending}" for ending in ("fast", "fieldnorm", "idx", "pos", "store", "term")]
    deletes = segment.get("deletes")
    return [*names, f"{stem}.{deletes['opstamp']}.del"] if deletes else names


def _problem(path: Path, *, sums: bool) -> str:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if size < 8:
                return "is cut short"
            file.seek(size - 8)
            length, magic = struct.unpack("<II", file.read(8))
            if magic != MAGIC or length > size - 8:
                return "is cut short or overwritten"
            file.seek(size - 8 - length)
            try:
                expected = int(json.loads(file.read(length))["crc"])
            except (ValueError, KeyError, TypeError):
                return "has no readable ending"
            return "" if not sums or _sum(path, size - 8 - length) == expected else "does not match its sum"
    except PermissionError:
        return ""
    except OSError as problem:
        return f"cannot be read ({problem.strerror})"


def _sum(path: Path, length: int) -> int:
    crc = 0
    with path.open("rb") as file:
        while length > 0:
            block = file.read(min(BLOCK, length))
            if not block:
                break
            crc = zlib.crc32(block, crc)
            length -= len(block)
    return crc
