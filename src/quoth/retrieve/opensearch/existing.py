"""Anybody's index of whole documents, read as it is: fields are mapped, nothing is written."""

import hashlib
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quoth.errors import InputError
from quoth.retrieve.opensearch.address import Address
from quoth.retrieve.opensearch.hits import Hits, check_shards, hits_of
from quoth.retrieve.opensearch.layout import Json
from quoth.retrieve.opensearch.mapped import check_text, check_there, exact, fields_of, refusal
from quoth.retrieve.opensearch.queries import Plan, clauses, foreign_condition, search_body
from quoth.retrieve.opensearch.wire import ASKING, Rejected, Wire, check_product
from quoth.types import Document, Filter, Passage, Query

log = logging.getLogger(__name__)

MAX_K = 1_000
NAMESAKES = 1_000
"""Documents that are looked through for those with one of some ids: several values of a field may hold the id."""

TITLE_WEIGHT = 0.4
"""The title's clause beside the text's, which does not hold the title here."""

_META = "meta."


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of an index hold what: ``title`` and ``source`` where there are any, ``metadata`` by our keys."""

    text: str
    title: str = ""
    id: str = "_id"
    source: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Fields":
        """Return the fields that an address's options name."""
        if not options.get("text"):
            raise InputError("The field of the text is not named.", hint="Add text=FIELD to the address.")
        return cls(
            text=options["text"],
            title=options.get("title", ""),
            id=options.get("id", "_id"),
            source=options.get("source", ""),
            metadata={k.removeprefix(_META): v for k, v in options.items() if k.startswith(_META)},
        )


class ExistingIndex:
    """A ``Retriever`` over an index that others made and fill. It is never written to.

    Hits are whole documents (a passage from 0 to the end); what reads them cuts them. Words are
    matched with the index's own analyzer. Ties are in order of document id among what is
    returned; which of several equal documents make the last places is the engine's choice
    where the id is ``_id``. Where the id is a field, a document without a value of it, or with
    several, is known by its ``_id``. Safe to share between threads.
    """

    def __init__(self, wire: Wire, fields: Fields) -> None:
        self._wire = wire
        self._index = wire.address.index
        self._fields = fields
        self._mapped = mapped = fields_of(wire.get(f"/{self._index}/_mapping"))
        check_text(mapped, fields.text, self._index)
        if fields.title:
            check_text(mapped, fields.title, self._index)
        for name in fields.metadata.values():
            check_there(mapped, name, self._index)
        self._id = fields.id if fields.id == "_id" else exact(mapped, fields.id, self._index)
        self._longest = int(mapped.get(self._id, {}).get("ignore_above", sys.maxsize))
        names = (fields.text, fields.title, fields.source, *fields.metadata.values())
        self._wanted = sorted({n for n in names if n} | ({fields.id} - {"_id"}))

    @classmethod
    def connect(cls, address: str, *, fields: Fields | None = None) -> "ExistingIndex":
        """Return the index at *address*, read through *fields* (None: those that the address maps).

        Raise ``BackendError`` where the server is not to be had, ``InputError`` for a field that is
        not there or of a kind that cannot serve.
        """
        parsed = Address.parse(address)
        wire = Wire(parsed)
        check_product(wire)
        return cls(wire, fields or Fields.of(parsed.fields))

    def retrieve(self, query: Query, *, k: int) -> Hits:
        """Return at most *k* whole documents that hold a word of the question, best first."""
        if k < 1:
            return Hits(())
        scoring = clauses(query, Plan(self._fields.text, self._fields.title, TITLE_WEIGHT))
        filters = [self._condition(f) for f in query.filters]
        filters.append({"exists": {"field": self._fields.text}})
        body = search_body(scoring, k=min(k, MAX_K), filters=filters, seconds=ASKING.read)
        order: list[Json] = [{"_score": "desc"}] + ([] if self._id == "_id" else [{self._id: "asc"}])
        try:
            reply = self._search({**body, "sort": order, "_source": self._wanted})
        except Rejected:
            self._check_filters(query.filters)
            raise
        return hits_of(
            {**reply, "hits": {"hits": self._known([_flat(h) for h in _hits(reply)])}}, self._passage
        )

    def document(self, id: str) -> Document:
        """Return the document with this *id*, whole. Raise ``InputError`` for an unknown id."""
        rows = self._owners([id], self._wanted)
        if not rows and self._id != "_id":
            rows = [row for row in self._rows({"ids": {"values": [id]}}, self._wanted) if not self._own(row)]
        if not rows:
            raise InputError(
                f"There is no document {id!r} in {self._index!r}.",
                hint="`quoth search QUESTION --json` shows the ids of what it finds.",
                code="unknown_document",
            )
        row = rows[0]
        text = self._value(row, self._fields.text)
        return Document(
            id=id,
            text=text,
            title=self._value(row, self._fields.title),
            source=self._value(row, self._fields.source),
            sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            metadata={
                key: value for key, name in self._fields.metadata.items() if (value := self._value(row, name))
            },
        )

    def info(self) -> dict[str, object]:
        """Return what there is to say about the index."""
        count = self._wire.get(f"/{self._index}/_count").get("count")
        return {
            "address": str(self._wire.address),
            "documents": count,
            "read_only": True,
            "split": "document",
        }

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    def _condition(self, filter: Filter) -> Json:
        """Return *filter* on its key's field. Raise ``InputError`` where none is mapped, or one that cannot serve."""
        name = self._fields.metadata.get(filter.key)
        names = (
            self._fields.metadata if name is None else {filter.key: exact(self._mapped, name, self._index)}
        )
        return foreign_condition(filter, names)

    def _check_filters(self, filters: Sequence[Filter]) -> None:
        """Raise ``InputError`` for the first filter that the server does not take by itself either."""
        for filter in filters:
            try:
                self._search({"size": 0, "query": {"bool": {"filter": [self._condition(filter)]}}})
            except Rejected as problem:
                name = self._fields.metadata[filter.key]
                raise refusal(filter, name, self._mapped, why=problem.message) from problem

    def _search(self, body: Json) -> Json:
        partial = self._wire.address.partial
        params = {"allow_partial_search_results": str(partial).lower(), "search_type": "dfs_query_then_fetch"}
        reply = self._wire.search(f"/{self._index}/_search", body, params=params)
        check_shards(reply, self._wire.address.place, partial=partial)
        return reply

    def _passage(self, row: Json) -> Passage:
        text = self._value(row, self._fields.text)
        return Passage(self._name(row), 0, len(text), text, self._value(row, self._fields.title))

    def _own(self, row: Json) -> str:
        """Return the one value of the id's field; empty where there is none, or are several, or it is not indexed."""
        value = _at(row, self._fields.id)
        if isinstance(value, list) and len(value) == 1:
            (value,) = value
        name = "" if isinstance(value, list | Mapping) else _text(value)
        return name if len(name) <= self._longest else ""

    def _name(self, row: Json) -> str:
        """Return the document's id: the one value of the id's field, else ``_id``."""
        return self._own(row) or str(row["_id"])

    def _owners(self, ids: Sequence[str], fields: Sequence[str]) -> list[Json]:
        """Return these *fields* of the documents whose ids these are by the id's field, where it can hold them."""
        query: Json = {"ids": {"values": ids}} if self._id == "_id" else {"terms": {self._id: ids}}
        try:
            rows = self._rows(query, fields)
        except Rejected:
            return [row for id in ids for row in self._owners([id], fields)] if len(ids) > 1 else []
        return [row for row in rows if self._own(row) in ids]

    def _rows(self, query: Json, fields: Sequence[str]) -> list[Json]:
        body = {"query": {"bool": {"filter": [query]}}, "size": NAMESAKES, "_source": list(fields)}
        return [_flat(hit)["_source"] for hit in _hits(self._search(body))]

    def _known(self, hits: list[Json]) -> list[Json]:
        """Return *hits* without those known by their ``_id`` where that is, by the id's field, another document's."""
        strays = [str(h["_source"]["_id"]) for h in hits if not self._own(h["_source"])]
        taken = {self._own(row) for row in self._owners(strays, [self._fields.id])} if strays else set()
        for id in sorted(taken):
            log.warning("%s: a hit is left out, for its _id %r is another document's id.", self._index, id)
        return [h for h in hits if self._own(h["_source"]) or str(h["_source"]["_id"]) not in taken]

    def _value(self, row: Json, name: str) -> str:
        return _text(_at(row, name)) if name else ""


def _hits(reply: Json) -> list[Json]:
    found = reply.get("hits", {}).get("hits", [])
    return [hit for hit in found if isinstance(hit, dict)]


def _flat(hit: Json) -> Json:
    """Return *hit* with its id among its fields."""
    return {**hit, "_source": {**(hit.get("_source") or {}), "_id": hit.get("_id", "")}}


def _at(row: Any, name: str) -> Any:
    """Return the value at a dotted name; a key that holds the dots itself comes first."""
    if not isinstance(row, Mapping):
        return None
    if name in row:
        return row[name]
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        head = ".".join(parts[:size])
        if head in row:
            return _at(row[head], ".".join(parts[size:]))
    return None


def _text(value: Any) -> str:
    """Return a field's value as text; several values are paragraphs."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n\n".join(_text(v) for v in value)
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
