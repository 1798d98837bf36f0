"""A query as the engine's clauses. Nothing a person types is ever parsed as query syntax."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quoth.errors import InputError
from quoth.retrieve.store.analysis import Analyzer, Token, groups, neighbours
from quoth.types import Query

TITLE_WEIGHT = 0.1
"""The title's own clause beside the text's (which begins with the title): best on SQuAD 2.0 train questions."""

NEIGHBOUR_WEIGHT = 0.2
"""Two neighbours of the question in the same order and distance in a text: best on those questions, too."""

MOST_CLAUSES = 4_096


@dataclass(frozen=True, slots=True)
class Clause:
    """A thing that is searched for: one term, or several at set distances from each other.

    ``field`` is ``text`` (title and text together) or ``title``.
    """

    field: str
    terms: tuple[str, ...]
    offsets: tuple[int, ...]
    weight: float
    origin: str

    def build(self, schema: Any) -> Any:
        """Return the engine's query for this clause."""
        from tantivy import Query as EngineQuery

        if len(self.terms) == 1:
            plain = EngineQuery.term_query(schema, self.field, self.terms[0], "freq")
        else:
            places = list(zip(self.offsets, self.terms, strict=True))
            plain = EngineQuery.phrase_query(schema, self.field, places)
        return plain if self.weight == 1.0 else EngineQuery.boost_query(plain, self.weight)


def clauses(query: Query, analyzer: Analyzer) -> list[Clause]:
    """Return what *query* searches for: its words in text and title, pairs of neighbours, phrases, weighted terms.

    Equal clauses are one, with the sum of their weights. Where words, phrases and terms have
    no search term among them (punctuation, emoji), there is no clause.
    """
    found: dict[tuple[str, tuple[str, ...], tuple[int, ...]], Clause] = {}

    def add(tokens: Sequence[Token], weight: float, origin: str, *, title: bool) -> None:
        terms = tuple(t.text for t in tokens)
        offsets = tuple(t.position - tokens[0].position for t in tokens)
        wanted = [("text", weight)] + ([("title", weight * TITLE_WEIGHT)] if title else [])
        for field, amount in wanted:
            key = (field, terms, offsets)
            before = found.get(key)
            total = amount + (before.weight if before else 0.0)
            found[key] = Clause(field, terms, offsets, total, before.origin if before else origin)

    words = analyzer.question_terms(query.search or query.question)
    for group in groups(words):
        add(group, 1.0, "question", title=True)
    for pair in neighbours(words):
        add(pair, NEIGHBOUR_WEIGHT, "question", title=False)
    for term in query.terms:
        for group in groups(analyzer.content_terms(term.text)) if _counts(term.weight, term.text) else ():
            add(group, term.weight, term.origin, title=True)
    for phrase in query.phrases:
        tokens = analyzer.content_terms(phrase.text) if _counts(phrase.weight, phrase.text) else []
        if tokens:
            add(tokens, phrase.weight, phrase.origin, title=False)
    return list(found.values())[:MOST_CLAUSES]


def _counts(weight: float, what: str) -> bool:
    if not math.isfinite(weight) or weight < 0:
        raise InputError(f"The weight of {what!r} is {weight}; it must be a number from 0 up.")
    return weight > 0


def combined(parts: Sequence[Clause], required: Sequence[Any], schema: Any) -> Any:
    """Return the engine's query: any of *parts*, their scores summed, and all of *required*."""
    from tantivy import Occur
    from tantivy import Query as EngineQuery

    anything = EngineQuery.boolean_query([(Occur.Should, part.build(schema)) for part in parts])
    if not required:
        return anything
    return EngineQuery.boolean_query([*((Occur.Must, q) for q in required), (Occur.Must, anything)])
