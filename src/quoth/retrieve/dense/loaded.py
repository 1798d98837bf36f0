"""One state of the vectors, held in memory and scanned."""

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]


class Key(NamedTuple):
    """Which passage a vector is of; ``digest`` is of its title and text. Keys sort as ties are broken."""

    document_id: str
    start: int
    end: int
    digest: bytes


class State(Protocol):
    """The vectors as they were at one moment. Safe to share between threads."""

    @property
    def generation(self) -> int: ...

    def search(
        self, vector: "Floats", *, k: int, allowed: Container[str] | None
    ) -> list[tuple[Key, float]]: ...

    def similarities(self, vector: "Floats", keys: Sequence[Key]) -> "list[float | None]": ...


class Loaded:
    """Keys in order of ties, and their vectors as float32, which numpy multiplies ten times faster than float16."""

    def __init__(self, generation: int, keys: list[Key], matrix: "Floats") -> None:
        self.generation = generation
        self._keys, self._matrix = keys, matrix
        self._places = {key: place for place, key in enumerate(keys)}

    def search(self, vector: "Floats", *, k: int, allowed: Container[str] | None) -> list[tuple[Key, float]]:
        """Return up to *k* (key, score), best first; among equal scores in order of key."""
        scores = _products(self._matrix, np.asarray(vector, np.float32))
        places = np.arange(len(self._keys))
        if allowed is not None:
            places = np.array([i for i, key in enumerate(self._keys) if key.document_id in allowed], np.int64)
        kept = scores[places]
        best = _top(kept, k)
        ranked = sorted(zip((-kept[best]).tolist(), places[best].tolist(), strict=True))[:k]
        return [(self._keys[place], -score) for score, place in ranked]

    def similarities(self, vector: "Floats", keys: Sequence[Key]) -> "list[float | None]":
        """Return the dot product for each key, or None for one that is not held."""
        places = [self._places.get(key) for key in keys]
        held = np.array([place for place in places if place is not None], np.int64)
        scores = iter(_products(self._matrix[held], np.asarray(vector, np.float32)).tolist())
        return [None if place is None else next(scores) for place in places]


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
