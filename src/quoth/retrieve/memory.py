"""Documents held in memory: every passage is a candidate, and the ranker decides."""

from collections.abc import Sequence

from quoth import text
from quoth.errors import InputError
from quoth.types import Document, Passage, Query, Scored


class MemoryRetriever:
    """Returns the passages of a few documents, unranked (all scores are 0), in order of (document, start).

    Meant for what a caller hands over with the question; filters are not looked at.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {document.id: document for document in documents}
        found = [passage for document in documents for passage in text.passages(document)]
        self._passages: tuple[Passage, ...] = tuple(sorted(found, key=lambda p: (p.document_id, p.start)))

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return the first *k* passages."""
        return [Scored(passage, 0.0) for passage in self._passages[:k]]

    def document(self, id: str) -> Document:
        """Return the document with this *id*."""
        if id not in self._documents:
            raise InputError(f"There is no document {id!r}.")
        return self._documents[id]

    def __len__(self) -> int:
        return len(self._passages)
