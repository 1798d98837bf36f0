"""What dense retrieval asks of a store: passages by their place, and which documents a filter leaves."""

import json
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, cast

from quoth.errors import InputError
from quoth.protocols import Retriever, Store
from quoth.retrieve.store import filters as conditions
from quoth.retrieve.store.records import Row
from quoth.types import Document, Entry, Filter, Passage, Query, Scored

Place = tuple[str, int, int]
"""Document id, start and end."""


class PassageStore(Retriever, Protocol):
    """A retriever that can also hand out passages by their places, and the documents that a filter leaves."""

    def passages_at(self, places: Sequence[Place]) -> list[Passage | None]:
        """Return the passages that stand there now, in the order asked; None where there is none."""
        ...

    def allowed(self, filters: Sequence[Filter]) -> Container[str]:
        """Return the ids of the documents that satisfy all *filters*."""
        ...


@contextmanager
def moment(store: Retriever) -> Iterator[PassageStore]:
    """Yield *store* as it is now: one unchanging view, where it has such, so that both searches see one state."""
    snapshot = getattr(store, "snapshot", None)
    if snapshot is not None:
        with snapshot() as now:
            yield now
    elif hasattr(store, "passages_at") and hasattr(store, "allowed"):
        yield cast(PassageStore, store)
    else:
        yield _Adapted(store)


class _Adapted:
    """Any store, through its documents and its list of entries."""

    def __init__(self, store: Retriever) -> None:
        self._store = store
        self._documents: dict[str, Document | None] = {}

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        return self._store.retrieve(query, k=k)

    def document(self, id: str) -> Document:
        return self._store.document(id)

    def passages_at(self, places: Sequence[Place]) -> list[Passage | None]:
        """Return those slices of their documents, each of which is asked for once."""
        return [self._passage(*place) for place in places]

    def _passage(self, document_id: str, start: int, end: int) -> Passage | None:
        if document_id not in self._documents:
            try:
                self._documents[document_id] = self._store.document(document_id)
            except InputError:
                self._documents[document_id] = None
        document = self._documents[document_id]
        if document is None or end > len(document.text):
            return None
        return Passage(document_id, start, end, document.text[start:end], document.title)

    def allowed(self, filters: Sequence[Filter]) -> Container[str]:
        """Return the ids of the listed documents that satisfy all *filters*."""
        conditions.check(filters)
        return {
            entry.id
            for entry in cast(Store, self._store).entries()
            if all(conditions.holds(each, _row(entry)) for each in filters)
        }


def _row(entry: Entry) -> Row:
    return Row(0, entry.id, 0, 0, entry.title, entry.source, json.dumps(dict(entry.metadata)))
