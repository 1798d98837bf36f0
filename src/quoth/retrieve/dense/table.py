"""The table that says which passage a row of the vectors' file is of, as searches read it."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Select = Callable[[str, Sequence[object]], list[Any]]
"""Runs a SELECT and returns what it found."""

COLUMNS = "document_id, start, finish, digest"
PART = 250
"""Names in one statement: an engine takes 999 at least, and a key's place has two."""

SLICE = 8192


SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rows (
    serial INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER NOT NULL UNIQUE, document_id TEXT NOT NULL,
    start INTEGER NOT NULL, finish INTEGER NOT NULL, digest BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_document ON rows (document_id, start);
CREATE TRIGGER IF NOT EXISTS comes AFTER INSERT ON rows BEGIN
    UPDATE about SET value = CAST(value AS INTEGER) + 1 WHERE name = 'held';
END;
CREATE TRIGGER IF NOT EXISTS goes AFTER DELETE ON rows BEGIN
    UPDATE about SET value = CAST(value AS INTEGER) - 1 WHERE name = 'held';
END;
"""
"""``held`` is how many rows there are: counting them for every batch would take longer than writing it."""


class Key(NamedTuple):
    """Which passage a vector is of; ``digest`` is of its title and text. Keys sort as ties are broken."""

    document_id: str
    start: int
    end: int
    digest: bytes


class Table:
    """The rows that are used. Safe to share between threads where *select* is."""

    def __init__(self, select: Select) -> None:
        self._select = select

    def keys(self, rows: Iterable[int]) -> Iterator[tuple[Key, int]]:
        """Yield the key of each of *rows* that is used, with the row."""
        return self._named("row", [*rows])

    def keys_by_serial(self, serials: Sequence[int]) -> Iterator[tuple[Key, int]]:
        """Yield key and row of each of these serial numbers that is there still."""
        return self._named("serial", serials)

    def keys_since(self, serial: int) -> Iterator[tuple[Key, int]]:
        """Yield key and row of all that came after a serial number."""
        for part in self.slices(serial):
            yield from part

    def slices(self, serial: int = 0) -> Iterator[list[tuple[Key, int]]]:
        """Yield key and row of all that came after a serial number, in handy parts."""
        statement = f"SELECT {COLUMNS}, row, serial FROM rows WHERE serial > ? ORDER BY serial LIMIT {SLICE}"
        while part := self._select(statement, (serial,)):
            serial = part[-1][5]
            yield [(Key(*found[:4]), found[4]) for found in part]

    def rows(self, keys: Sequence[Key]) -> dict[Key, int]:
        """Return the row of each key that is held."""
        wanted = set(keys)
        found: dict[Key, int] = {}
        for begin in range(0, len(keys), PART):
            some = keys[begin : begin + PART]
            places = ",".join(["(?,?)"] * len(some))
            # A join that goes through the index by place; `IN (VALUES ...)` would scan the whole table.
            statement = (
                f"WITH wanted (id, at) AS (VALUES {places}) "
                f"SELECT {COLUMNS}, row FROM wanted CROSS JOIN rows ON document_id = id AND start = at"
            )
            values = [value for key in some for value in key[:2]]
            found |= {Key(*row[:4]): row[4] for row in self._select(statement, values)}
        return {key: row for key, row in found.items() if key in wanted}

    def owners(self) -> list[tuple[int, str]]:
        """Return every row with the id of its document."""
        return self._select("SELECT row, document_id FROM rows", ())

    def _named(self, column: str, numbers: Sequence[int]) -> Iterator[tuple[Key, int]]:
        for begin in range(0, len(numbers), PART):
            some = numbers[begin : begin + PART]
            marks = ",".join("?" * len(some))
            statement = f"SELECT {COLUMNS}, row FROM rows WHERE {column} IN ({marks})"
            yield from ((Key(*found[:4]), found[4]) for found in self._select(statement, some))


def open_table(folder: Path) -> sqlite3.Connection:
    """Return a connection to the table of rows, made where there is none; where nothing can be written, for reading."""
    path = folder / "rows.sqlite"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        rows = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=60)
        rows.execute("PRAGMA journal_mode=WAL")
        rows.executescript(SCHEMA)
    except (sqlite3.OperationalError, OSError):
        if not path.is_file():
            raise
        place = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        rows = sqlite3.connect(place, uri=True, check_same_thread=False, isolation_level=None)
    return rows
