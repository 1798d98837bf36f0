"""One unchanging view of an index: a view of the engine and one of the catalog that fit each other."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from quoth.errors import InputError
from quoth.retrieve.store import filters, records
from quoth.retrieve.store.analysis import Analyzer
from quoth.retrieve.store.clauses import Clause, clauses, combined
from quoth.retrieve.store.engine import View, damaged
from quoth.types import Document, Entry, Filter, Passage, Query, Scored, Source

MOST = 10_000
"""The most passages that one search returns."""

MARGIN = 16
FURTHEST = 20_000


@dataclass(frozen=True, slots=True)
class Match:
    """What a passage was found by. ``text`` is the analysed term, or terms of a phrase; ``field`` is ``text``
    (title and text together) or ``title``; ``score`` is the part of the passage's score that it gave.
    """

    text: str
    field: str
    weight: float
    origin: str
    score: float


class Snapshot:
    """A retriever over an index as it was at one moment, whatever is written meanwhile."""

    def __init__(self, view: View, connection: sqlite3.Connection, analyzer: Analyzer) -> None:
        self.view = view
        self.connection = connection
        self._analyzer = analyzer

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return at most *k* (1 to 10,000) passages, best first, ties in order of (document id, start).

        Where more than 20,000 passages tie at the cut, which of them are returned is not defined.
        """
        k = min(max(k, 1), MOST)
        filters.check(query.filters)
        parts = clauses(query, self._analyzer)
        required = filters.query(self.view, query.filters)
        if not parts or required is None:
            return []
        asked = combined(parts, required, self.view.schema)
        limit = k + MARGIN
        while True:
            hits = self.view.search(asked, limit)
            found = self._resolve(hits, query)
            short = len(found) < k or found[k - 1].score == hits[-1][0]
            if len(hits) < limit or limit >= FURTHEST or not short:
                break
            limit = min(limit * 4, FURTHEST)
        return [Scored(records.passage_of(self.connection, s.item), s.score) for s in found[:k]]

    def _resolve(self, hits: Sequence[tuple[float, int]], query: Query) -> list[Scored[records.Row]]:
        """Return the hits that satisfy the filters, in their final order."""
        rows = records.passage_rows(self.connection, [n for _, n in hits], state=self.view.state)
        if len(rows) < len({number for _, number in hits}):
            raise damaged(None, "it names passages that the catalog does not hold")
        found = [
            Scored(rows[number], score)
            for score, number in hits
            if all(filters.holds(condition, rows[number]) for condition in query.filters)
        ]
        found.sort(key=lambda s: (-s.score, s.item.id, s.item.start))
        return found

    def explain(self, query: Query, passage: Passage) -> tuple[Match, ...]:
        """Return what *passage* matched of *query*, the most telling first; the scores sum to its score."""
        from tantivy import Occur
        from tantivy import Query as EngineQuery

        number = self._number(passage)
        schema = self.view.schema
        here = EngineQuery.const_score_query(EngineQuery.term_query(schema, "passage", number), 0.0)
        found = []
        for part in clauses(query, self._analyzer):
            only = EngineQuery.boolean_query([(Occur.Must, here), (Occur.Must, part.build(schema))])
            for score, _ in self.view.search(only, 1):
                found.append(Match(_shown(part), part.field, part.weight, part.origin, score))
        found.sort(key=lambda match: (-match.score, match.text, match.field))
        return tuple(found)

    def _number(self, passage: Passage) -> int:
        number = self._find(passage.document_id, passage.start, passage.end)
        if number is None:
            raise InputError(
                f"The index holds no passage {passage.start}-{passage.end} of {passage.document_id!r}."
            )
        return number

    def _find(self, document_id: str, start: int, end: int) -> int | None:
        """Return the number of the passage that stands there, or None."""
        row = self.connection.execute(
            "SELECT p.number FROM passages p JOIN documents d ON d.number = p.document WHERE d.id = :id "
            f'AND p.start = :start AND p."end" = :end AND {records.VISIBLE.format("d")}',
            {"id": document_id, "start": start, "end": end, "state": self.view.state},
        ).fetchone()
        return None if row is None else int(row[0])

    def document(self, id: str) -> Document:
        """Return the document with this *id*, whole. Raise ``InputError`` for an unknown id."""
        return records.find_document(self.connection, id, state=self.view.state)

    def passages_at(self, places: Sequence[tuple[str, int, int]]) -> list[Passage | None]:
        """Return the passages that stand at (document id, start, end), in the order asked; None where there is none."""
        numbers = [self._find(*place) for place in places]
        held = self.passages_of([number for number in numbers if number is not None])
        return [None if number is None else held.get(number) for number in numbers]

    def allowed(self, conditions: Sequence[Filter]) -> frozenset[str]:
        """Return the ids of the documents that satisfy all *conditions*."""
        filters.check(conditions)
        rows = self.connection.execute(
            "SELECT d.number, d.id, d.title, f.path, d.metadata FROM documents d "
            f"JOIN files f ON f.number = d.file WHERE {records.VISIBLE.format('d')}",
            {"state": self.view.state},
        )
        documents = (
            records.Row(number, id, 0, 0, records.unpack(title), records.unpack(path), metadata)
            for number, id, title, path, metadata in rows
        )
        return frozenset(row.id for row in documents if all(filters.holds(each, row) for each in conditions))

    def source_of(self, document_id: str) -> Source:
        """Return the file that a document came from. Raise ``InputError`` for an unknown id."""
        return records.find_source(self.connection, document_id, state=self.view.state)

    def sources(self) -> Iterator[Source]:
        """Yield every source, in order of path."""
        return records.all_sources(self.connection, state=self.view.state)

    def entries(self) -> Iterator[Entry]:
        """Yield every document without its text, in order of (source, id)."""
        return records.all_entries(self.connection, state=self.view.state)

    def passages(self) -> Iterator[tuple[int, Passage]]:
        """Yield every passage with its number, in order of (document id, start); a number is never used twice."""
        return records.all_passages(self.connection, state=self.view.state)

    def passages_of(self, numbers: Iterable[int]) -> Mapping[int, Passage]:
        """Return the passages with these numbers, those that there are."""
        rows = records.passage_rows(self.connection, list(numbers), state=self.view.state)
        return {number: records.passage_of(self.connection, row) for number, row in rows.items()}


def _shown(part: Clause) -> str:
    words: list[str] = []
    for offset, term in zip(part.offsets, part.terms, strict=True):
        words += ["_"] * (offset - len(words)) + [term]
    return " ".join(words)
