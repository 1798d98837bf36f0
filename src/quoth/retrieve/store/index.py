"""The default store: an index in a folder of its own, usually ``.quoth``."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import TracebackType

from quoth.errors import IndexUnusableError, InputError
from quoth.retrieve.store import catalog, checksums
from quoth.retrieve.store.analysis import Analyzer, analyzer
from quoth.retrieve.store.catalog import FORMAT, Catalog, meta
from quoth.retrieve.store.engine import ENGINE_FORMAT, Engine, View, damaged
from quoth.retrieve.store.lock import ReadMark, WriteLock
from quoth.retrieve.store.snapshot import Match, Snapshot
from quoth.retrieve.store.writing import READERS, Writer, check_split, generation_folder, newer_engine
from quoth.types import Document, Entry, Passage, Query, Scored, Source

TRIES = 20


class Index:
    """A catalog and a search index made from it. Implements ``quoth.protocols.Store``.

    One process writes (``BusyError`` names it), any number read, from any thread. A search sees
    the last finished batch, whole; a writer that is killed loses nothing that ``put`` returned from.
    """

    def __init__(self, folder: Path, *, write: bool) -> None:
        """Use ``Index.create`` or ``Index.open``."""
        self._folder = folder
        self._guard = threading.RLock()
        self._lock: WriteLock | None = None
        self._writer: Writer | None = None
        self._mark: ReadMark | None = None
        if not (folder / catalog.CATALOG_FILE).exists():
            raise InputError(
                f"{folder} holds no index.", hint="`quoth index PATH` makes one.", code="no_index"
            )
        if write:
            self._lock = WriteLock(folder)
            self._lock.acquire()
        try:
            self._catalog = Catalog(folder, write=write)
            try:
                with self._catalog.errors():
                    self._settle(meta(self._catalog.writer), write=write)
            except BaseException:
                self._catalog.close()
                raise
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise

    def _settle(self, facts: Mapping[str, str], *, write: bool) -> None:
        if write:
            self._writer = Writer(self._folder, self._catalog)
            self._use(self._writer.engine, meta(self._catalog.writer))
        else:
            self._use(self._open_engine(facts), facts)

    @classmethod
    def create(cls, folder: Path, *, analyzer: str = "english", split: str = "passage") -> "Index":
        """Make an empty index in *folder* and open it for writing. Raise ``InputError`` where there is one."""
        _analyzer(analyzer)
        check_split(split)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise IndexUnusableError(
                f"{folder} cannot be made: {problem.strerror}.",
                hint="Name a folder that can be written, with --index.",
                code="permission",
            ) from problem
        lock = WriteLock(folder)
        lock.acquire()
        try:
            if (folder / catalog.CATALOG_FILE).exists():
                raise InputError(f"{folder} holds an index already.", code="index_exists")
            catalog.create(
                folder, {"analyzer": analyzer, "split": split, "generation": 0, "engine": ENGINE_FORMAT}
            )
        finally:
            lock.release()
        return cls(folder, write=True)

    @classmethod
    def open(cls, folder: Path, *, write: bool = False) -> "Index":
        """Open the index in *folder*. For writing, what was cut off is finished and what is damaged made again.

        Raise ``InputError`` where there is none, ``BusyError`` where another process writes, and
        ``IndexUnusableError`` where it is damaged, without permission or of another format.
        """
        return cls(folder, write=write)

    def __enter__(self) -> "Index":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """The folder that holds the index."""
        return self._folder

    # Reading

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yield a retriever that sees the index as it is now, until the block ends."""
        connection, view, words = self._pin()
        try:
            with self._catalog.errors():
                yield Snapshot(view, connection, words)
        finally:
            self._catalog.give(connection)

    def _pin(self) -> tuple[catalog.Connection, View, Analyzer]:
        """Return a view of the catalog and one of the engine that fit: the engine's first, then the catalog's."""
        for _ in range(TRIES):
            engine, words, generation = self._engine, self._words, self._generation
            view = engine.view
            connection = self._catalog.take()
            try:
                with self._catalog.errors():
                    facts = meta(connection)
            except BaseException:
                self._catalog.give(connection)
                raise
            batch, current = int(facts["batch"]), int(facts["generation"])
            if current == generation and view.state >= batch:
                return connection, view, words
            self._catalog.give(connection)
            if current != generation:
                self._follow(facts)
            else:
                engine.refresh(at_least=batch)
        raise damaged(engine.folder, "it lacks what the catalog says was written")

    def _follow(self, facts: Mapping[str, str]) -> None:
        """Go to the generation that took over."""
        with self._guard:
            if int(facts["generation"]) > self._generation:
                self._use(self._open_engine(facts), facts)

    def _open_engine(self, facts: Mapping[str, str]) -> Engine:
        place = generation_folder(self._folder, int(facts["generation"]))
        number = int(facts["engine"])
        if number > ENGINE_FORMAT:
            raise newer_engine(place)
        if number < ENGINE_FORMAT:
            raise IndexUnusableError(
                f"{place} was made by an older version (format {number}, now {ENGINE_FORMAT}).",
                hint="Run `quoth rebuild`.",
                code="older_format",
            )
        return Engine(place, analyzer(facts["analyzer"]), write=False)

    def _use(self, engine: Engine, facts: Mapping[str, str]) -> None:
        old = self._mark
        try:
            self._mark = ReadMark(engine.folder / READERS)
        except OSError:
            self._mark = None
        self._engine, self._words = engine, analyzer(facts["analyzer"])
        self._generation = int(facts["generation"])
        if old is not None:
            old.release()

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return at most *k* (1 to 10,000) passages by BM25, best first, ties by (document id, start)."""
        with self.snapshot() as now:
            return now.retrieve(query, k=k)

    def explain(self, query: Query, passage: Passage) -> tuple[Match, ...]:
        """Return what *passage* matched of *query*, the most telling first; the scores sum to its score."""
        with self.snapshot() as now:
            return now.explain(query, passage)

    def matched(self, query: Query, passage: Passage) -> tuple[str, ...]:
        """Return the terms and phrases of *query* that *passage* holds, the most telling first."""
        return tuple(dict.fromkeys(match.text for match in self.explain(query, passage)))

    def document(self, id: str) -> Document:
        """Return the document with this *id*, whole. Raise ``InputError`` for an unknown id."""
        with self.snapshot() as now:
            return now.document(id)

    def source_of(self, document_id: str) -> Source:
        """Return the file that a document came from. Raise ``InputError`` for an unknown id."""
        with self.snapshot() as now:
            return now.source_of(document_id)

    def sources(self) -> Iterator[Source]:
        """Yield every source, in order of path."""
        with self.snapshot() as now:
            yield from now.sources()

    def entries(self) -> Iterator[Entry]:
        """Yield every document without its text, in order of (source, id)."""
        with self.snapshot() as now:
            yield from now.entries()

    def passages(self) -> Iterator[tuple[int, Passage]]:
        """Yield every passage with its number, in order of (document id, start); a number is never used twice."""
        with self.snapshot() as now:
            yield from now.passages()

    def passages_of(self, numbers: Iterable[int]) -> Mapping[int, Passage]:
        """Return the passages with these numbers, those that there are."""
        with self.snapshot() as now:
            return now.passages_of(numbers)

    def setting(self, name: str) -> str | None:
        """Return what was remembered under *name*, or None."""
        with self._catalog.reading() as connection:
            row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def info(self) -> Mapping[str, object]:
        """Return what the index is: format, analyzer, split, documents, passages, bytes, generation and more."""
        with self._catalog.reading() as connection:
            facts = meta(connection)
            documents, passages, characters = connection.execute(
                "SELECT COUNT(*), COALESCE(SUM(passages), 0), COALESCE(SUM(characters), 0) FROM documents "
                "WHERE born <= ? AND (died IS NULL OR died > ?)",
                (facts["batch"], facts["batch"]),
            ).fetchone()
        return {
            "folder": str(self._folder),
            "format": FORMAT,
            "analyzer": facts["analyzer"],
            "split": facts["split"],
            "documents": documents,
            "passages": passages,
            "characters": characters,
            "bytes": sum(p.stat().st_size for p in self._folder.rglob("*") if p.is_file()),
            "generation": int(facts["generation"]),
            "batch": int(facts["batch"]),
            "created": facts["created"],
            "engine": f"tantivy {version('tantivy')}",
        }

    def verify(self, *, full: bool) -> Sequence[str]:
        """Return what is wrong with the index; nothing, where all is well. ``full`` reads every byte."""
        from quoth.retrieve.store.verify import problems

        with self.snapshot() as now:
            place = self._engine.folder
            return problems(now, place, checksums.sums(place) if full else checksums.shapes(place), full=full)

    # Writing

    def put(self, batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
        """Replace what these sources held, all of it or nothing. Idempotent; durable and visible on return.

        Raise ``InputError`` where an id is given twice or belongs to another source.
        """
        with self._guard:
            writer = self._writing()
            writer.put(batch)
            self._follow_writer(writer)

    def drop(self, paths: Sequence[str]) -> int:
        """Remove these sources and their documents; return how many sources there were."""
        with self._guard:
            writer = self._writing()
            removed = writer.drop(paths)
            self._follow_writer(writer)
            return removed

    def _follow_writer(self, writer: Writer) -> None:
        if writer.engine is not self._engine:
            self._use(writer.engine, meta(self._catalog.writer))

    def set_setting(self, name: str, value: str) -> None:
        """Remember *value* under *name*."""
        with self._guard:
            self._writing()
            with self._catalog.writing() as connection:
                connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def rebuild(
        self,
        *,
        analyzer: str | None = None,
        split: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Make the search index again from the catalog, beside the old one, and swap when it is verified.

        *progress* is called with passages done and in all.
        """
        with self._guard:
            writer = self._writing()
            facts = meta(self._catalog.writer)
            if self._mark is not None:
                self._mark.release()
            writer.rebuild(analyzer or facts["analyzer"], split or facts["split"], progress)
            self._use(writer.engine, meta(self._catalog.writer))

    def _writing(self) -> Writer:
        if self._writer is None:
            raise InputError(f"{self._folder} is open for reading only.", code="read_only")
        return self._writer

    def close(self) -> None:
        """Let go of everything. Closing twice is no mistake."""
        with self._guard:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            else:
                self._engine.close()
            if self._mark is not None:
                self._mark.release()
                self._mark = None
            self._catalog.close()
            if self._lock is not None:
                self._lock.release()
                self._lock = None


_analyzer = analyzer
"""The function, where a parameter has its name."""
