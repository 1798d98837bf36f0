"""Synonyms by static word vectors (GloVe, word2vec) in their text format."""

import hashlib
import logging
import os
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quoth.errors import InputError
from quoth.retrieve.expand.synonyms import Synonym, Word

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

NEIGHBOURS = 10
"""How many neighbours are looked at for each word, before they are filtered."""

_LINES = 20_000
_WORTH_KEEPING = 10_000_000  # bytes: a second to parse

log = logging.getLogger(__name__)


class WordVectors:
    """Words and their unit vectors (float32, 4 bytes for each number), of shape (words, dimension)."""

    def __init__(self, words: Sequence[str], vectors: "Floats") -> None:
        """*vectors* has shape (len(words), dimension). Of a word that is given twice, the first counts."""
        if vectors.ndim != 2 or len(words) != len(vectors):
            raise InputError(f"There are {len(words)} words for vectors of shape {vectors.shape}.")
        self.words = tuple(words)
        self._rows = {word: row for row, word in reversed(list(enumerate(self.words)))}
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self.unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._rows

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self.unit.shape[1])

    def neighbours(self, word: str, *, n: int = NEIGHBOURS) -> list[tuple[str, float]]:
        """Return the *n* words of highest cosine with *word*, itself left out, best first; none for an unknown word."""
        row = self._rows.get(word)
        if row is None or n < 1 or len(self.words) < 2:
            return []
        cosines = np.einsum("ij,j->i", self.unit, self.unit[row])  # BLAS threads cost more than they give
        cosines[row] = -np.inf
        n = min(n, len(cosines) - 1)
        best = np.argpartition(-cosines, n - 1)[:n]
        best = best[np.lexsort((best, -cosines[best]))]
        return [(self.words[i], float(cosines[i])) for i in best]


class VectorSynonyms:
    """Takes a word's nearest neighbours for its synonyms. They are often antonyms, or of another sense."""

    name = "vectors"

    def __init__(self, vectors: WordVectors, *, threshold: float = 0.0, n: int = NEIGHBOURS) -> None:
        """Neighbours of a cosine below *threshold* are left out."""
        self._vectors = vectors
        self._threshold = threshold
        self._n = n

    def synonyms(self, question: str, chosen: Sequence[Word]) -> Sequence[Sequence[Synonym]]:
        """Return the neighbours of each word, whatever the question."""
        return [self._of(word.text) for word in chosen]

    def _of(self, word: str) -> list[Synonym]:
        near = self._vectors.neighbours(word, n=self._n)
        return [Synonym(text, f"cosine {cosine:.2f}") for text, cosine in near if cosine >= self._threshold]


def load_vectors(path: Path) -> WordVectors:
    """Read a text file of vectors: a word and its numbers on each line, word2vec's first line of counts allowed.

    A file is read once as long as it stays the same; what a file over 10 MB says is kept in the user's cache
    folder, under quoth/vectors. Raise ``InputError`` where it is missing or a line does not fit.
    """
    try:
        facts = path.stat()
    except OSError as problem:
        raise InputError(f"The word vectors {path} cannot be read: {problem.strerror}.") from problem
    return _read(path, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=2)
def _read(path: Path, mtime_ns: int, size: int) -> WordVectors:
    if size < _WORTH_KEEPING:
        return _parse(path)
    key = hashlib.sha256(f"{path.resolve()}\n{mtime_ns}\n{size}".encode("utf-8", "replace")).hexdigest()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    kept = Path(base) / "quoth" / "vectors" / f"{key[:24]}.npz"
    found = _load(kept)
    if found is None:
        found = _parse(path)
        _keep(kept, found)
    return found


def _load(kept: Path) -> WordVectors | None:
    """Return vectors that were parsed before; None where there are none, or the file is damaged."""
    try:
        with np.load(kept, allow_pickle=False) as file:
            words = file["words"].tobytes().decode("utf-8").split("\n")
            return WordVectors(words, file["vectors"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, InputError) as problem:
        log.info("the cache %s is of no use (%s)", kept, problem)
        return None


def _keep(kept: Path, vectors: WordVectors) -> None:
    """Keep parsed vectors, whole or not at all. A cache that cannot be written is a help missed, not a fault."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=kept.parent, suffix=".npz", delete=False) as file:
            part = Path(file.name)
            try:
                words = np.frombuffer("\n".join(vectors.words).encode(), dtype=np.uint8)
                np.savez(file, words=words, vectors=vectors.unit)
                part.replace(kept)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
    except OSError as problem:
        log.info("the cache %s cannot be written (%s)", kept, problem)


def _parse(path: Path) -> WordVectors:
    words: list[str] = []
    parts: list[Floats] = []
    dimension = 0
    with path.open(encoding="utf-8", errors="replace") as file:
        for first, lines in _chunks(file):
            if first == 1 and len(lines[0].split()) == 2:
                first, lines = 2, lines[1:]
            if not lines:
                continue
            dimension = dimension or len(lines[0].split()) - 1
            rows = [line.rstrip().rsplit(" ", dimension) for line in lines]
            parts.append(_numbers(path, first, rows, dimension))
            words += [row[0] for row in rows]
    if not words:
        raise InputError(f"{path} holds no word vectors.")
    return WordVectors(words, np.concatenate(parts))


def _chunks(lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield some lines at a time, with the number of the first; empty lines are left out."""
    number = 1
    while chunk := list(islice(lines, _LINES)):
        kept = [line for line in chunk if line.strip()]
        if kept:
            yield number, kept
        number += len(chunk)


def _numbers(path: Path, first: int, rows: Sequence[list[str]], dimension: int) -> "Floats":
    bad = next((i for i, row in enumerate(rows) if len(row) != dimension + 1), None)
    if bad is not None or dimension < 1:
        raise InputError(
            f"{path}, line {first + (bad or 0)}: not a word and {max(dimension, 1)} numbers.",
            hint="GloVe's and word2vec's text formats are read; binary ones are not.",
        )
    try:
        found = np.loadtxt([" ".join(row[1:]) for row in rows], np.float32, comments=None, ndmin=2)
    except ValueError as problem:
        raise InputError(f"{path}, behind line {first}: {problem}.") from problem
    if not np.isfinite(found).all():
        raise InputError(f"{path}, behind line {first}: a number is not finite.")
    return found
