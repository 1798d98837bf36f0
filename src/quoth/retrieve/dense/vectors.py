"""A file of float16 vectors, and the table that says which passage each row belongs to.

``rows.sqlite`` is the truth: a row that it does not name is free, whatever the file holds there. Vectors
are written and synced before the rows that name them, so a killed writer costs the batch it was at.
Rows are given out and written inside one transaction, so two processes never take the same one.
"""

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from quoth.errors import IndexUnusableError
from quoth.protocols import Encoder
from quoth.retrieve.dense import graph
from quoth.retrieve.dense.large import OnDisk
from quoth.retrieve.dense.loaded import Loaded, State
from quoth.retrieve.dense.table import Key, Table, open_table
from quoth.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

T = TypeVar("T")

FORMAT = 1
EXACT_LIMIT = 100_000
"""Above so many vectors the graph (HNSW) answers instead of a scan."""
BATCH = 64
TRIES = 5
SLICE = 8192
Progress = Callable[[int, int], None]


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
    """Return what is embedded for *passage*: its title (words, where it was a name), a full stop, its text."""
    return f"{passage.title.replace('_', ' ')}. {passage.text}" if passage.title else passage.text


class Vectors:
    """The vectors of one encoder over one index. Any number of readers and writers.

    Searches see the last finished batch. Scores are dot products of unit vectors.
    """

    def __init__(self, folder: Path, *, encoder: str, dimension: int) -> None:
        """Open *folder*, made when it is missing. Raise ``IndexUnusableError`` for another encoder's or format's."""
        self.folder = folder
        self.dimension = dimension
        self._encoder = encoder
        self._lock = threading.RLock()
        self._loaded: State | None = None
        self._spare: list[int] = []
        try:
            self._rows = open_table(folder)
            self._introduce()
        except (sqlite3.DatabaseError, OSError) as problem:
            raise _unusable(folder, f"cannot be opened: {problem}") from problem

    @classmethod
    def at(cls, folder: Path) -> "Vectors":
        """Open what is in *folder*, whichever encoder's it is. Raise ``IndexUnusableError`` where that is nothing."""
        try:
            with closing(open_table(folder)) as rows:
                about = dict(rows.execute("SELECT name, value FROM about"))
            return cls(folder, encoder=about["encoder"], dimension=int(about["dimension"]))
        except (sqlite3.DatabaseError, OSError, KeyError, ValueError) as problem:
            raise _unusable(folder, f"cannot be opened: {problem}") from problem

    def _introduce(self) -> None:
        expected = {"format": str(FORMAT), "encoder": self._encoder, "dimension": str(self.dimension)}
        found = self._about()
        if not found:
            about = [*expected.items(), ("generation", "0"), ("held", "0")]
            self._rows.executemany("INSERT OR IGNORE INTO about VALUES (?, ?)", about)
            found = self._about()
        elif "held" not in found:  # made before it was counted
            self._rows.execute("INSERT OR IGNORE INTO about SELECT 'held', count(*) FROM rows")
        for name, value in expected.items():
            if found.get(name) != value:
                raise _unusable(self.folder, f"have {name} {found.get(name)}, not {value}")

    def _about(self) -> Mapping[str, str]:
        with self._lock:
            return dict(self._rows.execute("SELECT name, value FROM about"))

    def __len__(self) -> int:
        with self._lock:
            return int(self._rows.execute("SELECT value FROM about WHERE name = 'held'").fetchone()[0])

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

        *passages* is gone through twice, so it is no iterator, and need not fit into memory. A batch is durable
        when the next begins; a run that was interrupted goes on where it was.
        """
        self._forget_lost()
        held = self._keys()
        wanted = {key_of(passage) for passage in passages}
        gone = [row for key, row in held.items() if key not in wanted]
        if gone:
            with self._transaction():
                self._rows.executemany("DELETE FROM rows WHERE row = ?", [(row,) for row in gone])
        total, done = len(wanted) - (len(held) - len(gone)), 0
        for batch in _batches(passages, held):
            self._add(batch, encoder)
            done += len(batch)
            if progress is not None:
                progress(done, total)
        self._update_graph()
        return SyncReport(added=done, removed=len(gone), kept=len(held) - len(gone))

    def _forget_lost(self) -> None:
        """Free the rows whose vectors are not in the file (it was cut off) or are none: they are encoded again."""
        lost, broken = self._lost()
        if lost or broken:
            with self._transaction():
                self._rows.executemany("DELETE FROM rows WHERE row = ?", [(row,) for row in (*lost, *broken)])

    def _lost(self, *, full: bool = True) -> tuple[list[int], list[int]]:
        """Return the rows of the table that lie beyond the file, and (where *full*) those that hold no vector."""
        import numpy as np

        with self._lock:
            rows = np.array(
                [row for (row,) in self._rows.execute("SELECT row FROM rows ORDER BY row")], np.int64
            )
        whole = self._whole()
        there = rows[rows < whole] if full else rows[:0]
        broken: list[int] = []
        for begin in range(0, len(there), SLICE):
            part = there[begin : begin + SLICE]
            numbers = np.asarray(self._stored()[part], np.float32)
            sizes = np.einsum("ij,ij->i", numbers, numbers)
            broken += part[~(np.isfinite(sizes) & (sizes > 0))].tolist()
        return rows[rows >= whole].tolist(), broken

    def problems(self, *, full: bool = True) -> list[str]:
        """Return what is wrong with the vectors (*full*: having read all of them); nothing, where all is well."""
        lost, broken = self._lost(full=full)
        said = ((lost, f"are not in {self._file.name}, which was cut off"), (broken, "are no numbers"))
        return [f"{self.folder.name}: {len(rows):,} vectors {what}." for rows, what in said if rows]

    def _whole(self) -> int:
        """Return how many rows the file has, in full."""
        return self._file.stat().st_size // (self.dimension * 2) if self._file.exists() else 0

    def embed(self, passages: Sequence[Passage], encoder: Encoder, *, most: int = 0) -> "Floats":
        """Return the vectors of *passages*, (n, dimension), encoding those that are not held yet.

        Nothing is removed, but for the oldest where more than *most* are held (0: no bound).
        """
        import numpy as np

        if not passages:
            return np.zeros((0, self.dimension), np.float32)
        keys = [key_of(passage) for passage in passages]
        missing = {k: p for k, p in zip(keys, passages, strict=True) if self._row(k) is None}
        if missing:
            for batch in _batches(missing.values(), {}):
                self._add(batch, encoder)
            if most:
                self._forget(most)
        rows = [row for row in map(self._row, keys) if row is not None]
        if len(rows) < len(keys):  # more than *most* were asked for at once
            return encoder.encode_passages([passage_text(p) for p in passages])
        return np.asarray(self._stored()[rows], np.float32)

    def _forget(self, most: int) -> None:
        with self._transaction():
            self._rows.execute(
                "DELETE FROM rows WHERE serial <= (SELECT serial FROM rows ORDER BY serial DESC LIMIT 1 OFFSET ?)",
                (most,),
            )

    def _row(self, key: Key) -> int | None:
        with self._lock:
            found = self._rows.execute(
                "SELECT row FROM rows WHERE document_id = ? AND start = ? AND finish = ? AND digest = ?", key
            ).fetchone()
        return None if found is None else int(found[0])

    def _add(self, batch: Sequence[tuple[Key, Passage]], encoder: Encoder) -> None:
        """Encode a batch, then write what nobody else wrote meanwhile."""
        vectors = encoder.encode_passages([passage_text(p) for _, p in batch])
        with self._transaction():
            fresh = [i for i, (key, _) in enumerate(batch) if self._row(key) is None]
            rows = self._free_rows(len(fresh))
            self._write(rows, vectors[fresh])
            self._rows.executemany(
                "INSERT INTO rows (row, document_id, start, finish, digest) VALUES (?, ?, ?, ?, ?)",
                [(row, *batch[i][0]) for row, i in zip(rows, fresh, strict=True)],
            )

    def _write(self, rows: Sequence[int], vectors: "Floats") -> None:
        import numpy as np

        width = self.dimension * 2
        with open(self._file, "r+b" if self._file.exists() else "w+b") as file:
            for row, vector in zip(rows, vectors.astype(np.float16), strict=True):
                if file.tell() != row * width:
                    file.seek(row * width)
                file.write(vector.tobytes())
            file.flush()
            os.fsync(file.fileno())

    def _free_rows(self, count: int) -> list[int]:
        """Return rows that no passage has: holes first, then new ones at the end."""
        last = self._rows.execute("SELECT coalesce(max(row), -1) FROM rows").fetchone()[0]
        holes = self._holes(count, last) if count and len(self) <= last else []
        return [*holes, *range(last + 1, last + 1 + count - len(holes))]

    def _holes(self, count: int, last: int) -> list[int]:
        """Return up to *count* free rows below *last*: all are looked for once, and each checked when it is used."""
        if not self._spare:
            taken = {row for (row,) in self._rows.execute("SELECT row FROM rows")}
            self._spare = [row for row in range(last) if row not in taken]
        free: list[int] = []
        while self._spare and len(free) < count:
            wanted = count - len(free)
            part, self._spare = self._spare[:wanted], self._spare[wanted:]
            marks = ",".join("?" * len(part))
            used = self._rows.execute(f"SELECT row FROM rows WHERE row IN ({marks})", part).fetchall()
            free += sorted(set(part) - {row for (row,) in used})
        return free

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
    ) -> list[tuple[Key, float]]:
        """Return up to *k* (key, score), best first, ties by (document id, start).

        *allowed*, where given, holds the ids of the documents that may be returned.
        """
        return self._asked(lambda state: state.search(vector, k=k, allowed=allowed))

    def similarities(self, vector: "Floats", keys: Sequence[Key]) -> "list[float | None]":
        """Return the dot product for each key, or None for one whose vector is not held."""
        return self._asked(lambda state: state.similarities(vector, keys))

    def _asked(self, ask: Callable[[State], T]) -> T:
        """Return what a state says of its own rows: asked again where a writer came between, a few times."""
        for _ in range(TRIES):
            state = self._load()
            answer = ask(state)
            with self._lock:
                if self._generation() == state.generation:
                    break
        return answer  # by then at worst a row was reused, whose passage is compared with its key before it is quoted

    def _keys(self) -> dict[Key, int]:
        with self._lock:
            rows = self._rows.execute("SELECT document_id, start, finish, digest, row FROM rows").fetchall()
        return {Key(*key): row for *key, row in rows}

    def _load(self) -> State:
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

    def _read(self, generation: int) -> State:
        import numpy as np

        table = Table(self._select)
        last = self._rows.execute("SELECT max(row) FROM rows").fetchone()[0]
        if last is None:
            return Loaded(generation, table, np.zeros(0, np.int64), np.zeros((0, self.dimension), np.float32))
        if self._whole() <= last:
            raise _unusable(self.folder, f"are damaged: {self._file.name} is shorter than its table says")
        about = self._about()
        near = graph.view(self.folder, about.get("graph")) if len(self) > EXACT_LIMIT else None
        if near is not None:
            return OnDisk(generation, table, self._stored(), near, upto=int(about["graph_upto"]))
        found = self._rows.execute("SELECT row FROM rows ORDER BY row").fetchall()
        rows = np.fromiter((row for (row,) in found), np.int64, len(found))
        stored = self._stored()
        whole = len(rows) == last + 1
        return Loaded(
            generation, table, rows, np.asarray(stored[: last + 1] if whole else stored[rows], np.float32)
        )

    def _select(self, statement: str, values: Sequence[object]) -> list[Any]:
        with self._lock:
            return self._rows.execute(statement, values).fetchall()

    def _stored(self) -> "NDArray[np.float16]":
        import numpy as np

        return np.memmap(self._file, np.float16, "r", shape=(self._whole(), self.dimension))

    @property
    def _file(self) -> Path:
        return self.folder / "vectors.f16"

    def _update_graph(self) -> None:
        """Bring the graph up to the table, where there are enough vectors for one."""
        if len(self) <= EXACT_LIMIT:
            return
        with self._lock:
            table = dict(self._rows.execute("SELECT serial, row FROM rows").fetchall())
        old = self._about().get("graph")
        name = graph.update(self.folder, old, table, self._stored())
        if name == old:
            return
        with self._transaction():
            upto = [("graph", name), ("graph_upto", str(max(table)))]
            self._rows.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", upto)
        graph.discard(self.folder, old)


def _batches(passages: Iterable[Passage], held: Mapping[Key, int]) -> Iterator[list[tuple[Key, Passage]]]:
    """Yield what is not held, each key once, in the order given."""
    batch: list[tuple[Key, Passage]] = []
    seen: set[Key] = set()
    for passage in passages:
        key = key_of(passage)
        if key in held or key in seen:
            continue
        seen.add(key)
        batch.append((key, passage))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _unusable(folder: Path, what: str) -> IndexUnusableError:
    return IndexUnusableError(
        f"The vectors in {folder.name} {what}.",
        hint="`quoth index` makes them again; where it cannot, remove that folder first.",
    )
