"""One writer at a time: a lock that the system releases when its holder dies, and that names the holder."""

import json
import os
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path

from quoth.errors import BusyError, IndexUnusableError

LOCK_FILE = "lock"


class WriteLock:
    """An exclusive lock on an index folder, held until ``release`` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_FILE
        self._descriptor = -1

    def acquire(self) -> None:
        """Take the lock. Raise ``BusyError``, naming pid, host and time, where another holds it."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as problem:
            raise IndexUnusableError(
                f"{self._path} cannot be written: {problem.strerror}.",
                hint="Give yourself write permission on the index folder, or search it only.",
                code="read_only",
            ) from problem
        try:
            _lock(descriptor, exclusive=True)
        except OSError as problem:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise BusyError(
                f"Another process is writing this index: {holder}.", hint="Try again when it is done."
            ) from problem
        note = {"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0) if hasattr(os, "pwrite") else os.write(
            descriptor, json.dumps(note).encode()
        )
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back; the file stays, empty."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


class ReadMark:
    """A shared lock on a file of its own, that keeps a generation from being removed while it is read."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        try:
            _lock(self._descriptor, exclusive=False)
        except OSError:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        """Let go."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_marked(path: Path) -> bool:
    """Return whether any reader holds a ``ReadMark`` on *path*."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        _lock(descriptor, exclusive=True)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lock(descriptor: int, *, exclusive: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        if exclusive:  # a byte far behind the note, so that others can read who holds it
            os.lseek(descriptor, 1 << 20, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)


def _holder(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        note = json.loads(os.read(descriptor, 4096))
        return f"process {note['pid']} on {note['host']}, since {note['since']}"
    except (ValueError, KeyError, TypeError, OSError):
        return "it has not said who it is"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
