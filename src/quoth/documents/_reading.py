"""Bytes from regular files, and nothing else: no links, no pipes, no half-written files."""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from quoth.documents._names import display
from quoth.errors import DocumentError

_CHUNK = 1 << 20


def digest(path: Path) -> tuple[str, int, int]:
    """Return the SHA-256 (hex), the size in bytes and the modification time (ns) of a regular file.

    Raise ``DocumentError``: ``unreadable`` where it cannot be opened or is no regular file.
    """
    with open_regular(path) as file:
        status = os.fstat(file.fileno())
        return _hash(file, path), status.st_size, status.st_mtime_ns


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading, without following a link and without waiting for a pipe."""
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as problem:
        raise _unreadable(path, problem) from problem
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DocumentError(f"{display(path)} is not a regular file.", hint="Only files are read.")
    return os.fdopen(descriptor, "rb")


def read_stable(
    path: Path, *, limit: int, between: Callable[[], None] | None = None
) -> tuple[bytes, str, int]:
    """Return a file's bytes, their SHA-256 and its modification time (ns), unchanged while they were read.

    The bytes are hashed, and the file is hashed again behind them; where the two differ, one more
    try is made. *between* is called between the two (for tests). Raise ``DocumentError``:
    ``too_large`` over *limit* bytes, ``changed_during_read``, ``unreadable``.
    """
    for _ in range(2):
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size > limit:
                raise _too_large(path, status.st_size, limit)
            try:
                data = file.read(limit + 1)
            except OSError as problem:
                raise _unreadable(path, problem) from problem
        if len(data) > limit:
            raise _too_large(path, len(data), limit)
        before = hashlib.sha256(data).hexdigest()
        if between is not None:
            between()
        if digest(path)[0] == before:
            return data, before, status.st_mtime_ns
    raise DocumentError(
        f"{display(path)} changed while it was read, twice.",
        hint="Index it again when nothing writes to it.",
        code="changed_during_read",
    )


def _hash(file: BinaryIO, path: Path) -> str:
    state = hashlib.sha256()
    try:
        while chunk := file.read(_CHUNK):
            state.update(chunk)
    except OSError as problem:
        raise _unreadable(path, problem) from problem
    return state.hexdigest()


def _too_large(path: Path, size: int, limit: int) -> DocumentError:
    return DocumentError(
        f"{display(path)} has {size:,} bytes; files over {limit:,} bytes are not read.",
        hint="The setting `max_file_mb` raises the limit.",
        code="too_large",
    )


def _unreadable(path: Path, problem: OSError | ValueError) -> DocumentError:
    reason = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
    link = os.path.islink(path)
    why = "it is a symbolic link" if link else reason
    hint = "Name the file that it points to, or use --follow." if link else "Check its permissions."
    return DocumentError(f"{display(path)} cannot be read: {why}.", hint=hint, code="unreadable")
