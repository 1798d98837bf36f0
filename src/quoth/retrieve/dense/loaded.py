"""One state of the vectors, held in memory and scanned. Only the numbers: which passage a row is of, the table says."""

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from quoth.errors import IndexUnusableError
from quoth.retrieve.dense.table import Key, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]


class State(Protocol):
    """The vectors as they were at one moment. Safe to share between threads."""

    @property
    def generation(self) -> int: ...

    def search(
        self, vector: "Floats", *, k: int, allowed: Container[str] | None
    ) -> list[tuple[Key, float]]: ...

    def similarities(self, vector: "Floats", keys: Sequence[Key]) -> "list[float | None]": ...


class Loaded:
    """The vectors as float32, which numpy multiplies ten times faster than float16.

    Keys are read when there is something to name: naming all of 100,000 would take a second, at every start.
    """

    def __init__(self, generation: int, table: Table, rows: "Ints", matrix: "Floats") -> None:
        """Take the used rows, ascending, and their vectors, (rows, dimension)."""
        self.generation = generation
        self._table, self._rows, self._matrix = table, rows, matrix
        self._owners: list[tuple[int, str]] | None = None

    def search(self, vector: "Floats", *, k: int, allowed: Container[str] | None) -> list[tuple[Key, float]]:
        """Return up to *k* (key, score), best first; among equal scores in order of key."""
        scores = finite(_products(self._matrix, np.asarray(vector, np.float32)))
        places = np.arange(len(self._rows))
        if allowed is not None:
            if self._owners is None:  # read at the first filter, then known
                self._owners = self._table.owners()
            may = [row for row, id in self._owners if id in allowed]
            places = np.flatnonzero(np.isin(self._rows, np.array(may, np.int64)))
        best = places[_top(scores[places], k)]
        found = dict(zip(self._rows[best].tolist(), scores[best].tolist(), strict=True))
        ranked = sorted((-found[row], key) for key, row in self._table.keys(found))
        return [(key, -score) for score, key in ranked[:k]]

    def similarities(self, vector: "Floats", keys: Sequence[Key]) -> "list[float | None]":
        """Return the dot product for each key, or None for one that is not held."""
        rows = self._table.rows(keys)
        held = sorted(set(rows.values()))
        places = np.searchsorted(self._rows, np.array(held, np.int64))
        products = _products(self._matrix[places], np.asarray(vector, np.float32))
        scores = dict(zip(held, products.tolist(), strict=True))
        return [scores[rows[key]] if key in rows else None for key in keys]


def finite(scores: "Floats") -> "Floats":
    """Return *scores*. Raise ``IndexUnusableError`` where one is no number: damage would be ranked somewhere."""
    if not np.isfinite(scores).all():
        raise IndexUnusableError(
            "The vectors are damaged: some are no numbers.", hint="`quoth index` makes them again."
        )
    return scores


def _products(matrix: "Floats", vector: "Floats") -> "Floats":
    """Return the dot product of each row, on one thread.

    As fast as BLAS, which memory bounds here, and nothing waits for threads that a busy machine does not wake.
    """
    return np.asarray(np.einsum("ij,j->i", matrix, vector), np.float32)


def _top(scores: "Floats", k: int) -> "Ints":
    """Return the places of the *k* highest scores, and of all that tie with the last of them."""
    if len(scores) <= k:
        return np.arange(len(scores))
    cut = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores >= cut)
