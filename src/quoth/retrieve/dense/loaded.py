"""One state of the vectors, ready to be searched: by a scan, or by the graph where there are many."""

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quoth.retrieve.dense.graph import Near
    from quoth.retrieve.dense.vectors import Key

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

_SLICE = 8192


class Loaded:
    """Keys in order of ties, their rows in the file, and a graph or none. Never changes."""

    def __init__(
        self,
        generation: int,
        keys: "list[Key]",
        stored: "NDArray[np.float16]",
        rows: "Ints",
        near: "Near | None",
    ) -> None:
        self.generation = generation
        self._keys = keys
        self._near = near
        self._places = {key: place for place, key in enumerate(keys)}
        self._stored, self._rows = stored, rows
        # Few vectors are held as float32, which numpy multiplies ten times faster; many stay on disk.
        self._matrix: Floats | None = None if near is not None else self._vectors(slice(None))

    def search(
        self, vector: "Floats", *, k: int, allowed: Container[str] | None
    ) -> "list[tuple[Key, float]]":
        """Return up to *k* (key, score), best first; among equal scores in order of key."""
        query = np.asarray(vector, np.float32)
        if allowed is not None:
            places = np.array([i for i, key in enumerate(self._keys) if key.document_id in allowed], np.int64)
            scores = self._products(places, query)
        elif self._near is not None:
            places = np.unique(self._near.places(query, 2 * k))
            scores = self._products(places, query)
        else:
            places, scores = np.arange(len(self._keys)), self._products(slice(None), query)
        best = _top(scores, k)
        ranked = sorted(zip((-scores[best]).tolist(), places[best].tolist(), strict=True))[:k]
        return [(self._keys[place], -score) for score, place in ranked]

    def similarities(self, vector: "Floats", keys: "Sequence[Key]") -> "list[float | None]":
        """Return the dot product for each key, or None for one that is not held."""
        places = [self._places.get(key) for key in keys]
        held = np.array([place for place in places if place is not None], np.int64)
        scores = iter(self._products(held, np.asarray(vector, np.float32)).tolist())
        return [None if place is None else next(scores) for place in places]

    def _products(self, places: "Ints | slice", query: "Floats") -> "Floats":
        if self._matrix is not None:
            return np.asarray(self._matrix[places] @ query, np.float32)
        chosen = np.arange(len(self._keys))[places]
        parts = [self._vectors(chosen[b : b + _SLICE]) @ query for b in range(0, len(chosen), _SLICE)]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def _vectors(self, places: "Ints | slice") -> "Floats":
        return np.asarray(self._stored[self._rows[places]], np.float32)


def _top(scores: "Floats", k: int) -> "Ints":
    """Return the places of the *k* highest scores, and of all that tie with the last of them."""
    if len(scores) <= k:
        return np.arange(len(scores))
    cut = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores >= cut)
