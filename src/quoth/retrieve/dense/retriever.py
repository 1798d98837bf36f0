"""Retrieval by vectors, alone or fused with a lexical retriever."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from quoth.protocols import Encoder, Retriever
from quoth.retrieve import fuse as fusing
from quoth.retrieve.dense.moment import PassageStore, moment
from quoth.retrieve.dense.table import Key
from quoth.retrieve.dense.vectors import Vectors, key_of
from quoth.retrieve.fuse import Fusion, fuse
from quoth.types import Document, Passage, Query, Scored


class Found(tuple[Scored[Passage], ...]):
    """Passages, best first; ``notes`` say what a reader of the result should know."""

    notes: tuple[str, ...]

    def __new__(cls, hits: Iterable[Scored[Passage]], notes: Iterable[str] = ()) -> "Found":
        """Make the tuple."""
        self = super().__new__(cls, tuple(hits))
        self.notes = tuple(notes)
        return self


class DenseRetriever:
    """The passages whose vectors are nearest to the question's (cosine)."""

    def __init__(self, store: Retriever, vectors: Vectors, encoder: Encoder) -> None:
        self._store = store
        self._vectors = vectors
        self._encoder = encoder

    def retrieve(self, query: Query, *, k: int) -> Found:
        """Return the *k* nearest passages, best first; every passage matches to some degree.

        A passage that changed since its vector was made is left out.
        """
        vector = self._encoder.encode_queries([query.question])[0]
        with moment(self._store) as now:
            allowed = now.allowed(query.filters) if query.filters else None
            hits = self._vectors.search(vector, k=k, allowed=allowed)
            found = _current(now, [key for key, _ in hits])
        return Found(Scored(found[key], score) for key, score in hits if key in found)

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self._store.document(id)


class HybridRetriever:
    """Lexical and dense hits fused (``quoth.retrieve.fuse`` has the formulas).

    Each side is asked for ``fusion.depth`` passages. A lexical hit that the vectors did not bring gets its
    exact cosine. One that has no vector yet (its text came later) gets the mean of the other lexical hits', so
    that its words decide, and ``notes`` say so.
    """

    def __init__(self, lexical: Retriever, vectors: Vectors, encoder: Encoder, *, fusion: Fusion) -> None:
        self._lexical = lexical
        self._vectors = vectors
        self._encoder = encoder
        self._fusion = fusion

    def retrieve(self, query: Query, *, k: int) -> Found:
        """Return the *k* best of both, best first."""
        depth = max(k, self._fusion.depth)
        vector = self._encoder.encode_queries([query.question])[0]
        with moment(self._lexical) as now:
            words = list(now.retrieve(query, k=depth))
            allowed = now.allowed(query.filters) if query.filters else None
            near = dict(self._vectors.search(vector, k=depth, allowed=allowed))
            held = {key_of(hit.item): hit for hit in words}
            missing = [key for key in held if key not in near]
            cosines = self._vectors.similarities(vector, missing)
            near |= {key: c for key, c in zip(missing, cosines, strict=True) if c is not None}
            known = [near[key] for key in held if key in near] or list(near.values())
            neutral = sum(known) / len(known) if known else 0.0
            near |= {key: neutral for key, c in zip(missing, cosines, strict=True) if c is None}
            lexical = {_place(key): hit.score for key, hit in held.items()}
            # A vector of a text that was replaced since is nobody's, even where the place is the same.
            valid = {_place(key): c for key, c in near.items() if key in held or _place(key) not in lexical}
            others = {_place(key): key for key in near if key not in held}
            hits = self._hits(now, fuse(lexical, valid, replace(self._fusion, depth=depth)), held, others, k)
        lacking = sum(c is None for c in cosines)
        said = f"{lacking} of the {len(words)} passages found by words have no vector yet; `quoth index` makes them."
        return Found(hits, [said] if lacking else [])

    def _hits(
        self,
        now: PassageStore,
        scored: Sequence[tuple[fusing.Key, float]],
        held: Mapping[Key, Scored[Passage]],
        others: Mapping[fusing.Key, Key],
        k: int,
    ) -> list[Scored[Passage]]:
        at = {_place(key): hit.item for key, hit in held.items()}
        hits: list[Scored[Passage]] = []
        for begin in range(0, len(scored), k):
            part = scored[begin : begin + k]
            fetched = _current(now, [others[place] for place, _ in part if place not in at])
            at |= {_place(key): passage for key, passage in fetched.items()}
            hits += [Scored(at[place], score) for place, score in part if place in at]
            if len(hits) >= k:
                break
        return hits[:k]

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self._lexical.document(id)


class RescoringRetriever:
    """Cosine over the hits of an index that is not ours: each passage is embedded once, then remembered.

    At most 100 hits are embedded for a question, and *most* vectors are kept, the newest.
    """

    def __init__(
        self, inner: Retriever, vectors: Vectors, encoder: Encoder, *, fusion: Fusion, most: int = 100_000
    ) -> None:
        self._inner = inner
        self._vectors = vectors
        self._encoder = encoder
        self._fusion = replace(fusion, depth=min(fusion.depth, 100))
        self._most = most

    def retrieve(self, query: Query, *, k: int) -> Found:
        """Return the *k* best of the inner retriever's hits, by both scores."""
        hits = list(self._inner.retrieve(query, k=max(k, self._fusion.depth)))
        if not hits:
            return Found(())
        first = [hit.item for hit in hits[: self._fusion.depth]]
        vector = self._encoder.encode_queries([query.question])[0]
        products = self._vectors.embed(first, self._encoder, most=self._most) @ vector
        cosines = {_place(key_of(p)): float(c) for p, c in zip(first, products, strict=True)}
        by_place = {_place(key_of(hit.item)): hit for hit in hits}
        scored = fuse({place: hit.score for place, hit in by_place.items()}, cosines, self._fusion)
        return Found(Scored(by_place[place].item, score) for place, score in scored[:k])

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self._inner.document(id)


def _current(now: PassageStore, keys: Sequence[Key]) -> dict[Key, Passage]:
    """Return the passages of vectors, but for those that are gone or are another text by now."""
    found = now.passages_at([_place(key) for key in keys])
    return {key: p for key, p in zip(keys, found, strict=True) if p is not None and key_of(p) == key}


def _place(key: Key) -> fusing.Key:
    return (key.document_id, key.start, key.end)
