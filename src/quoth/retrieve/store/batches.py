"""Steps of a batch on the catalog: what is retired, what is handed to the engine, how documents are cut."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence

from quoth import text
from quoth.errors import InputError
from quoth.retrieve.store import filters, records
from quoth.retrieve.store.engine import Entry
from quoth.types import Document

Step = Callable[[int, int], None]


def spans(document: Document, split: str) -> list[tuple[int, int]]:
    """Return where the passages of *document* are, in a split that was checked."""
    if not document.text.strip():
        return []
    if split == "document":
        return [(0, len(document.text))]
    return [(p.start, p.end) for p in text.passages(document)]


def check_ids(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Raise ``InputError`` where a living document has one of these ids."""
    for id in ids:
        row = connection.execute(
            "SELECT f.path FROM documents d JOIN files f ON f.number = d.file WHERE d.id = ? AND d.died IS NULL",
            (id,),
        ).fetchone()
        if row is not None:
            raise InputError(
                f"The document id {id!r} belongs to {records.unpack(row[0])} already.",
                hint="Give the documents ids of their own, or remove the other file first.",
                code="duplicate_id",
            )


def live_files(connection: sqlite3.Connection, paths: Sequence[str]) -> list[int]:
    """Return the numbers of the sources with these paths, those that there are."""
    found = []
    for path in dict.fromkeys(paths):
        row = connection.execute(
            "SELECT number FROM files WHERE path = ? AND died IS NULL", (records.pack(path),)
        ).fetchone()
        if row is not None:
            found.append(int(row[0]))
    return found


def searched(connection: sqlite3.Connection, files: Sequence[int]) -> bool:
    """Return whether any of these files has passages, so that the engine has to know."""
    return any(
        connection.execute("SELECT 1 FROM documents WHERE file = ? AND passages > 0", (f,)).fetchone()
        for f in files
    )


def retire(connection: sqlite3.Connection, files: Sequence[int], died: int | None) -> None:
    """Mark files and their documents as gone with a batch; without one, remove them at once."""
    rows = [(died, f) for f in files]
    if died is not None:
        connection.executemany("UPDATE files SET died = ? WHERE number = ?", rows)
        connection.executemany("UPDATE documents SET died = ? WHERE file = ?", rows)
        return
    for file in files:
        numbers = [n for (n,) in connection.execute("SELECT number FROM documents WHERE file = ?", (file,))]
        records.delete_documents(connection, numbers)
        connection.execute("DELETE FROM files WHERE number = ?", (file,))


def count(connection: sqlite3.Connection, batch: int) -> int:
    """Return how many passages a reader at *batch* should find."""
    row = connection.execute(
        f"SELECT COALESCE(SUM(passages), 0) FROM documents d WHERE {records.VISIBLE.format('d')}",
        {"state": batch},
    ).fetchone()
    return int(row[0])


def entries(connection: sqlite3.Connection, condition: str, values: Sequence[int]) -> Iterator[Entry]:
    """Yield the passages of the documents that meet *condition*, in order of (document id, start)."""
    rows = connection.execute(
        "SELECT d.number, d.id, d.title, f.path, d.metadata FROM documents d JOIN files f ON f.number = d.file "
        f"WHERE d.passages > 0 AND {condition} ORDER BY d.id",
        values,
    )
    for document, id, stored_title, path, metadata in rows:
        title = records.unpack(stored_title)
        terms = filters.facts(json.loads(metadata), id=id, title=title, path=records.unpack(path))
        whole = records.whole_text(connection, document)
        for number, start, end in connection.execute(
            'SELECT number, start, "end" FROM passages WHERE document = ? ORDER BY start, number', (document,)
        ):
            yield Entry(number, document, title, whole[start:end], terms)


def counted(entries: Iterator[Entry], total: int, progress: Step | None) -> Iterator[Entry]:
    """Yield *entries* and report how far they are."""
    for i, entry in enumerate(entries):
        if progress is not None and i % 256 == 0:
            progress(i, total)
        yield entry
    if progress is not None:
        progress(total, total)


def resplit(connection: sqlite3.Connection, split: str) -> int:
    """Cut every living document again; passages that stay the same keep their numbers. Return how many there are."""
    rows = connection.execute(
        "SELECT number, id, title, source, sha256, metadata, segments, paragraphs, notes FROM documents "
        "WHERE died IS NULL"
    ).fetchall()
    total = 0
    for row in rows:
        number = int(row[0])
        wanted = spans(records.document_of(connection, row), split)
        total += len(wanted)
        held = {
            (start, end): n
            for n, start, end in connection.execute(
                'SELECT number, start, "end" FROM passages WHERE document = ?', (number,)
            )
        }
        if set(held) == set(wanted):
            continue
        gone = [(held[place],) for place in held.keys() - set(wanted)]
        connection.executemany("DELETE FROM passages WHERE number = ?", gone)
        records.insert_passages(connection, number, [place for place in wanted if place not in held])
        connection.execute("UPDATE documents SET passages = ? WHERE number = ?", (len(wanted), number))
    return total
