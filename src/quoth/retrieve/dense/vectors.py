"""A file of float16 vectors, and the table that says which passage each row belongs to.

``rows.sqlite`` is the truth: a row that it does not name is free, whatever the file holds there. Vectors
are written and synced before the rows that name them, so a killed writer costs the batch it was at.
"""

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quoth.errors import IndexUnusableError
from quoth.protocols import Encoder
from quoth.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

FORMAT = 1
EXACT_LIMIT = 100_000
"""Above so many vectors the graph (HNSW) answers instead of a scan."""
BATCH = 256
SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rows (
    row INTEGER PRIMARY KEY, document_id TEXT NOT NULL, start INTEGER NOT NULL, finish INTEGER NOT NULL,
    digest BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_document ON rows (document_id, start);
"""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Key:
    """Which passage a vector is of; ``digest`` is of its title and text."""

    document_id: str
    start: int
    end: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class SyncReport:
    added: int
    removed: int
    kept: int


def key_of(passage: Passage) -> Key:
    """Return the key of *passage*."""
    body = f"{passage.title}\0{passage.text}".encode("utf-8", "surrogatepass")
    return Key(passage.document_id, passage.start, passage.end, hashlib.sha256(body).digest()[:16])


def passage_text(passage: Passage) -> str:
    """Return what is embedded for *passage*: its title, a full stop, its text."""
    return f"{passage.title}. {passage.text}" if passage.title else passage.text


class Vectors:
    """The vectors of one encoder over one index. One writer at a time; any number of readers.

    Searches see the last finished batch. Scores are dot products of unit vectors.
    """

    def __init__(self, folder: Path, *, encoder: str, dimension: int) -> None:
        """Open *folder*, made when it is missing. Raise ``IndexUnusableError`` for another encoder's or format's."""
        self.folder = folder
        self.dimension = dimension
        self._encoder = encoder
        self._lock = threading.RLock()
        self._loaded: _Loaded | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._rows = sqlite3.connect(
                folder / "rows.sqlite", check_same_thread=False, isolation_level=None
            )
            self._rows.execute("PRAGMA journal_mode=WAL")
            self._rows.executescript(SCHEMA)
            self._introduce()
        except (sqlite3.DatabaseError, OSError) as problem:
            raise IndexUnusableError(
                f"The vectors in {folder.name} cannot be opened: {problem}.",
                hint="Remove that folder; `quoth index` makes them again.",
            ) from problem

    def _introduce(self) -> None:
        expected = {"format": str(FORMAT), "encoder": self._encoder, "dimension": str(self.dimension)}
        found = dict(self._rows.execute("SELECT name, value FROM about"))
        if not found:
            self._rows.executemany(
                "INSERT INTO about VALUES (?, ?)", [*expected.items(), ("generation", "0")]
            )
            return
        for name, value in expected.items():
            if found.get(name) != value:
                raise IndexUnusableError(
                    f"The vectors in {self.folder.name} have {name} {found.get(name)}, not {value}.",
                    hint="Remove that folder; `quoth index` makes them again.",
                )

    def __len__(self) -> int:
        with self._lock:
            count: int = self._rows.execute("SELECT count(*) FROM rows").fetchone()[0]
            return count

    @property
    def bytes(self) -> int:
        """Size on disk."""
        return sum(f.stat().st_size for f in self.folder.iterdir() if f.is_file())

    def close(self) -> None:
        """Let the files go."""
        with self._lock:
            self._loaded = None
            self._rows.close()

    # -- writing

    def sync(
        self, passages: Iterable[Passage], encoder: Encoder, *, progress: Progress | None = None
    ) -> SyncReport:
        """Make the vectors those of exactly these passages: encode what is new, free what is gone.

        A batch is durable when the next begins; a run that was interrupted goes on where it was.
        """
        wanted: dict[Key, Passage] = {}
        for passage in passages:
            wanted.setdefault(key_of(passage), passage)
        held = self._keys()
        gone = [row for key, row in held.items() if key not in wanted]
        if gone:
            with self._transaction():
                self._rows.executemany("DELETE FROM rows WHERE row = ?", [(row,) for row in gone])
        kept = [key for key in held if key in wanted]
        missing = [(key, passage) for key, passage in wanted.items() if key not in held]
        self._add(missing, encoder, progress)
        self._update_graph()
        return SyncReport(added=len(missing), removed=len(gone), kept=len(kept))

    def ensure(self, passages: Sequence[Passage], encoder: Encoder) -> None:
        """Encode those of *passages* that are not held yet; nothing is removed."""
        held = self._keys()
        missing = {key_of(p): p for p in passages if key_of(p) not in held}
        self._add(list(missing.items()), encoder, None)

    def _add(
        self, missing: Sequence[tuple[Key, Passage]], encoder: Encoder, progress: Progress | None
    ) -> None:
        # Longest first would batch better, but index order keeps an interrupted run easy to reason about;
        # encoders plan their batches themselves.
        free = self._free_rows()
        for begin in range(0, len(missing), BATCH):
            batch = missing[begin : begin + BATCH]
            vectors = encoder.encode_passages([passage_text(p) for _, p in batch])
            rows = [next(free) for _ in batch]
            self._write(rows, vectors)
            with self._transaction():
                self._rows.executemany(
                    "INSERT INTO rows VALUES (?, ?, ?, ?, ?)",
                    [
                        (r, k.document_id, k.start, k.end, k.digest)
                        for r, (k, _) in zip(rows, batch, strict=True)
                    ],
                )
            if progress is not None:
                progress(begin + len(batch), len(missing))

    def _write(self, rows: Sequence[int], vectors: "Floats") -> None:
        import numpy as np

        width = self.dimension * 2
        with self._lock, open(self._file, "r+b" if self._file.exists() else "w+b") as file:
            for row, vector in zip(rows, vectors.astype(np.float16), strict=True):
                file.seek(row * width)
                file.write(vector.tobytes())
            file.flush()
            os.fsync(file.fileno())

    def _free_rows(self) -> Iterator[int]:
        used = {row for (row,) in self._rows.execute("SELECT row FROM rows")}
        return (row for row in range(1 << 62) if row not in used)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._rows.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._rows.execute(
                    "UPDATE about SET value = CAST(value AS INTEGER) + 1 WHERE name = 'generation'"
                )
            except BaseException:
                self._rows.execute("ROLLBACK")
                raise
            self._rows.execute("COMMIT")

    # -- reading

    def search(
        self, vector: "Floats", *, k: int, allowed: Container[str] | None = None
    ) -> list[tuple[str, int, int, float]]:
        """Return up to *k* (document id, start, end, score), best first, ties by (document id, start).

        *allowed*, where given, holds the ids of the documents that may be returned.
        """
        import numpy as np

        loaded = self._load()
        if not len(loaded.keys):
            return []
        if loaded.graph is not None and allowed is None:
            return loaded.ordered(*loaded.near(vector, k), k=k)
        scores = loaded.matrix @ np.asarray(vector, dtype=np.float32)
        positions = np.arange(len(scores))
        if allowed is not None:
            positions = np.array(
                [i for i, key in enumerate(loaded.keys) if key[0] in allowed], dtype=np.int64
            )
        best = _top(scores[positions], k)
        return loaded.ordered(positions[best], scores[positions][best], k=k)

    def similarities(self, vector: "Floats", passages: Sequence[Passage]) -> "list[float | None]":
        """Return the dot product for each passage, or None for one whose vector is not held."""
        import numpy as np

        loaded = self._load()
        places = [loaded.places.get((p.document_id, p.start, p.end)) for p in passages]
        held = [place for place in places if place is not None]
        scores = iter((loaded.matrix[held] @ np.asarray(vector, dtype=np.float32)).tolist() if held else [])
        return [None if place is None else next(scores) for place in places]

    def _keys(self) -> dict[Key, int]:
        with self._lock:
            rows = self._rows.execute("SELECT row, document_id, start, finish, digest FROM rows").fetchall()
        return {Key(document, start, end, digest): row for row, document, start, end, digest in rows}

    def _load(self) -> "_Loaded":
        with self._lock:
            generation = self._generation()
            while self._loaded is None or self._loaded.generation != generation:
                loaded = self._read(generation)
                # A writer may have reused rows meanwhile: only a state that did not move under us is kept.
                generation = self._generation()
                if loaded.generation == generation:
                    self._loaded = loaded
            return self._loaded

    def _generation(self) -> int:
        return int(self._rows.execute("SELECT value FROM about WHERE name = 'generation'").fetchone()[0])

    def _read(self, generation: int) -> "_Loaded":
        import numpy as np

        table = self._rows.execute(
            "SELECT row, document_id, start, finish FROM rows ORDER BY document_id, start, finish"
        ).fetchall()
        rows = np.array([row for row, *_ in table], dtype=np.int64)
        keys = [(document, start, end) for _, document, start, end in table]
        if not keys:
            return _Loaded(generation, [], rows, np.zeros((0, self.dimension), dtype=np.float32), None)
        if self._file.stat().st_size < (int(rows.max()) + 1) * self.dimension * 2:
            raise IndexUnusableError(
                f"{self.folder.name}/{self._file.name} is shorter than its table says.",
                hint="Remove that folder; `quoth index` makes the vectors again.",
            )
        stored = np.memmap(self._file, dtype=np.float16, mode="r").reshape(-1, self.dimension)
        graph = self._graph() if len(keys) > EXACT_LIMIT else None
        # Few vectors are held as float32, which numpy multiplies ten times faster; many stay on disk.
        matrix = stored[rows].astype(np.float32) if graph is None else _Rows(stored, rows)
        return _Loaded(generation, keys, rows, matrix, graph)

    # -- the graph

    @property
    def _file(self) -> Path:
        return self.folder / "vectors.f16"

    @property
    def _graph_file(self) -> Path:
        return self.folder / "graph.usearch"

    def _graph(self) -> Any:
        generation = dict(self._rows.execute("SELECT name, value FROM about")).get("graph")
        if generation is None or not self._graph_file.exists():
            return None
        from usearch.index import Index

        return Index.restore(str(self._graph_file), view=True)

    def _update_graph(self) -> None:
        """Bring the graph up to the table: nearest neighbours beyond ``EXACT_LIMIT`` come from it."""
        with self._lock:
            rows = {row for (row,) in self._rows.execute("SELECT row FROM rows")}
            before = dict(self._rows.execute("SELECT name, value FROM about")).get("graph")
        if len(rows) <= EXACT_LIMIT:
            return
        if before == str(self._generation()) and self._graph_file.exists():
            return
        import numpy as np
        from usearch.index import Index

        stored = np.memmap(self._file, dtype=np.float16, mode="r").reshape(-1, self.dimension)
        graph = Index(
            ndim=self.dimension,
            metric="ip",
            dtype="f16",
            connectivity=16,
            expansion_add=128,
            expansion_search=128,
        )
        order = np.array(sorted(rows), dtype=np.int64)
        for begin in range(0, len(order), 10_000):
            part = order[begin : begin + 10_000]
            graph.add(part, np.ascontiguousarray(stored[part]))
        temporary = self._graph_file.with_suffix(".new")
        graph.save(str(temporary))
        temporary.replace(self._graph_file)
        with self._transaction():
            pass
        with self._lock:
            self._rows.execute("INSERT OR REPLACE INTO about VALUES ('graph', ?)", (str(self._generation()),))


@dataclass(slots=True)
class _Rows:
    """A matrix that stays on disk: rows are read as they are asked for, products in slices."""

    stored: "NDArray[np.float16]"
    rows: "NDArray[np.int64]"

    def __getitem__(self, places: Any) -> "Floats":
        import numpy as np

        picked: Floats = self.stored[self.rows[places]].astype(np.float32)
        return picked

    def __matmul__(self, vector: "Floats") -> "Floats":
        import numpy as np

        parts = [self[slice(b, b + 8192)] @ vector for b in range(0, len(self.rows), 8192)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


class _Loaded:
    """One generation of the vectors, ready to be searched."""

    def __init__(
        self,
        generation: int,
        keys: list[tuple[str, int, int]],
        rows: "NDArray[np.int64]",
        matrix: "Floats | _Rows",
        graph: Any,
    ) -> None:
        self.generation = generation
        self.keys = keys
        self.rows = rows
        self.matrix = matrix
        self.graph = graph
        self.places = {key: place for place, key in enumerate(keys)}
        self._by_row = {int(row): place for place, row in enumerate(rows)} if graph is not None else {}

    def near(self, vector: "Floats", k: int) -> "tuple[NDArray[np.int64], Floats]":
        """Return places and exact scores of about the *k* nearest, by the graph."""
        import numpy as np

        query = np.asarray(vector, dtype=np.float32)
        found = self.graph.search(query.astype(np.float16), max(64, 2 * k))
        places = np.array(
            [self._by_row[int(r)] for r in found.keys if int(r) in self._by_row], dtype=np.int64
        )
        scores = self.matrix[places] @ query
        best = _top(scores, k)
        return places[best], scores[best]

    def ordered(
        self, places: "NDArray[np.int64]", scores: "Floats", *, k: int
    ) -> list[tuple[str, int, int, float]]:
        """Return hits best first; ``keys`` are in order, so place breaks ties as (document id, start)."""
        ranked = sorted(zip((-scores).tolist(), places.tolist(), strict=True))[:k]
        return [(*self.keys[place], -score) for score, place in ranked]


def _top(scores: "Floats", k: int) -> "NDArray[np.int64]":
    """Return the places of the *k* highest scores, and of all that tie with the last of them."""
    import numpy as np

    if len(scores) <= k:
        return np.arange(len(scores))
    cut = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores >= cut)
