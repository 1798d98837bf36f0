"""The search engine under the catalog: the only module that touches tantivy's reader and writer.

Its sharp edges are filed off here: limits are clamped, panics are caught and named, its writer is
never a context manager and is thrown away after any error, permissions are those of the catalog,
leftovers of a killed writer are swept. The engine stores nothing but numbers; text is read from
the catalog.
"""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quoth.errors import BusyError, IndexUnusableError, QuothError
from quoth.retrieve.store import checksums
from quoth.retrieve.store.analysis import Analyzer
from quoth.retrieve.store.catalog import disk_full

ENGINE_FORMAT = 1
"""The number of the engine's schema and of how text is prepared for it; another one is rebuilt."""

HEAP = 64_000_000
MOST_HITS = 20_000
DELETIONS = 5_000
META_FILE = "meta.json"
FULL_SIGNS = (
    "No space left",
    "File too large",
    "quota exceeded",
    "os error 28",
    "os error 27",
    "os error 122",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A passage as the engine takes it."""

    number: int
    document: int
    title: str
    text: str
    facts: Sequence[str]


@dataclass(frozen=True, slots=True)
class View:
    """An unchanging view of the engine, and the last batch in it."""

    searcher: Any
    schema: Any
    state: int

    def search(self, query: Any, limit: int) -> list[tuple[float, int]]:
        """Return (score, passage number) of the best hits, at most *limit* of them."""
        limit = min(max(limit, 1), MOST_HITS)
        with errors(None):
            hits = self.searcher.search(query, limit=limit, count=False).hits
            numbers = self.searcher.fast_field_values("passage", [address for _, address in hits])
        return [
            (score, number) for (score, _), number in zip(hits, numbers, strict=True) if number is not None
        ]

    def values(self, prefix: str) -> list[str]:
        """Return every fact that begins with *prefix*."""
        with errors(None):
            return [term for term, _ in self.searcher.terms_with_prefix("facts", prefix)]

    def count(self) -> int:
        """Return how many passages can be found."""
        from tantivy import Query

        with errors(None):
            return int(self.searcher.search(Query.exists_query("passage"), limit=1, count=True).count)


class Engine:
    """One generation of the search index, in a folder of its own."""

    def __init__(self, folder: Path, analyzer: Analyzer, *, write: bool) -> None:
        self.folder = folder
        self.analyzer = analyzer
        self._write = write
        self._writer: Any = None
        self._guard = threading.Lock()
        self._mirror: tempfile.TemporaryDirectory[str] | None = None
        if not (folder / META_FILE).exists():
            raise damaged(folder, "its meta.json is missing")
        if write:
            sweep(folder)
        problems = checksums.shapes(folder)
        if problems:
            raise damaged(folder, problems[0])
        self._index = self._open()
        self.view = self._look()

    @classmethod
    def create(cls, folder: Path, analyzer: Analyzer) -> "Engine":
        """Make an empty engine in *folder*, which may not exist yet."""
        import tantivy

        if folder.exists():
            shutil.rmtree(folder)
        with errors(folder):
            folder.mkdir(parents=True)
            tantivy.Index(_schema(), str(folder))
        return cls(folder, analyzer, write=True)

    def _open(self) -> Any:
        import tantivy

        with errors(self.folder):
            index = tantivy.Index.open(str(self._place()))
            index.config_reader("manual")
            index.register_tokenizer("words", self.analyzer.engine)
            return index

    def _place(self) -> Path:
        """Return where to open: the folder, or a mirror of links where the engine cannot put its lock files."""
        if self._write or os.access(self.folder, os.W_OK):
            return self.folder
        if self._mirror is not None:
            self._mirror.cleanup()
        self._mirror = tempfile.TemporaryDirectory(prefix="quoth-", ignore_cleanup_errors=True)
        place = Path(self._mirror.name)
        for path in self.folder.iterdir():
            if path.suffix == ".json":
                shutil.copyfile(path, place / path.name)
            elif path.suffix != ".lock":
                (place / path.name).symlink_to(path.absolute())
        return place

    def _look(self) -> View:
        from tantivy import Query

        with errors(self.folder):
            self._index.reload()
            searcher = self._index.searcher()
            last = searcher.search(Query.all_query(), limit=1, order_by_field="batch", count=False).hits
            state = searcher.fast_field_values("batch", [last[0][1]])[0] if last else 0
        return View(searcher, self._index.schema, int(state or 0))

    def refresh(self, *, at_least: int) -> View:
        """Return a view that holds the batch *at_least*, reloading where the present one does not."""
        with self._guard:
            if self.view.state < at_least:
                if self._mirror is not None:
                    self._index = self._open()
                self.view = self._look()
            return self.view

    def write(self, batch: int, *, remove: Sequence[int], add: Iterable[Entry]) -> int:
        """Take documents out and put passages in, in one commit; return its operation stamp.

        Doing it again changes nothing. After any error the writer is gone and nothing of the
        batch is left, unless the commit itself was done: ``view.state`` says so after ``refresh``.
        """
        try:
            with errors(self.folder):
                stamp = self._write_batch(batch, remove, add)
        except BaseException:
            self.discard_writer()
            raise
        same_mode(self.folder)
        return stamp

    def _write_batch(self, batch: int, remove: Sequence[int], add: Iterable[Entry]) -> int:
        # No local name for the writer: a traceback would keep it, and its lock, alive.
        from tantivy import Document, Query

        if self._writer is None:
            self._writer = self._index.writer(heap_size=HEAP, num_threads=1)
        schema, empty = self._index.schema, True
        # By query: its delete_documents_by_term takes an unsigned value and deletes nothing.
        self._writer.delete_documents_by_query(Query.term_query(schema, "batch", batch))
        for at in range(0, len(remove), DELETIONS):
            some = list(remove[at : at + DELETIONS])
            self._writer.delete_documents_by_query(Query.term_set_query(schema, "document", some))
        prepare = self.analyzer.prepare
        for entry in add:
            title = prepare(entry.title)
            fields = {
                "passage": entry.number,
                "document": entry.document,
                "batch": batch,
                "title": [title],
                "text": [title, prepare(entry.text)],
                "facts": list(entry.facts),
            }
            self._writer.add_document(Document.from_dict(fields, schema))
            empty = False
        if empty:
            self._writer.add_document(Document.from_dict({"batch": batch}, schema))
        return int(self._writer.commit())

    def discard_writer(self) -> None:
        """Throw the writer away, with all that it had not committed."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with _quietly():
                writer.rollback()
            del writer
            with _quietly():
                self._index = self._open()

    def stamp(self) -> int:
        """Return the operation stamp of the last commit on disk."""
        return checksums.stamp(self.folder)

    def close(self) -> None:
        """Wait for merges and let go of everything."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with _quietly():
                writer.wait_merging_threads()
            same_mode(self.folder)
        if self._mirror is not None:
            self._mirror.cleanup()
            self._mirror = None


def _schema() -> Any:
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    builder.add_unsigned_field("passage", indexed=True, fast=True)
    builder.add_unsigned_field("document", indexed=True)
    builder.add_unsigned_field("batch", indexed=True, fast=True)
    builder.add_text_field("title", tokenizer_name="words", index_option="position")
    builder.add_text_field("text", tokenizer_name="words", index_option="position")
    builder.add_text_field("facts", tokenizer_name="raw", index_option="basic")
    return builder.build()


@contextmanager
def errors(folder: Path | None) -> Iterator[None]:
    """Turn what the engine raises, panics included, into our errors."""
    try:
        yield
    except QuothError:
        raise
    except (ValueError, OSError) as problem:
        raise translated(problem, folder) from problem
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":
            raise
        raise translated(problem, folder) from problem


def translated(problem: BaseException, folder: Path | None) -> QuothError:
    """Return our error for one of the engine's."""
    message = str(problem)
    if any(sign in message for sign in FULL_SIGNS):
        return disk_full(folder or Path.cwd(), message)
    if "LockBusy" in message:
        return BusyError("Another process is writing this index.", hint="Try again when it is done.")
    if "Incompatible" in message:
        return IndexUnusableError(
            f"{folder} was written by a newer version ({message}).",
            hint="Upgrade quoth, or run `quoth rebuild`.",
            code="newer_format",
        )
    if "ermission denied" in message or isinstance(problem, PermissionError):
        return IndexUnusableError(
            f"{folder} cannot be read or written ({message}).",
            hint=f"Check the permissions of its files (`chmod -R u+rw {folder}`).",
            code="permission",
        )
    return damaged(folder, message)


def damaged(folder: Path | None, what: str) -> IndexUnusableError:
    """Return the error for an engine folder that cannot be used."""
    name = f"{folder}" if folder else "The search index"
    return IndexUnusableError(
        f"{name} is damaged: {what[:300]}.",
        hint="`quoth rebuild` makes it again from the catalog.",
        code="engine_damaged",
    )


def sweep(folder: Path) -> None:
    """Remove what killed writers left behind; only under the write lock."""
    for path in folder.glob(".tmp*"):
        path.unlink(missing_ok=True)


def same_mode(folder: Path) -> None:
    """Give the engine's private files the permissions of the other ones, so that who may read one may read all."""
    wanted = (folder.parent / "catalog.sqlite").stat().st_mode & 0o666
    for name in (META_FILE, ".managed.json"):
        with _quietly():
            (folder / name).chmod(wanted)


@contextmanager
def _quietly() -> Iterator[None]:
    try:
        yield
    except (ValueError, OSError, QuothError):
        pass
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":
            raise
