"""A graph of near neighbours (HNSW, Malkov and Yashunin 2020) over the vectors, by usearch.

Its keys are serial numbers that grow and are never given twice: what it holds too much is passed over, what
came later is scanned, so that a graph that is behind its table gives no wrong answer, only a slower one. It holds
int8, which takes half the time and space of float16; exact scores come from the vectors' file.
"""

import contextlib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quoth.errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 128, 512
"""Links of a node; candidates kept while adding, and while searching (of a million vectors in 1,000 clusters, recall@10
is .825 with 64, .955 with 128, .989 with 256, .995 with 512, which takes 1.2 ms for 0.6 with 128)."""
_PART = 10_000
_FIRST = 1_000
"""Vectors that one thread puts into an empty graph: threads that begin together do not link each other's."""


def candidates(k: int) -> int:
    """Return how many the graph is asked for where *k* are wanted: its numbers are int8, the exact ones decide."""
    return max(64, 2 * k)


def nearest(index: Any, vector: "Floats", count: int) -> list[int]:
    """Return the keys of about the *count* nearest."""
    import numpy as np

    return [int(key) for key in index.search(np.asarray(vector, np.float32), count).keys]


def view(folder: Path, name: str | None) -> Any | None:
    """Return the graph in a file, mapped into memory; None where there is none, or no usearch to read it."""
    if name is None or not (folder / name).is_file():
        return None
    try:
        from usearch.index import Index
    except ImportError:
        return None
    index = Index.restore(str(folder / name), view=True)
    if index is not None:
        index.expansion_search = EXPANSION_SEARCH  # a file does not say
    return index


def update(folder: Path, name: str | None, table: Mapping[int, int], stored: "NDArray[np.float16]") -> str:
    """Return the name of a graph of exactly the serials of *table* (with their rows in *stored*).

    An existing one is changed rather than made anew, unless most of it is gone.
    """
    import numpy as np

    index = _open(folder, name, stored.shape[1])
    known = set(np.asarray(index.keys, np.int64).tolist())
    gone, new = sorted(known - table.keys()), sorted(table.keys() - known)
    if not gone and not new and name is not None:
        return name
    if len(gone) * 2 > len(known):
        index, gone, new = _new(stored.shape[1]), [], sorted(table)
    if gone:
        index.remove(np.array(gone, np.uint64))
    alone = _FIRST if len(index) == 0 else 0
    for begin, end in pairwise(sorted({0, len(new), *range(alone, len(new), _PART)})):
        part = new[begin:end]
        rows = np.asarray(stored[[table[serial] for serial in part]], np.float32)
        index.add(np.array(part, np.uint64), rows, threads=1 if end <= alone else 0)
    number = int(name.split("-")[1].split(".")[0]) + 1 if name else 1
    fresh = f"graph-{number}.usearch"
    temporary = folder / f"{fresh}.part"
    index.save(str(temporary))
    temporary.replace(folder / fresh)
    return fresh


def discard(folder: Path, name: str | None) -> None:
    """Remove a graph that was replaced; where a reader still has it open and the system minds, it stays."""
    if name is not None:
        with contextlib.suppress(OSError):
            (folder / name).unlink()


def _open(folder: Path, name: str | None, dimension: int) -> Any:
    if name is None or not (folder / name).is_file():
        return _new(dimension)
    index = _new(dimension)
    index.load(str(folder / name))
    return index


def _new(dimension: int) -> Any:
    try:
        from usearch.index import Index
    except ImportError as problem:
        raise MissingExtraError(
            "So many vectors are searched by a graph, which needs usearch.", hint="pip install 'quoth[dense]'"
        ) from problem
    return Index(
        ndim=dimension,
        metric="ip",
        dtype="i8",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )
