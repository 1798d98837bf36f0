"""Rows of the catalog to and from the nouns; only SQL that reads or writes one thing at a time."""

import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quoth.errors import IndexUnusableError, InputError
from quoth.retrieve.store.catalog import CHUNK, CHUNKS
from quoth.types import Document, Entry, Passage, Segment, Source

VISIBLE = "{0}.born <= :state AND ({0}.died IS NULL OR {0}.died > :state)"
"""The condition on a file or document for a reader whose engine view holds batches up to ``:state``."""


@dataclass(frozen=True, slots=True)
class Row:
    """A passage without its text: where it is, and what the filters look at (``metadata`` is JSON)."""

    document: int
    id: str
    start: int
    end: int
    title: str
    path: str
    metadata: str

    def values(self) -> dict[str, str]:
        """Return the document's metadata."""
        found: dict[str, str] = json.loads(self.metadata)
        return found


def insert_file(connection: sqlite3.Connection, source: Source, *, born: int) -> int:
    """Write a source; return its number."""
    cursor = connection.execute(
        "INSERT INTO files (path, sha256, size, mtime_ns, state, code, reason, born) VALUES (?,?,?,?,?,?,?,?)",
        (
            pack(source.path),
            source.sha256,
            source.size,
            source.mtime_ns,
            source.state,
            source.code,
            pack(source.reason),
            born,
        ),
    )
    return int(cursor.lastrowid or 0)


def insert_document(
    connection: sqlite3.Connection,
    document: Document,
    spans: Sequence[tuple[int, int]],
    *,
    file: int,
    born: int,
) -> int:
    """Write a document, its text and the *spans* of its passages; return its number."""
    segments = [[s.start, s.end, s.page, s.line, s.original, s.label, s.exact] for s in document.segments]
    cursor = connection.execute(
        "INSERT INTO documents (file, id, title, source, sha256, characters, passages, metadata, segments, "
        "paragraphs, notes, born) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            file,
            document.id,
            pack(document.title),
            pack(document.source),
            document.sha256,
            len(document.text),
            len(spans),
            json.dumps(dict(document.metadata)),
            _squeeze(segments),
            _squeeze([list(p) for p in document.paragraphs]),
            json.dumps(list(document.notes)),
            born,
        ),
    )
    number = int(cursor.lastrowid or 0)
    text = document.text
    chunks = [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]
    connection.executemany(
        "INSERT INTO texts VALUES (?, ?, ?)",
        ((number * CHUNKS + i, chunk, zlib.crc32(chunk.encode())) for i, chunk in enumerate(chunks)),
    )
    insert_passages(connection, number, spans)
    return number


def insert_passages(connection: sqlite3.Connection, document: int, spans: Sequence[tuple[int, int]]) -> None:
    """Write passages of a document."""
    connection.executemany(
        'INSERT INTO passages (document, start, "end") VALUES (?, ?, ?)',
        ((document, start, end) for start, end in spans),
    )


def delete_documents(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Remove documents with their texts and passages."""
    connection.executemany(
        "DELETE FROM texts WHERE key >= ? AND key < ?", ((n * CHUNKS, (n + 1) * CHUNKS) for n in numbers)
    )
    connection.executemany("DELETE FROM passages WHERE document = ?", ((n,) for n in numbers))
    connection.executemany("DELETE FROM documents WHERE number = ?", ((n,) for n in numbers))


def whole_text(connection: sqlite3.Connection, document: int) -> str:
    """Return all text of a document. Raise ``IndexUnusableError`` where it was altered on disk."""
    return _text(connection, document * CHUNKS, (document + 1) * CHUNKS - 1)


def slice_text(connection: sqlite3.Connection, document: int, start: int, end: int) -> str:
    """Return ``text[start:end]`` of a document, reading only the rows that hold it."""
    first, last = start // CHUNK, max(start, end - 1) // CHUNK
    text = _text(connection, document * CHUNKS + first, document * CHUNKS + last)
    return text[start - first * CHUNK : end - first * CHUNK]


def _text(connection: sqlite3.Connection, first: int, last: int) -> str:
    rows = connection.execute(
        "SELECT CAST(text AS BLOB), crc FROM texts WHERE key BETWEEN ? AND ? ORDER BY key", (first, last)
    ).fetchall()
    for stored, crc in rows:
        if zlib.crc32(stored) != crc:
            raise IndexUnusableError(
                "A stored text is not what was written: the catalog is damaged.",
                hint="Move the index folder aside and run `quoth index` on the documents again.",
                code="catalog_damaged",
            )
    return b"".join([stored for stored, _ in rows]).decode()


def find_document(connection: sqlite3.Connection, id: str, *, state: int) -> Document:
    """Return the document with this *id*. Raise ``InputError`` for an unknown one."""
    row = connection.execute(
        "SELECT number, id, title, source, sha256, metadata, segments, paragraphs, notes FROM documents d "
        f"WHERE id = :id AND {VISIBLE.format('d')}",
        {"id": id, "state": state},
    ).fetchone()
    if row is None:
        raise InputError(f"The index holds no document {id!r}.", hint="`quoth list` shows what it holds.")
    return document_of(connection, row)


def document_of(connection: sqlite3.Connection, row: Sequence[object]) -> Document:
    """Return the document of a row: number, id, title, source, sha256, metadata, segments, paragraphs, notes."""
    number, id, title, source, sha256, metadata, segments, paragraphs, notes = row
    return Document(
        id=str(id),
        text=whole_text(connection, int(str(number))),
        title=unpack(title),
        source=unpack(source),
        sha256=str(sha256),
        metadata=json.loads(str(metadata)),
        segments=tuple(Segment(*fields) for fields in _unsqueeze(segments)),
        paragraphs=tuple((a, b) for a, b in _unsqueeze(paragraphs)),
        notes=tuple(json.loads(str(notes))),
    )


def find_source(connection: sqlite3.Connection, document_id: str, *, state: int) -> Source:
    """Return the source of a document. Raise ``InputError`` for an unknown one."""
    row = connection.execute(
        "SELECT f.path, f.sha256, f.size, f.mtime_ns, f.state, f.code, f.reason FROM documents d "
        f"JOIN files f ON f.number = d.file WHERE d.id = :id AND {VISIBLE.format('d')}",
        {"id": document_id, "state": state},
    ).fetchone()
    if row is None:
        raise InputError(f"The index holds no document {document_id!r}.")
    return _source_of(row)


def all_sources(connection: sqlite3.Connection, *, state: int) -> Iterator[Source]:
    """Yield every source, in order of path."""
    rows = connection.execute(
        "SELECT path, sha256, size, mtime_ns, state, code, reason FROM files f "
        f"WHERE {VISIBLE.format('f')} ORDER BY path",
        {"state": state},
    )
    yield from map(_source_of, rows)


def _source_of(row: Sequence[object]) -> Source:
    path, sha256, size, mtime_ns, state, code, reason = row
    return Source(
        path=unpack(path),
        sha256=str(sha256),
        size=int(str(size)),
        mtime_ns=int(str(mtime_ns)),
        state=state,  # type: ignore[arg-type]  # only these three are written
        code=str(code),
        reason=unpack(reason),
    )


def all_entries(connection: sqlite3.Connection, *, state: int) -> Iterator[Entry]:
    """Yield every document without its text, in order of (source, id)."""
    rows = connection.execute(
        "SELECT d.id, d.title, f.path, d.sha256, d.characters, d.passages, d.metadata, d.notes "
        f"FROM documents d JOIN files f ON f.number = d.file WHERE {VISIBLE.format('d')} ORDER BY f.path, d.id",
        {"state": state},
    )
    for id, title, path, sha256, characters, passages, metadata, notes in rows:
        yield Entry(
            id=id,
            title=unpack(title),
            source=unpack(path),
            sha256=sha256,
            characters=characters,
            passages=passages,
            metadata=json.loads(metadata),
            notes=tuple(json.loads(notes)),
        )


def passage_rows(connection: sqlite3.Connection, numbers: Sequence[int], *, state: int) -> dict[int, Row]:
    """Return the visible passages with these numbers."""
    found: dict[int, Row] = {}
    for at in range(0, len(numbers), 500):
        some = numbers[at : at + 500]
        rows = connection.execute(
            'SELECT p.number, p.document, d.id, p.start, p."end", d.title, f.path, d.metadata FROM passages p '
            "JOIN documents d ON d.number = p.document JOIN files f ON f.number = d.file "
            f"WHERE p.number IN ({','.join('?' * len(some))}) AND d.born <= ? AND (d.died IS NULL OR d.died > ?)",
            (*some, state, state),
        )
        for number, document, id, start, end, title, path, metadata in rows:
            found[number] = Row(document, id, start, end, unpack(title), unpack(path), metadata)
    return found


def passage_of(connection: sqlite3.Connection, row: Row) -> Passage:
    """Return a passage with its text."""
    text = slice_text(connection, row.document, row.start, row.end)
    return Passage(row.id, row.start, row.end, text, row.title)


def all_passages(connection: sqlite3.Connection, *, state: int) -> Iterator[tuple[int, Passage]]:
    """Yield (number, passage) of everything, in order of (document id, start)."""
    documents = connection.execute(
        f"SELECT d.number, d.id, d.title FROM documents d WHERE {VISIBLE.format('d')} ORDER BY d.id",
        {"state": state},
    )
    for document, id, title in documents:
        text = whole_text(connection, document)
        for number, start, end in connection.execute(
            'SELECT number, start, "end" FROM passages WHERE document = ? ORDER BY start, number', (document,)
        ):
            yield number, Passage(id, start, end, text[start:end], unpack(title))


def pack(text: str) -> str | bytes:
    """Return *text* as SQLite can hold it: bytes, where a file name was not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")
    return text


def unpack(stored: object) -> str:
    """Return what ``pack`` was given."""
    return stored.decode("utf-8", "surrogateescape") if isinstance(stored, bytes) else str(stored)


def _squeeze(value: object) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1) if value else b""


def _unsqueeze(stored: object) -> list[Any]:
    value: list[Any] = json.loads(zlib.decompress(stored)) if isinstance(stored, bytes) and stored else []
    return value
