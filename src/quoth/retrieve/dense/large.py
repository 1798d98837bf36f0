"""Many vectors, searched where they lie: the graph proposes, the table names, the file has the exact numbers.

Nothing is held in memory but what a search touches, so that a million vectors cost neither a start nor a heap.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.retrieve.dense import graph
from quoth.retrieve.dense.loaded import Key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Rows = Callable[[str, Sequence[object]], list[Any]]
"""Runs a SELECT over the table ``rows`` and returns what it found."""

_COLUMNS = "document_id, start, finish, digest, row"
_PART = 500
_SLICE = 8192
_DEEPEST = 20_000


class OnDisk:
    """A state of the vectors that is too large to be loaded."""

    def __init__(
        self, generation: int, rows: Rows, stored: "NDArray[np.float16]", near: Any, *, upto: int
    ) -> None:
        """Take a graph of the serial numbers up to *upto*; later ones are scanned."""
        self.generation = generation
        self._rows, self._stored, self._near, self._upto = rows, stored, near, upto

    def search(self, vector: "Floats", *, k: int, allowed: Container[str] | None) -> list[tuple[Key, float]]:
        """Return up to *k* (key, score), best first; nearly always the nearest there are (the graph is no scan).

        With *allowed* the graph is asked for more and more, and where that finds too few, everything is scanned.
        """
        query = np.asarray(vector, np.float32)
        later = self._rows(f"SELECT {_COLUMNS} FROM rows WHERE serial > ?", (self._upto,))
        count = graph.candidates(k)
        while True:
            found = [*self._named(graph.nearest(self._near, query, count)), *later]
            if allowed is not None:
                found = [row for row in found if row[0] in allowed]
            if allowed is None or len(found) >= k:
                return self._ranked(query, [found], k)
            count *= 8
            if count > _DEEPEST:
                return self._ranked(query, self._all(allowed), k)

    def similarities(self, vector: "Floats", keys: Sequence[Key]) -> "list[float | None]":
        """Return the dot product for each key, or None for one that is not held."""
        where = "SELECT row FROM rows WHERE document_id = ? AND start = ? AND finish = ? AND digest = ?"
        found = [self._rows(where, key) for key in keys]
        places = [rows[0][0] for rows in found if rows]
        query = np.asarray(vector, np.float32)
        scores = iter((np.asarray(self._stored[places], np.float32) @ query).tolist() if places else [])
        return [next(scores) if rows else None for rows in found]

    def _named(self, serials: Sequence[int]) -> list[Any]:
        rows: list[Any] = []
        for at in range(0, len(serials), _PART):
            some = serials[at : at + _PART]
            marks = ",".join("?" * len(some))
            rows += self._rows(f"SELECT {_COLUMNS} FROM rows WHERE serial IN ({marks})", some)
        return rows

    def _all(self, allowed: Container[str]) -> Iterator[list[Any]]:
        last = 0
        while True:
            part = self._rows(
                f"SELECT {_COLUMNS}, serial FROM rows WHERE serial > ? ORDER BY serial LIMIT ?",
                (last, _SLICE),
            )
            if not part:
                return
            last = part[-1][-1]
            yield [row[:-1] for row in part if row[0] in allowed]

    def _ranked(self, query: "Floats", parts: Iterable[list[Any]], k: int) -> list[tuple[Key, float]]:
        best: list[tuple[float, Key]] = []
        for part in parts:
            if part:
                scores = np.asarray(self._stored[[row[4] for row in part]], np.float32) @ query
                made = [(-score, Key(*row[:4])) for score, row in zip(scores.tolist(), part, strict=True)]
                best = sorted({*best, *made})[:k]
        return [(key, -score) for score, key in best]
