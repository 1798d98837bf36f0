"""Many vectors, searched where they lie: the graph proposes, the table names, the file has the exact numbers.

Nothing is held in memory but what a search touches, so that a million vectors cost neither a start nor a heap.
"""

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.retrieve.dense import graph
from quoth.retrieve.dense.loaded import finite
from quoth.retrieve.dense.table import Key, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_DEEPEST = 20_000


class OnDisk:
    """A state of the vectors that is too large to be loaded."""

    def __init__(
        self, generation: int, table: Table, stored: "NDArray[np.float16]", near: Any, *, upto: int
    ) -> None:
        """Take a graph of the serial numbers up to *upto*; later ones are scanned."""
        self.generation = generation
        self._table, self._stored, self._near, self._upto = table, stored, near, upto

    def search(self, vector: "Floats", *, k: int, allowed: Container[str] | None) -> list[tuple[Key, float]]:
        """Return up to *k* (key, score), best first; nearly always the nearest there are (the graph is no scan).

        With *allowed* the graph is asked for more and more, and where that finds too few, everything is scanned.
        """
        query = np.asarray(vector, np.float32)
        later = list(self._table.keys_since(self._upto))
        count = graph.candidates(k)
        while True:
            found = [*self._table.keys_by_serial(graph.nearest(self._near, query, count)), *later]
            if allowed is not None:
                found = [(key, row) for key, row in found if key.document_id in allowed]
            if allowed is None or len(found) >= k:
                return self._ranked(query, [found], k)
            count *= 8
            if count > _DEEPEST:
                parts = (
                    [(key, row) for key, row in part if key.document_id in allowed]
                    for part in self._table.slices()
                )
                return self._ranked(query, parts, k)

    def similarities(self, vector: "Floats", keys: Sequence[Key]) -> "list[float | None]":
        """Return the dot product for each key, or None for one that is not held."""
        rows = self._table.rows(keys)
        held = sorted(set(rows.values()))
        query = np.asarray(vector, np.float32)
        products = (np.asarray(self._stored[held], np.float32) @ query).tolist() if held else []
        scores = dict(zip(held, products, strict=True))
        return [scores[rows[key]] if key in rows else None for key in keys]

    def _ranked(
        self, query: "Floats", parts: Iterable[list[tuple[Key, int]]], k: int
    ) -> list[tuple[Key, float]]:
        best: list[tuple[float, Key]] = []
        for part in parts:
            if part:
                scores = finite(np.asarray(self._stored[[row for _, row in part]], np.float32) @ query)
                made = [(-score, key) for score, (key, _) in zip(scores.tolist(), part, strict=True)]
                best = sorted({*best, *made})[:k]
        return [(key, -score) for score, key in best]
