"""Questions as search bodies. Words are only ever matched (``match``, ``match_phrase``): no query language."""

import math
from collections.abc import Iterable, Mapping, Sequence

from quoth.errors import InputError
from quoth.retrieve.opensearch.layout import AFTER, FOLDER, Json, fact, pack, plain_folder
from quoth.types import Filter, Query

TITLE_WEIGHT = 0.1
"""The title's own clause beside the text's (which begins with the title): the embedded index's figure."""


def clauses(query: Query, *, text: str, title: str, title_weight: float, analyzer: str = "") -> Json:
    """Return the scoring part: any word may match, in the text or (weighted) in the title; scores add up.

    Phrases and terms that expanders added are clauses of their own, with their weights. *analyzer*
    cuts the question's words (empty: the field's own for questions). Raise ``InputError`` for a
    weight that is no number from 0 up.
    """
    own: Json = {"analyzer": analyzer} if analyzer else {}
    fields = [(text, 1.0)] + ([(title, title_weight)] if title and title_weight > 0 else [])
    should: list[Json] = [
        _match(field, query.search or query.question, weight, own) for field, weight in fields
    ]
    for term in query.terms:
        if _counts(term.weight, term.text):
            should += [_match(field, term.text, weight * term.weight, {}) for field, weight in fields]
    for phrase in query.phrases:
        if _counts(phrase.weight, phrase.text):
            should.append({"match_phrase": {text: {"query": phrase.text, "boost": phrase.weight}}})
    return {"should": should, "minimum_should_match": 1}


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
