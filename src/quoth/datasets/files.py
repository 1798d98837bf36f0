"""Opening data files: gzip is transparent, the split comes from the name, failures are ours."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, cast

from quoth.datasets.records import Split
from quoth.errors import DocumentError, InputError

PathOrStr = str | PathLike[str]

_SPLITS: dict[str, Split] = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "devel": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
}
_SPLIT = re.compile(rf"(?<![a-z])({'|'.join(sorted(_SPLITS, key=len, reverse=True))})(?![a-z])")
_GZIP = b"\x1f\x8b"


def split_of(path: PathOrStr) -> Split:
    """Return the split that a file's name states first (``train``, ``dev``, ``test``), or ``unknown``."""
    found = _SPLIT.search(Path(path).name.lower())
    return _SPLITS[found.group(1)] if found else "unknown"


def stem_of(path: PathOrStr) -> str:
    """Return a file's name without ``.gz`` and its ending: the name of a data set read from it."""
    name = Path(path).name.removesuffix(".gz")
    return Path(name).stem or name


@contextmanager
def _mapped(path: PathOrStr) -> Iterator[None]:
    """Turn what a file can do wrong into our errors."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: there is no such file.", hint="Check the path.", code="missing_file"
        ) from error
    except IsADirectoryError as error:
        raise InputError(
            f"{path} is a folder; a data file is needed.", hint="Name one file in it."
        ) from error
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path}: byte {error.start} is not UTF-8, which this format is in.",
            hint="Convert the file to UTF-8.",
            code="encoding",
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DocumentError(
            f"{path}: the gzip stream is damaged or cut off ({error}).",
            hint="Fetch the file again.",
            code="corrupt",
        ) from error
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or error}).", hint="Check the file."
        ) from error


@contextmanager
def open_bytes(path: PathOrStr) -> Iterator[IO[bytes]]:
    """Open a file for reading, unpacking gzip by its first bytes. Raises ``InputError``."""
    with _mapped(path), open(path, "rb") as raw:
        magic = raw.read(2)
        raw.seek(0)
        if magic == _GZIP:
            with gzip.open(raw, "rb") as unpacked:
                yield cast(IO[bytes], unpacked)
        else:
            yield raw


def read_bytes(path: PathOrStr) -> bytes:
    """Return a whole file, unpacked. Raises ``InputError``."""
    with open_bytes(path) as file:
        return file.read()


def read_text(path: PathOrStr, *, encoding: str = "utf-8-sig") -> str:
    """Return a whole file as text, line ends as they are. Raises ``InputError``, ``DocumentError``."""
    with _mapped(path):
        return read_bytes(path).decode(encoding)


def lines_of(path: PathOrStr) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end), one at a time: ``\\n`` and ``\\r\\n`` only.

    Other line breaks (U+2028, form feeds) are part of a text, not the end of a row.
    Raises ``InputError``, ``DocumentError``.
    """
    with open_bytes(path) as file, _mapped(path):
        for number, raw in enumerate(file, 1):
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            yield number, line.rstrip("\n").rstrip("\r")


def head_of(path: PathOrStr, *, size: int = 65_536) -> str:
    """Return the first *size* bytes as text, for sniffing; what is not UTF-8 is replaced."""
    with open_bytes(path) as file:
        return file.read(size).decode("utf-8-sig", errors="replace")


def read_json(path: PathOrStr) -> object:
    """Return a JSON file's value. Raises ``InputError``, ``DocumentError``."""
    raw = read_bytes(path)
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DocumentError(
            f"{path}: is not JSON ({error}).", hint="Fetch the file again.", code="corrupt"
        ) from error
    return value


def fields(value: object) -> dict[str, object]:
    """Return *value* where it is a JSON object, else an empty one."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return *value* where it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """Return *value* where it is text or a number (as text), else ''."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
