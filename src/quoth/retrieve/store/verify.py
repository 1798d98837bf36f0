"""What ``quoth doctor`` asks of an index: do its parts agree, and is every byte what was written?"""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from quoth.errors import QuothError
from quoth.retrieve.store import records
from quoth.retrieve.store.snapshot import Snapshot


def problems(now: Snapshot, place: Path, engine_files: Sequence[str], *, full: bool) -> list[str]:
    """Return what is wrong. ``full`` checks every row's sum and SQLite's own structure, too."""
    found = [f"{place.name}/{problem}" for problem in engine_files]
    try:
        found += _disagreements(now)
        found += _damages(now, full=full)
    except (sqlite3.Error, QuothError) as problem:
        found.append(str(problem))
    return found


def _disagreements(now: Snapshot) -> Iterator[str]:
    connection, view = now.connection, now.view
    listed, counted = connection.execute(
        "SELECT COALESCE(SUM(d.passages), 0), "
        "(SELECT COUNT(*) FROM passages p JOIN documents e ON e.number = p.document "
        f"WHERE {records.VISIBLE.format('e')}) FROM documents d WHERE {records.VISIBLE.format('d')}",
        {"state": view.state},
    ).fetchone()
    if listed != counted:
        yield f"catalog: its documents have {listed} passages, but {counted} are there"
    found = view.count()
    if found != counted:
        yield f"the catalog holds {counted} passages, the search index {found}"
    if int(connection.execute("SELECT value FROM meta WHERE name = 'batch'").fetchone()[0]) > view.state:
        yield "the search index lacks what the catalog says was written"


def _damages(now: Snapshot, *, full: bool) -> Iterator[str]:
    connection = now.connection
    pragma = "integrity_check" if full else "quick_check"
    for (line,) in connection.execute(f"PRAGMA {pragma}"):
        if line != "ok":
            yield f"catalog: {line}"
    if not full:
        return
    for number, id, characters in connection.execute(
        "SELECT number, id, characters FROM documents"
    ).fetchall():
        try:
            length = len(records.whole_text(connection, number))
        except QuothError as problem:
            yield f"document {id}: {problem.message}"
            continue
        if length != characters:
            yield f"document {id}: {length} of {characters} characters are there"
