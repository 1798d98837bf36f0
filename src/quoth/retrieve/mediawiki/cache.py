"""Replies of wikis on disk: one SQLite file, bounded in size, that may be deleted at any time."""

import contextlib
import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)

LIMIT = 200_000_000
"""Bytes (compressed) that are kept; what was used longest ago goes first."""

_TABLE = """CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, body BLOB NOT NULL, size INTEGER NOT NULL, made REAL NOT NULL, used REAL NOT NULL
)"""


def default_path() -> Path:
    """Return where the cache is: under ``XDG_CACHE_HOME``, else ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "quoth" / "mediawiki.sqlite"


class Cache:
    """Keeps replies by a key. Safe to share between threads and processes.

    A cache that cannot be read or written is passed over: it is a help, not a need. A file
    that is damaged is removed.
    """

    def __init__(self, path: Path, *, limit: int = LIMIT) -> None:
        self.path = path
        self._limit = limit

    def get(self, key: str, *, max_age: float | None = None) -> bytes | None:
        """Return what was kept under *key*, at most *max_age* seconds ago (None: at any time)."""
        with self._open() as connection:
            if connection is None:
                return None
            row = connection.execute("SELECT body, made FROM replies WHERE key = ?", (key,)).fetchone()
            if row is None or (max_age is not None and not 0 <= time.time() - row[1] <= max_age):
                return None
            connection.execute("UPDATE replies SET used = ? WHERE key = ?", (time.time(), key))
            return zlib.decompress(row[0])
        return None

    def put(self, key: str, body: bytes) -> None:
        """Keep *body* under *key*, and let go of what is over the limit."""
        packed, now = zlib.compress(body, 6), time.time()
        if len(packed) > self._limit // 4:
            return
        with self._open() as connection:
            if connection is None:
                return
            connection.execute(
                "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", (key, packed, len(packed), now, now)
            )
            self._shrink(connection)

    def _shrink(self, connection: sqlite3.Connection) -> None:
        total = connection.execute("SELECT COALESCE(SUM(size), 0) FROM replies").fetchone()[0]
        for key, size in connection.execute("SELECT key, size FROM replies ORDER BY used, key").fetchall():
            if total <= self._limit:
                return
            connection.execute("DELETE FROM replies WHERE key = ?", (key,))
            total -= size

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        """Yield a connection whose changes are committed at the end; None where there can be none."""
        connection = self._connect()
        if connection is None:
            yield None
            return
        try:
            with connection:
                yield connection
        except (sqlite3.DatabaseError, zlib.error) as problem:
            log.info("the cache %s is of no use now (%s)", self.path, problem)
            if not isinstance(problem, sqlite3.OperationalError):
                self._discard()
        finally:
            connection.close()

    def _connect(self) -> sqlite3.Connection | None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            connection = sqlite3.connect(self.path, timeout=2.0)
        except (OSError, sqlite3.Error) as problem:
            log.info("there is no cache at %s (%s)", self.path, problem)
            return None
        try:
            with connection:
                connection.execute(_TABLE)
        except sqlite3.DatabaseError as problem:
            log.info("the cache %s is of no use now (%s)", self.path, problem)
            connection.close()
            if not isinstance(problem, sqlite3.OperationalError):
                self._discard()
            return None
        return connection

    def _discard(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink()
