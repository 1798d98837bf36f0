"""Retrieval by vectors, alone or fused with a lexical retriever."""

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Protocol

from quoth.protocols import Encoder, Retriever
from quoth.retrieve.dense.vectors import Vectors
from quoth.retrieve.fuse import Fusion, fuse
from quoth.types import Document, Filter, Passage, Query, Scored


class PassageStore(Retriever, Protocol):
    """A retriever that can also hand out a passage by its place, and the documents that a filter leaves."""

    def passage(self, document_id: str, start: int, end: int) -> Passage | None:
        """Return the passage that stands there now, or None where there is none."""
        ...

    def allowed(self, filters: Sequence[Filter]) -> Container[str]:
        """Return the ids of the documents that satisfy all *filters*."""
        ...


class DenseRetriever:
    """The passages whose vectors are nearest to the question's (cosine)."""

    def __init__(self, store: PassageStore, vectors: Vectors, encoder: Encoder) -> None:
        self._store = store
        self._vectors = vectors
        self._encoder = encoder

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return the *k* nearest passages, best first; every passage matches to some degree."""
        vector = self._encoder.encode_queries([query.question])[0]
        allowed = self._store.allowed(query.filters) if query.filters else None
        hits = self._vectors.search(vector, k=k, allowed=allowed)
        found = [(self._store.passage(document, start, end), score) for document, start, end, score in hits]
        return [Scored(passage, score) for passage, score in found if passage is not None]

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self._store.document(id)

    def similarities(self, question: str, passages: Sequence[Passage]) -> list[float | None]:
        """Return the cosine of the question and each passage; None where there is no vector."""
        vector = self._encoder.encode_queries([question])[0]
        return self._vectors.similarities(vector, passages)


class HybridRetriever:
    """Lexical and dense hits fused (``quoth.retrieve.fuse`` has the formulas).

    Each side is asked for *depth* passages; a lexical hit that the vectors did not bring gets
    its exact cosine, so only the other direction has to be estimated.
    """

    def __init__(self, lexical: PassageStore, vectors: Vectors, encoder: Encoder, *, fusion: Fusion) -> None:
        self._lexical = lexical
        self._vectors = vectors
        self._encoder = encoder
        self._fusion = fusion

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return the *k* best of both, best first."""
        depth = max(k, self._fusion.depth)
        words = list(self._lexical.retrieve(query, k=depth))
        vector = self._encoder.encode_queries([query.question])[0]
        allowed = self._lexical.allowed(query.filters) if query.filters else None
        near = self._vectors.search(vector, k=depth, allowed=allowed)
        cosines = {(document, start, end): score for document, start, end, score in near}
        missing = [hit.item for hit in words if _key(hit.item) not in cosines]
        for passage, cosine in zip(missing, self._vectors.similarities(vector, missing), strict=True):
            if cosine is not None:
                cosines[_key(passage)] = cosine
        lexical = {_key(hit.item): hit.score for hit in words}
        held = {_key(hit.item): hit.item for hit in words}
        scored = fuse(lexical, cosines, self._fusion)
        return self._passages(scored, held, k)

    def _passages(
        self,
        scored: Sequence[tuple[tuple[str, int, int], float]],
        held: dict[tuple[str, int, int], Passage],
        k: int,
    ) -> list[Scored[Passage]]:
        hits: list[Scored[Passage]] = []
        for key, score in scored:
            passage = held.get(key) or self._lexical.passage(*key)
            if passage is not None:
                hits.append(Scored(passage, score))
            if len(hits) == k:
                break
        return hits

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self._lexical.document(id)


class RescoringRetriever:
    """Cosine over the hits of an index that is not ours: each passage is embedded once, then remembered."""

    def __init__(self, inner: Retriever, vectors: Vectors, encoder: Encoder, *, fusion: Fusion) -> None:
        self._inner = inner
        self._vectors = vectors
        self._encoder = encoder
        self._fusion = replace(fusion, depth=min(fusion.depth, 100))

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return the *k* best of the inner retriever's hits, by both scores."""
        hits = list(self._inner.retrieve(query, k=max(k, self._fusion.depth)))
        passages = [hit.item for hit in hits]
        self._vectors.ensure(passages, self._encoder)
        vector = self._encoder.encode_queries([query.question])[0]
        cosines = {
            _key(p): c
            for p, c in zip(passages, self._vectors.similarities(vector, passages), strict=True)
            if c is not None
        }
        by_key = {_key(p): p for p in passages}
        scored = fuse({_key(hit.item): hit.score for hit in hits}, cosines, self._fusion)
        return [Scored(by_key[key], score) for key, score in scored[:k]]

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self._inner.document(id)


def _key(passage: Passage) -> tuple[str, int, int]:
    return (passage.document_id, passage.start, passage.end)
