"""Small parts that keep the contracts exactly: for tests of what is built on them."""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from quoth import text
from quoth.errors import InputError
from quoth.protocols import Layout, Tokens, Window
from quoth.rank import Bm25Ranker
from quoth.retrieve.where import satisfies
from quoth.types import (
    Candidate,
    Document,
    Entry,
    Passage,
    Query,
    Reading,
    Scored,
    Source,
    Span,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_TOKEN = re.compile(r"\w+|[^\w\s]")


class FakeRetriever:
    """Searches documents in memory by BM25 over all their passages, stemmed, phrases and terms as words."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {document.id: document for document in documents}

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return the passages that share a term with the query."""
        kept = [d for d in self._documents.values() if all(satisfies(f, d.metadata) for f in query.filters)]
        passages = [passage for document in kept for passage in text.passages(document)]
        added = [*(phrase.text for phrase in query.phrases), *(term.text for term in query.terms)]
        asked = " ".join([query.search or query.question, *added])
        scores = Bm25Ranker().score(asked, [Candidate(f"{p.title} {p.text}") for p in passages])
        found = [Scored(p, s) for p, s in zip(passages, scores, strict=True) if s > 0]
        found.sort(key=lambda scored: (-scored.score, scored.item.document_id, scored.item.start))
        return found[:k]

    def document(self, id: str) -> Document:
        """Return the document with this *id*."""
        if id not in self._documents:
            raise InputError(f"There is no document {id!r}.")
        return self._documents[id]


class FakeStore(FakeRetriever):
    """A store in memory: what it holds lasts as long as the object."""

    def __init__(self) -> None:
        super().__init__([])
        self._sources: dict[str, tuple[Source, tuple[Document, ...]]] = {}

    def put(self, batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
        """Replace what these sources held."""
        new = {source.path: (source, tuple(documents)) for source, documents in batch}
        self._settle({**self._sources, **new})

    def drop(self, paths: Sequence[str]) -> int:
        """Remove these sources."""
        gone = set(paths) & set(self._sources)
        self._settle({path: held for path, held in self._sources.items() if path not in gone})
        return len(gone)

    def sources(self) -> Iterator[Source]:
        """Yield every source, in order of path."""
        yield from (self._sources[path][0] for path in sorted(self._sources))

    def entries(self) -> Iterator[Entry]:
        """Yield every document, without its text."""
        for path in sorted(self._sources):
            for document in sorted(self._sources[path][1], key=lambda d: d.id):
                yield Entry(
                    id=document.id,
                    title=document.title,
                    source=path,
                    sha256=document.sha256,
                    characters=len(document.text),
                    passages=len(text.passages(document)),
                    metadata=document.metadata,
                    notes=document.notes,
                )

    def _settle(self, sources: dict[str, tuple[Source, tuple[Document, ...]]]) -> None:
        documents = [document for _, held in sources.values() for document in held]
        if len({document.id for document in documents}) < len(documents):
            raise InputError("Two documents have the same id.", code="duplicate_id")
        self._sources = sources
        self._documents = {document.id: document for document in documents}


class FakeRanker:
    """Scores a text by the best of the given strings that it holds; *default* without any."""

    def __init__(self, scores: Mapping[str, float], *, default: float = 0.0) -> None:
        self._scores = dict(scores)
        self._default = default

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """Return one score for each candidate; the question does not count."""
        return [
            max((score for held, score in self._scores.items() if held in c.text), default=self._default)
            for c in candidates
        ]


class FakeReader:
    """Finds given strings, each with its score, wherever they stand in the passages."""

    def __init__(self, answers: Mapping[str, float], *, null_score: float = 0.0) -> None:
        self._answers = {answer: score for answer, score in answers.items() if answer}
        self._null_score = null_score

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return every place of every string, best first, then in the order of the passages."""
        found = [
            (-score, index, match.start(), match.end())
            for index, passage in enumerate(passages)
            for answer, score in self._answers.items()
            for match in re.finditer(re.escape(answer), passage.text)
        ]
        found.sort()
        spans = tuple(Scored(_span(passages[index], a, b), -minus) for minus, index, a, b in found)
        return Reading(
            spans=spans,
            passages=tuple(index for _, index, _, _ in found),
            null_score=self._null_score if passages else 0.0,
            read=len(passages),
            windows=len(passages),
            tokens=sum(len(_TOKEN.findall(passage.text)) for passage in passages),
        )


def _span(passage: Passage, start: int, end: int) -> Span:
    return Span(passage.document_id, passage.start + start, passage.start + end, passage.text[start:end])


class FakeSpanModel:
    """A model whose tokens are words and marks, and whose logits point at given answers.

    Where the tokens of an answer stand in the passage, the start logit of the first and the end logit of the
    last are its score; at the null position both are *null*; everywhere else they are -10.
    """

    layout = Layout(before=(1,), between=(2,), after=(2,), question_type=0, passage_type=1)

    def __init__(
        self, answers: Mapping[str, float], *, null: float = 0.0, max_length: int = 64, name: str = "fake"
    ) -> None:
        self.name = name
        self.max_length = max_length
        self._null = null
        self._answers = [(self.tokenize([a])[0].ids, score) for a, score in answers.items() if a.strip()]

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """Return words and marks, with ids from 10 that depend on the string alone."""
        return [self._tokens(found) for found in texts]

    def logits(self, windows: Sequence[Window]) -> "Sequence[tuple[Floats, Floats]]":
        """Return the logits of each window."""
        return [self._logits(window) for window in windows]

    def _tokens(self, found: str) -> Tokens:
        matches = list(_TOKEN.finditer(found))
        ids = [10 + zlib.crc32(match.group().encode("utf-8", "surrogatepass")) for match in matches]
        spans = [match.span() for match in matches]
        return Tokens(np.array(ids, dtype=np.int64), np.array(spans, dtype=np.int64).reshape(-1, 2))

    def _logits(self, window: Window) -> "tuple[Floats, Floats]":
        start = np.full(len(window.ids), -10.0, dtype=np.float32)
        end = start.copy()
        for ids, score in self._answers:
            for at in range(len(window.ids) - len(ids) + 1):
                last = at + len(ids) - 1
                inside = bool((window.types[at : last + 1] == self.layout.passage_type).all())
                if inside and np.array_equal(window.ids[at : last + 1], ids):
                    start[at], end[last] = max(start[at], score), max(end[last], score)
        start[0] = end[0] = self._null
        return start, end


class FakeEncoder:
    """Turns a text into the normalised sum of its words' random directions; shared words make texts alike."""

    def __init__(self, *, dimension: int = 64) -> None:
        self.name = f"fake-{dimension}"
        self.dimension = dimension

    def encode_queries(self, texts: Sequence[str]) -> "Floats":
        """Return vectors of shape (len(texts), dimension)."""
        return self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str]) -> "Floats":
        """Return vectors of shape (len(texts), dimension)."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float64)
        for row, found in enumerate(texts):
            for word in ("", *text.words(found)):
                seed = zlib.crc32(word.encode("utf-8", "surrogatepass"))
                vectors[row] += np.random.default_rng(seed).standard_normal(self.dimension)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)
