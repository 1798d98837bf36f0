"""The first hits of any retriever, ordered anew by a slower and better judge whose scores are weighed in."""

from collections.abc import Sequence

from quoth.errors import InputError
from quoth.protocols import Ranker, Retriever
from quoth.types import Candidate, Document, Passage, Query, Scored

_APART = 1e-6


class RerankedRetriever:
    """Score of the inner retriever + ``weight`` x score of a ranker, for the first *depth* hits.

    The ranker may be anything that reads question and passage together: a reader (``SpanSentenceRanker``), a
    cross-encoder. What comes behind the first *depth* keeps its order behind them.
    """

    def __init__(self, inner: Retriever, ranker: Ranker, *, weight: float, depth: int = 20) -> None:
        if depth < 1:
            raise InputError(f"depth is {depth}; it must be 1 or more.")
        self._inner, self._ranker, self._weight, self._depth = inner, ranker, weight, depth

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return at most *k* passages, best first; ties by (document id, start)."""
        hits = self._inner.retrieve(query, k=max(k, self._depth))
        first, rest = list(hits[: self._depth]), list(hits[self._depth :])
        candidates = [Candidate(hit.item.text) for hit in first]
        judged = self._ranker.score(query.question, candidates) if first else []
        if len(judged) != len(first):
            raise InputError(f"The ranker gave {len(judged)} scores for {len(first)} passages.")
        made = [
            Scored(hit.item, hit.score + self._weight * score)
            for hit, score in zip(first, judged, strict=True)
        ]
        # What was not judged stands below the last that was, at its old distances.
        lowest = min((hit.score for hit in made), default=0.0)
        down = max(0.0, rest[0].score - lowest + _APART) if rest else 0.0
        rest = [Scored(hit.item, hit.score - down) for hit in rest]
        for part in (made, rest):
            part.sort(key=lambda hit: (-hit.score, hit.item.document_id, hit.item.start))
        return [*made, *rest][:k]

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self._inner.document(id)
