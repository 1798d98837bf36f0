"""Documents held in memory, for what a caller hands over with the question."""

from collections.abc import Sequence

from quoth import text
from quoth.errors import InputError
from quoth.retrieve.where import satisfies
from quoth.types import Document, Passage, Query, Scored


class MemoryRetriever:
    """Returns the passages of a few documents that share a word with the question.

    The score is the number of different words that are shared, stop words aside (all words where
    there are only stop words): a first cut, meant to be followed by a ranker.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {document.id: document for document in documents}
        found = [passage for document in documents for passage in text.passages(document)]
        self._passages = tuple(sorted(found, key=lambda p: (p.document_id, p.start)))
        self._words = tuple(frozenset(text.words(f"{p.title} {p.text}")) for p in self._passages)

    def __len__(self) -> int:
        return len(self._passages)

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return the *k* passages that share the most words, ties by (document id, start)."""
        added = [*(phrase.text for phrase in query.phrases), *(term.text for term in query.terms)]
        asked = frozenset(text.words(" ".join([query.search or query.question, *added])))
        asked = asked - text.STOP_WORDS or asked
        kept = {
            d.id for d in self._documents.values() if all(satisfies(f, d.metadata) for f in query.filters)
        }
        hits = [
            Scored(passage, float(len(asked & held)))
            for passage, held in zip(self._passages, self._words, strict=True)
            if passage.document_id in kept and asked & held
        ]
        return sorted(hits, key=lambda hit: -hit.score)[:k]

    def document(self, id: str) -> Document:
        """Return the document with this *id*."""
        if id not in self._documents:
            raise InputError(f"There is no document {id!r}.")
        return self._documents[id]
