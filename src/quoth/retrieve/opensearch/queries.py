"""Questions as search bodies. Words are only ever matched (``match``, ``match_phrase``): no query language."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from quoth.errors import InputError
from quoth.retrieve.opensearch.layout import AFTER, FOLDER, Json, fact, pack, plain_folder
from quoth.retrieve.opensearch.question import clean, neighbours, only_stop_words, without_asking
from quoth.text import STOP_WORDS
from quoth.types import Filter, Query

DOCUMENTS = 200
"""Documents that one request is for; a query may have 1,024 clauses."""

NEIGHBOUR_WEIGHT = 0.2
"""Two neighbours of the question in the same order and distance in a text: the embedded index's figure."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which fields are searched, what a title's match weighs, and how a question is cut.

    ``english`` drops stop words and words that only ask; where a question has no other words,
    ``bare`` names the analyzer that keeps them (empty: the field's own).
    """

    text: str
    title: str
    title_weight: float
    english: bool = False
    bare: str = ""


def clauses(query: Query, plan: Plan) -> Json:
    """Return the scoring part: any word may match, in the text or (weighted) in the title; scores add up.

    Neighbouring words, and phrases and terms that expanders added, are clauses of their own, with
    their weights. Raise ``InputError`` for a weight that is no number from 0 up.
    """
    words = clean(query.search or query.question)
    options: Json = {}
    if plan.english:
        words = without_asking(words)
        options = {"analyzer": plan.bare} if plan.bare and only_stop_words(words) else {}
    fields = [(plan.text, 1.0)] + ([(plan.title, plan.title_weight)] if plan.title else [])
    should: list[Json] = [_match(field, words, weight, options) for field, weight in fields]
    stop = STOP_WORDS if plan.english and not options else frozenset[str]()
    should += [_phrase(plan.text, pair, NEIGHBOUR_WEIGHT) for pair in neighbours(words, stop=stop)]
    for term in query.terms:
        if _counts(term.weight, term.text):
            should += [_match(field, clean(term.text), weight * term.weight, {}) for field, weight in fields]
    for phrase in query.phrases:
        if _counts(phrase.weight, phrase.text):
            should.append(_phrase(plan.text, clean(phrase.text), phrase.weight))
    return {"should": should, "minimum_should_match": 1}


def _phrase(field: str, words: str, weight: float) -> Json:
    return {"match_phrase": {field: {"query": words, "boost": weight}}}


def _match(field: str, words: str, weight: float, options: Json) -> Json:
    return {"match": {field: {"query": words, "boost": weight, **options}}}


def _counts(weight: float, what: str) -> bool:
    if not math.isfinite(weight) or weight < 0:
        raise InputError(f"The weight of {what!r} is {weight}; it must be a number from 0 up.")
    return weight > 0


def condition(filter: Filter) -> Json:
    """Return *filter* on the ``facts`` of our own indexes. Values compare as text, code point by code point.

    ``folder:`` is a prefix of the path, by whole names.
    """
    if not filter.key:
        raise InputError(f"The condition {str(filter)!r} has no key.")
    if filter.key == "folder":
        if filter.comparison != ":":
            raise InputError(f"{filter} means nothing: folder is a path prefix.", hint="Write folder:PATH.")
        folder = plain_folder(filter.value)
        return {"term": {"facts": fact(FOLDER, folder)}} if folder else {"match_all": {}}
    first, here, last = fact(filter.key, ""), fact(filter.key, filter.value), pack(filter.key) + AFTER
    if filter.comparison == ":":
        return {"term": {"facts": here}}
    bounds = {
        ">=": {"gte": here, "lt": last},
        ">": {"gt": here, "lt": last},
        "<=": {"gte": first, "lte": here},
        "<": {"gte": first, "lt": here},
    }
    return {"range": {"facts": bounds[filter.comparison]}}


def foreign_condition(filter: Filter, fields: Mapping[str, str]) -> Json:
    """Return *filter* on the field of an existing index that *fields* maps its key to."""
    if filter.key not in fields:
        known = ", ".join(sorted(fields)) or "none"
        raise InputError(f"{filter}: no field is mapped to {filter.key!r}.", hint=f"Mapped are: {known}.")
    field = fields[filter.key]
    if filter.comparison == ":":
        return {"term": {field: filter.value}}
    name = {">=": "gte", ">": "gt", "<=": "lte", "<": "lt"}[filter.comparison]
    return {"range": {field: {name: filter.value}}}


def visible(hidden: Iterable[str]) -> list[Json]:
    """Return the clause that keeps out what is half written, or about to go."""
    tokens = sorted(hidden)
    return [{"terms": {"token": tokens}}] if tokens else []


def places_queries(places: Sequence[tuple[str, int, int]]) -> Iterator[Json]:
    """Yield queries for the passages at (document id, start, end), few enough documents in each for one request."""
    starts: dict[str, list[int]] = {}
    for id, start, _ in places:
        starts.setdefault(pack(id), []).append(start)
    rows = [
        {"bool": {"filter": [{"term": {"document_id": id}}, {"terms": {"start": at}}]}}
        for id, at in starts.items()
    ]
    for first in range(0, len(rows), DOCUMENTS):
        yield {"should": rows[first : first + DOCUMENTS], "minimum_should_match": 1}


def ids_body(filters: Sequence[Json], hidden: Iterable[str], *, size: int, after: Json | None) -> Json:
    """Return a search for the next *size* ids of documents whose passages satisfy *filters*, in order."""
    parts: Json = {"size": size, "sources": [{"id": {"terms": {"field": "document_id"}}}]}
    return {
        "size": 0,
        "query": {"bool": {"filter": list(filters), "must_not": visible(hidden)}},
        "aggs": {"ids": {"composite": {**parts, **({"after": after} if after else {})}}},
    }


def counts_body(hidden: Iterable[str]) -> Json:
    """Return a search of the catalog for how much it holds."""
    return {
        "size": 0,
        "query": {"bool": {"must_not": visible(hidden)}},
        "aggs": {
            "kinds": {"terms": {"field": "kind"}, "aggs": {"states": {"terms": {"field": "state"}}}},
            "passages": {"sum": {"field": "passages"}},
            "characters": {"sum": {"field": "characters"}},
        },
    }


def search_body(
    scoring: Json, *, k: int, filters: Sequence[Json], hidden: Iterable[str] = (), seconds: float
) -> Json:
    """Return a whole search body, without an order."""
    return {
        "query": {"bool": {**scoring, "filter": list(filters), "must_not": visible(hidden)}},
        "size": k,
        "track_total_hits": False,
        "timeout": f"{max(1, int(seconds * 1000))}ms",
    }
