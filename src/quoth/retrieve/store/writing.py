"""The one writer: batches, what is left of a batch that was cut off, and new generations.

A batch goes through three steps: its rows are committed to the catalog, named ``pending``; the
engine commits; the catalog records that it is done and forgets what was replaced. Whatever step
is the last that happened, ``recover`` ends with all of the batch or none of it.
"""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

from quoth.errors import IndexUnusableError, InputError, QuothError
from quoth.retrieve.store import batches, catalog, checksums, records
from quoth.retrieve.store.analysis import Analyzer, analyzer
from quoth.retrieve.store.catalog import Catalog, meta, set_meta
from quoth.retrieve.store.engine import ENGINE_FORMAT, Engine, damaged
from quoth.retrieve.store.lock import is_marked
from quoth.types import Document, Source

SPLITS = ("passage", "document")
SPARE = 24_000_000
"""Bytes that a batch needs beside four for each of its characters."""

READERS = "readers.lock"

_log = logging.getLogger(__name__)


def generation_folder(folder: Path, generation: int) -> Path:
    """Return where a generation of the search index lives."""
    return folder / f"index-{generation:06d}"


def check_split(split: str) -> str:
    """Return *split*. Raise ``InputError`` for one that is not in ``SPLITS``."""
    if split not in SPLITS:
        raise InputError(f"split is {split!r}; it must be one of {', '.join(SPLITS)}.")
    return split


class Writer:
    """Writes to a catalog and its engine, under the write lock that its owner holds."""

    def __init__(self, folder: Path, held: Catalog) -> None:
        self._folder = folder
        self._catalog = held
        facts = meta(held.writer)
        self._split = facts["split"]
        self.engine = self._open_engine(facts)
        if "pending" in facts:
            self.recover()
        self._sweep_generations()

    def _open_engine(self, facts: dict[str, str]) -> Engine:
        """Return the current engine; where it is damaged or of another format, one made anew."""
        words = analyzer(facts["analyzer"])
        place = generation_folder(self._folder, int(facts["generation"]))
        if int(facts["engine"]) > ENGINE_FORMAT:
            raise newer_engine(place)
        if place.exists() and int(facts["engine"]) == ENGINE_FORMAT:
            try:
                problems = checksums.sums(place) if _small(place) else []
                if problems:
                    raise damaged(place, problems[0])
                opened = Engine(place, words, write=True)
                if opened.view.state >= int(facts["batch"]):
                    return opened
                opened.close()
                raise damaged(place, "it lacks what the catalog says was written")
            except QuothError as problem:
                if problem.code != "engine_damaged":
                    raise
                _log.warning("%s It is set aside and made again.", problem.message)
                set_aside(place)
        return self._make_generation(words, self._split, None)

    def put(self, batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
        """Replace what these sources held, all of it or nothing; durable on return."""
        _check(batch)
        self.recover()
        self._check_space(sum(len(d.text) for _, documents in batch for d in documents))
        with self._catalog.writing() as connection:
            done = int(meta(connection)["batch"])
            old = batches.live_files(connection, [source.path for source, _ in batch])
            cut = [[(d, batches.spans(d, self._split)) for d in documents] for _, documents in batch]
            searched = batches.searched(connection, old) or any(s for part in cut for _, s in part)
            born = done + 1 if searched else done
            batches.retire(connection, old, born if searched else None)
            batches.check_ids(connection, [d.id for part in cut for d, _ in part])
            for (source, _), part in zip(batch, cut, strict=True):
                file = records.insert_file(connection, source, born=born)
                for document, places in part:
                    records.insert_document(connection, document, places, file=file, born=born)
            if searched:
                set_meta(connection, pending=born)
        if searched:
            self._carry_out(born)

    def drop(self, paths: Sequence[str]) -> int:
        """Remove these sources and their documents; return how many there were."""
        self.recover()
        with self._catalog.writing() as connection:
            old = batches.live_files(connection, paths)
            searched = batches.searched(connection, old)
            batch = int(meta(connection)["batch"]) + 1
            batches.retire(connection, old, batch if searched else None)
            if searched:
                set_meta(connection, pending=batch)
        if searched:
            self._carry_out(batch)
        return len(old)

    def recover(self) -> None:
        """Finish a batch that was cut off, or undo it where it cannot be finished."""
        with self._catalog.errors():
            pending = meta(self._catalog.writer).get("pending")
        if pending is not None:
            self._carry_out(int(pending))

    def _carry_out(self, batch: int) -> None:
        """Bring a pending batch to its end: done, or, where the engine cannot, as if it had never been."""
        stamp: int | None = None
        try:
            if self.engine.refresh(at_least=batch).state < batch:
                stamp = self._write(batch, attempts=2)
        except BaseException:
            if self.engine.refresh(at_least=batch).state < batch:
                self._undo(batch)
            else:
                self._finish(batch, None)
            raise
        self._finish(batch, stamp)
        self._check_count(batch)

    def _write(self, batch: int, *, attempts: int) -> int:
        """Hand a pending batch to the engine; an unexplained failure of its writer is tried once more."""
        writer = self._catalog.writer
        gone = [n for (n,) in writer.execute("SELECT number FROM documents WHERE died = ?", (batch,))]
        try:
            return self.engine.write(batch, remove=gone, add=batches.entries(writer, "d.born = ?", (batch,)))
        except QuothError as problem:
            if attempts < 2 or problem.code != "engine_damaged":
                raise
            _log.warning("The search engine's writer failed (%s); trying again.", problem.message)
            return self._write(batch, attempts=attempts - 1)

    def _check_count(self, batch: int) -> None:
        """Compare what the engine holds with the catalog, and make it again where they differ."""
        held = self.engine.refresh(at_least=batch).count()
        with self._catalog.errors():
            expected = batches.count(self._catalog.writer, batch)
        if held != expected:
            _log.warning("The search index holds %d passages instead of %d; making it again.", held, expected)
            self.engine.close()
            self.engine = self._make_generation(self.engine.analyzer, self._split, None)
            self._sweep_generations()

    def _finish(self, batch: int, stamp: int | None) -> None:
        with self._catalog.writing() as connection:
            dead = [
                n for (n,) in connection.execute("SELECT number FROM documents WHERE died <= ?", (batch,))
            ]
            records.delete_documents(connection, dead)
            connection.execute("DELETE FROM files WHERE died <= ?", (batch,))
            set_meta(connection, batch=batch, pending=None, opstamp=stamp or self.engine.stamp())

    def _undo(self, batch: int) -> None:
        with self._catalog.writing() as connection:
            fresh = [
                n for (n,) in connection.execute("SELECT number FROM documents WHERE born = ?", (batch,))
            ]
            records.delete_documents(connection, fresh)
            connection.execute("DELETE FROM files WHERE born = ?", (batch,))
            connection.execute("UPDATE files SET died = NULL WHERE died = ?", (batch,))
            connection.execute("UPDATE documents SET died = NULL WHERE died = ?", (batch,))
            set_meta(connection, pending=None)

    def rebuild(self, analyzer_name: str, split: str, progress: batches.Step | None) -> None:
        """Make a new generation from the catalog, verify it, and let it take over."""
        words = analyzer(analyzer_name)
        check_split(split)
        self.recover()
        self.engine.close()
        self.engine = self._make_generation(words, split, progress)
        self._sweep_generations()
        self._catalog.shrink()

    def _make_generation(self, words: Analyzer, split: str, progress: batches.Step | None) -> Engine:
        with self._catalog.writing() as connection:
            facts = meta(connection)
            generation, batch = int(facts["generation"]) + 1, int(facts.get("pending", facts["batch"])) + 1
            place = generation_folder(self._folder, generation)
            total = batches.resplit(connection, split)
            fresh = Engine.create(place, words)
            try:
                (place / READERS).touch()
                alive = batches.entries(connection, "d.died IS NULL", ())
                stamp = (
                    fresh.write(batch, remove=(), add=batches.counted(alive, total, progress)) if total else 0
                )
                fresh.close()
                problems = checksums.sums(place)
                made = Engine(place, words, write=True)
                if problems or made.view.count() != total:
                    raise damaged(
                        place, (problems or [f"{made.view.count()} passages of {total} arrived"])[0]
                    )
                catalog.sync_folder(self._folder)
            except BaseException:
                fresh.discard_writer()
                shutil.rmtree(place, ignore_errors=True)
                raise
            records.delete_documents(
                connection,
                [n for (n,) in connection.execute("SELECT number FROM documents WHERE died IS NOT NULL")],
            )
            connection.execute("DELETE FROM files WHERE died IS NOT NULL")
            set_meta(
                connection,
                generation=generation,
                batch=batch if total else 0,
                pending=None,
                opstamp=stamp,
                analyzer=words.name,
                split=split,
                engine=ENGINE_FORMAT,
            )
            if not total:
                connection.execute("UPDATE files SET born = 0")
                connection.execute("UPDATE documents SET born = 0")
        self._split = split
        return made

    def _sweep_generations(self) -> None:
        """Remove generations that are neither current nor being read."""
        current = self.engine.folder
        for place in self._folder.glob("index-*"):
            if place != current and place.is_dir() and place.suffix == "" and not is_marked(place / READERS):
                shutil.rmtree(place, ignore_errors=True)

    def _check_space(self, characters: int) -> None:
        needed = 4 * characters + SPARE
        if shutil.disk_usage(self._folder).free < needed:
            raise catalog.disk_full(self._folder, "the disk is nearly full", needed=needed)

    def close(self) -> None:
        """Wait for the engine's merges, and let go."""
        self.engine.close()


def newer_engine(place: Path) -> IndexUnusableError:
    """Return the error for a search index of a later version of quoth."""
    return IndexUnusableError(
        f"{place} was written by a newer version.", hint="Upgrade quoth.", code="newer_format"
    )


def set_aside(place: Path) -> None:
    """Rename a damaged generation, in the place of one that was set aside before."""
    aside = place.with_name("index.damaged")
    shutil.rmtree(aside, ignore_errors=True)
    place.rename(aside)


def _small(place: Path) -> bool:
    return sum(path.stat().st_size for path in place.iterdir()) < 256_000_000


def _check(batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
    paths: set[str] = set()
    ids: set[str] = set()
    for source, documents in batch:
        if source.path in paths:
            raise InputError(f"{source.path} is in the batch twice.")
        paths.add(source.path)
        if source.state != "indexed" and any(d.text.strip() for d in documents):
            raise InputError(f"{source.path} is {source.state}, but it comes with documents.")
        for document in documents:
            if document.id in ids:
                raise InputError(
                    f"{source.path}: the document id {document.id!r} is there twice.", code="duplicate_id"
                )
            ids.add(document.id)
            try:
                document.id.encode()
                document.text.encode()
            except UnicodeEncodeError as problem:
                raise InputError(
                    f"{source.path}: the text has a lone surrogate at {problem.start}."
                ) from problem
