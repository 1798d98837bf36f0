"""The catalog: an SQLite file that is the truth of an index. Everything else can be made from it.

Files and documents carry the batch that brought them (``born``) and the one that took them away
(``died``). What a reader sees is decided by the last batch in *its* view of the search engine, so
that old and new are never mixed. A batch that is being written is named in ``meta.pending``;
``meta.batch`` is the last that was finished.
"""

import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from quoth.errors import BusyError, IndexUnusableError, InputError, QuothError

Connection = sqlite3.Connection
CATALOG_FILE = "catalog.sqlite"
FORMAT = 1
"""The number of this layout, kept as SQLite's ``user_version``."""

APPLICATION = 0x71756F74
CHUNK = 4096
"""Code points of text to a row, so that a passage of a long document is read without the rest of it."""

CHUNKS = 1 << 24
BUSY_MS = 10_000
LOG_BYTES = 64_000_000

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    number INTEGER PRIMARY KEY, path, sha256 TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    state TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, born INTEGER NOT NULL, died INTEGER);
CREATE UNIQUE INDEX files_path ON files (path, born);
CREATE TABLE documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, id TEXT NOT NULL, title, source,
    sha256 TEXT NOT NULL, characters INTEGER NOT NULL, passages INTEGER NOT NULL, metadata TEXT NOT NULL,
    segments BLOB NOT NULL, paragraphs BLOB NOT NULL, notes TEXT NOT NULL, born INTEGER NOT NULL, died INTEGER);
CREATE UNIQUE INDEX documents_id ON documents (id, born);
CREATE INDEX documents_file ON documents (file);
CREATE INDEX documents_died ON documents (died) WHERE died IS NOT NULL;
CREATE INDEX files_died ON files (died) WHERE died IS NOT NULL;
CREATE TABLE texts (key INTEGER PRIMARY KEY, text TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE passages (
    number INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL);
CREATE INDEX passages_document ON passages (document);
"""


class Catalog:
    """Connections to ``catalog.sqlite``: one for the writer, a pool for readers of any thread."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.path = folder / CATALOG_FILE
        self._write = write
        self._immutable = not write and not _can_write(folder) and not _has_log(self.path)
        self._idle: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._process = os.getpid()
        self._closed = False
        with self.errors():
            self.writer = self._connect()
            try:
                self._check_format()
            except BaseException:
                self.writer.close()
                raise

    def _connect(self) -> sqlite3.Connection:
        mode = "rw" if self._write else "ro"
        uri = f"{self.path.absolute().as_uri()}?mode={mode}" + ("&immutable=1" if self._immutable else "")
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_MS / 1000
        )
        if self._write:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        connection.execute("PRAGMA cache_size = -8192")
        return connection

    def _check_format(self) -> None:
        application = self.writer.execute("PRAGMA application_id").fetchone()[0]
        number = self.writer.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION or number < 1:
            raise IndexUnusableError(
                f"{self.path} is not a catalog of quoth.",
                hint="Move it aside and run `quoth index` again.",
                code="not_an_index",
            )
        if number > FORMAT:
            raise IndexUnusableError(
                f"{self.path} was written by a newer version (format {number}; this one reads {FORMAT}).",
                hint="Upgrade quoth, or index the folder anew elsewhere with --index.",
                code="newer_format",
            )

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except QuothError:
            raise
        except sqlite3.Error as problem:
            raise translated(problem, self.path) from problem

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection inside a read transaction: one unchanging view of the catalog."""
        connection = self.take()
        try:
            with self.errors():
                yield connection
        finally:
            self.give(connection)

    def take(self) -> sqlite3.Connection:
        """Return a connection with a read transaction begun; ``give`` it back."""
        with self._guard:
            if self._closed:
                raise InputError("The index is closed.", code="closed")
            if os.getpid() != self._process:  # SQLite's connections must not be used after a fork
                self._idle, self._process = [], os.getpid()
            if self._immutable and _has_log(self.path):  # its owner began to write
                self._idle, self._immutable = [], False
            connection = self._idle.pop() if self._idle else None
        with self.errors():
            connection = connection or self._connect()
            connection.execute("BEGIN")
        return connection

    def give(self, connection: sqlite3.Connection) -> None:
        """End the read transaction of a connection that was taken."""
        try:
            connection.rollback()
        except sqlite3.Error:
            connection.close()
            return
        with self._guard:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the writer's connection inside a transaction: committed and durable, or undone."""
        with self.errors():
            self.writer.execute("BEGIN IMMEDIATE")
            try:
                yield self.writer
                self.writer.execute("COMMIT")
            except BaseException:
                if self.writer.in_transaction:
                    self.writer.execute("ROLLBACK")
                raise

    def shrink(self) -> None:
        """Give back the room of what was removed, where that is much and nothing stands in the way."""
        with self.errors():
            free = self.writer.execute("PRAGMA freelist_count").fetchone()[0]
            pages = self.writer.execute("PRAGMA page_count").fetchone()[0]
            room = shutil.disk_usage(self.path.parent).free - 3 * self.path.stat().st_size
            if free > pages // 4 and room > 0:
                self.writer.execute("VACUUM")

    def close(self) -> None:
        """Close every connection."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in [*idle, self.writer]:
            connection.close()


def create(folder: Path, facts: Mapping[str, object]) -> None:
    """Make an empty catalog in *folder*, durable when this returns; *facts* are its first ``meta`` rows."""
    path, fresh = folder / CATALOG_FILE, folder / f"{CATALOG_FILE}.new"
    try:
        fresh.unlink(missing_ok=True)
        connection = sqlite3.connect(fresh, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            now = datetime.now(UTC).isoformat(timespec="seconds")
            set_meta(connection, batch=0, created=now, **facts)
            connection.execute("COMMIT")
        finally:
            connection.close()
        fresh.replace(path)
        sync_folder(folder)
    except sqlite3.Error as problem:
        raise translated(problem, path) from problem


def sync_folder(folder: Path) -> None:
    """Make the names in *folder* durable, where the system can."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the index's own facts."""
    return dict(connection.execute("SELECT name, value FROM meta"))


def set_meta(connection: sqlite3.Connection, **values: object) -> None:
    """Set facts; None removes one."""
    for name, value in values.items():
        if value is None:
            connection.execute("DELETE FROM meta WHERE name = ?", (name,))
        else:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, str(value)))


def translated(problem: sqlite3.Error, path: Path) -> QuothError:
    """Return our error for one of SQLite's."""
    name = getattr(problem, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_BUSY") or name.startswith("SQLITE_LOCKED"):
        return BusyError(
            "Another process is writing this index's catalog.", hint="Try again when it is done."
        )
    if name.startswith("SQLITE_FULL") or name.startswith("SQLITE_IOERR"):
        return disk_full(path.parent, problem)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return IndexUnusableError(
            f"{path} cannot be opened ({problem}).",
            hint=f"Check its permissions (`chmod u+rw {path}`) and its folder's.",
            code="permission",
        )
    return IndexUnusableError(
        f"{path} is damaged ({problem}).",
        hint="Move the index folder aside and run `quoth index` on the documents again.",
        code="catalog_damaged",
    )


def disk_full(folder: Path, problem: object, *, needed: int = 0) -> IndexUnusableError:
    """Return the error for a disk without room, with the bytes that are free and needed."""
    free = shutil.disk_usage(folder).free
    wanted = f", about {needed:,} are needed" if needed else ""
    return IndexUnusableError(
        f"{folder} cannot be written ({problem}): {free:,} bytes are free{wanted}.",
        hint="Make room and run the command again; what was acknowledged is kept.",
        code="disk_full",
    )


def _can_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK)


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0
