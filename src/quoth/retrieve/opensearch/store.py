"""Documents on an OpenSearch cluster, as a ``Store``."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from quoth.errors import InputError
from quoth.retrieve.opensearch import admin, layout
from quoth.retrieve.opensearch.address import Address
from quoth.retrieve.opensearch.bulk import Row, load
from quoth.retrieve.opensearch.hits import Hits, check_shards, hits_of, matched_of, rows_of
from quoth.retrieve.opensearch.layout import Json
from quoth.retrieve.opensearch.ledger import Ledger, State
from quoth.retrieve.opensearch.queries import (
    Plan,
    clauses,
    condition,
    counts_body,
    ids_body,
    places_queries,
    search_body,
    visible,
)
from quoth.retrieve.opensearch.verify import counted, counts_of, damaged
from quoth.retrieve.opensearch.wire import ASKING, Missing, Wire, check_product
from quoth.types import Document, Entry, Filter, Passage, Query, Source

log = logging.getLogger(__name__)

PAGE = 1_000
SCROLL = 500
MAX_K = 10_000
TITLE_WEIGHT = 0.1
"""The title's own clause beside the text's (which begins with the title): the embedded index's figure."""

_ORDER = [{"_score": "desc"}, {"document_id": "asc"}, {"start": "asc"}]
_FIELDS = ["document_id", "start", "end", "text", "title"]

Progress = Callable[[int], None]


class OpenSearchStore:
    """A ``Store`` on a cluster: ``NAME`` holds the passages, ``NAME-catalog`` the rest.

    A put is all or nothing for readers of this class, on any number of shards (see ``ledger``):
    its records stay hidden until one write shows them and hides what they replace. Scores may
    move a little while a put is under way (the engine's statistics count hidden records until
    they are merged away). One writer at a time; a second one gets ``BusyError``. Safe to share
    between threads.
    """

    def __init__(self, wire: Wire, *, meta: Json, progress: Progress | None = None) -> None:
        self._wire = wire
        self._passages = wire.address.index
        self._catalog = admin.catalog_of(wire.address.index)
        self._ledger = Ledger(wire, self._catalog)
        self._split = str(meta.get("split", "passage"))
        self._analyzer = str(meta.get("analyzer", "english"))
        self._plan = Plan("words", "title", TITLE_WEIGHT, english=self._analyzer == "english", bare="words")
        self._progress = progress
        self._writing = threading.Lock()

    @classmethod
    def connect(
        cls,
        address: str,
        *,
        create: bool = False,
        analyzer: str = "english",
        split: str = "passage",
        shards: int = 1,
        progress: Progress | None = None,
    ) -> "OpenSearchStore":
        """Return the store at *address* (``opensearch://host:port/name``).

        With *create*, one that is not there is made, with *analyzer*, *split* and *shards*; one
        that is there keeps its own. *progress* is called during a put with the records written.
        Raise ``BackendError`` where the server is down, too old or not OpenSearch, ``InputError``
        where there is no such index, ``IndexUnusableError`` where it is not ours.
        """
        parsed = Address.parse(address)
        if parsed.fields:
            raise InputError(
                f"{parsed} maps fields: that index is read as it is, not written to.", code="read_only"
            )
        wire = Wire(parsed)
        check_product(wire)
        if create and not admin.exists(wire):
            admin.create(wire, analyzer=analyzer, split=split, shards=shards)
        return cls(wire, meta=admin.meta(wire), progress=progress)

    # reading

    def retrieve(self, query: Query, *, k: int) -> Hits:
        """Return at most *k* passages that hold a word of the question, best first.

        The result is a tuple with ``partial``, which is only ever true where the address allows
        it (``partial=1``) and some shards did not answer; else that is a ``BackendError``.
        """
        if k < 1:
            return Hits(())
        scoring = clauses(query, self._plan)
        filters = [condition(f) for f in query.filters]

        def search(hidden: Iterable[str]) -> Json:
            body = search_body(scoring, k=min(k, MAX_K), filters=filters, hidden=hidden, seconds=ASKING.read)
            return self._search(self._passages, {**body, "sort": _ORDER, "_source": _FIELDS}, ranked=True)

        reply = self._ledger.reading(search)
        return hits_of(reply, layout.passage_from)

    def matched(self, query: Query, passage: Passage) -> tuple[str, ...]:
        """Return the terms and phrases of *query* that *passage* holds, as searched, the most telling first."""
        (place,) = places_queries([(passage.document_id, passage.start, passage.end)])
        scoring = clauses(query, self._plan)

        def search(hidden: Iterable[str]) -> Json:
            body = search_body(scoring, k=1, filters=[{"bool": place}], hidden=hidden, seconds=ASKING.read)
            return self._search(self._passages, {**body, "explain": True, "_source": False}, ranked=True)

        return matched_of(self._ledger.reading(search))

    def document(self, id: str) -> Document:
        """Return the document with this *id*, whole. Raise ``InputError`` for an unknown id."""
        return layout.document_from(self._document_row(id, ["document_id", "body"]))

    def passages_at(self, places: Sequence[tuple[str, int, int]]) -> list[Passage | None]:
        """Return the passages that stand at (document id, start, end), in the order asked; None where there is none."""
        found: dict[tuple[str, int, int], Passage] = {}
        for some in places_queries(places):

            def search(hidden: Iterable[str], some: Json = some) -> Json:
                query = {"bool": {**some, "must_not": visible(hidden)}}
                return self._search(self._passages, {"query": query, "size": MAX_K, "_source": _FIELDS})

            for passage in map(layout.passage_from, rows_of(self._ledger.reading(search))):
                found[passage.document_id, passage.start, passage.end] = passage
        return [found.get(place) for place in places]

    def allowed(self, filters: Sequence[Filter]) -> frozenset[str]:
        """Return the ids of the documents with passages that satisfy all *filters*."""
        conditions = [condition(f) for f in filters]

        def pages(hidden: Iterable[str]) -> frozenset[str]:
            ids, after = [], None
            while True:
                body = ids_body(conditions, hidden, size=PAGE, after=after)
                page = self._search(self._passages, body)["aggregations"]["ids"]
                ids += [layout.unpack(bucket["key"]["id"]) for bucket in page["buckets"]]
                after = page.get("after_key")
                if after is None:
                    return frozenset(ids)

        return self._ledger.reading(pages)

    def source_of(self, document_id: str) -> Source:
        """Return the source that the document came from. Raise ``InputError`` for an unknown id."""
        path = self._document_row(document_id, ["path"])["path"]
        rows = self._rows([{"term": {"kind": "source"}}, {"term": {"path": path}}], size=1)
        if not rows:
            raise InputError(f"There is no source of the document {document_id!r}.", code="unknown_document")
        return layout.source_from(rows[0])

    def sources(self) -> Iterator[Source]:
        """Yield every source, in order of path, all as of one moment."""
        return (layout.source_from(row) for row in self._listed("source", ["path"], None))

    def entries(self) -> Iterator[Entry]:
        """Yield every document, without its text, in order of (source, id), all as of one moment."""
        leave = {"excludes": ["body.text", "body.segments", "body.paragraphs"]}
        return (layout.entry_from(row) for row in self._listed("document", ["path", "document_id"], leave))

    def info(self) -> dict[str, object]:
        """Return what there is to say about the index: counts, settings, the cluster's state."""
        count = self._ledger.reading(self._counts)
        health = self._wire.get(f"/_cluster/health/{self._passages},{self._catalog}")
        stats = self._wire.get(f"/{self._passages},{self._catalog}/_stats/store,docs")
        size = stats.get("_all", {}).get("total", {}).get("store", {}).get("size_in_bytes", 0)
        return {
            "address": str(self._wire.address),
            "format": layout.FORMAT,
            "analyzer": self._analyzer,
            "split": self._split,
            **count,
            "bytes": size,
            "status": health.get("status"),
            "nodes": health.get("number_of_nodes"),
            "shards": health.get("active_primary_shards"),
        }

    def verify(self, *, full: bool) -> Sequence[str]:
        """Return what is wrong with the index; nothing, where all is well. For when nobody writes; *full* reads all."""
        health = self._wire.get(f"/_cluster/health/{self._passages},{self._catalog}")
        if health.get("status") == "red":
            return [f"{self._wire.address.place}: a part of the index is missing (its status is red)."]
        found = self._ledger.reading(lambda hidden: counted(self._search, self._passages, hidden))
        listed = self._ledger.reading(self._counts)["passages"]
        problems = (
            [] if found == listed else [f"{found:,} passages can be found; the catalog lists {listed:,}."]
        )
        if full:
            rows = self._listed("document", ["path", "document_id"], None)
            problems += damaged(rows, self._search, self._passages)
        return problems

    def setting(self, name: str) -> str | None:
        """Return the value kept under *name*, or None where none was set."""
        try:
            value = self._wire.get(self._setting_path(name))["_source"]["body"]["value"]
        except Missing:
            return None
        return str(value)

    def set_setting(self, name: str, value: str) -> None:
        """Keep *value* with the index. Never a secret: whoever reads the index reads it."""
        self._wire.write("PUT", self._setting_path(name), {"kind": "setting", "body": {"value": value}})

    # writing

    def put(self, batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
        """Replace what these sources held, all of it or nothing. Idempotent.

        On return the batch is in the translog of every copy, and searches see it. Where it
        raises, what was stored before still stands.
        """
        batch = list({source.path: (source, documents) for source, documents in batch}.values())
        layout.check_names(batch)
        if batch:
            self._replace([source.path for source, _ in batch], batch)

    def drop(self, paths: Sequence[str]) -> int:
        """Remove these sources and their documents; return how many sources there were."""
        wanted = list(dict.fromkeys(paths))
        return self._replace(wanted, ()) if wanted else 0

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    def __enter__(self) -> "OpenSearchStore":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _replace(self, paths: Sequence[str], batch: Sequence[tuple[Source, Sequence[Document]]]) -> int:
        """Take what *paths* hold out of sight and *batch* into it, in one step; return how many there were."""
        with self._writing:
            written = [source.path for source, _ in batch]
            state, left = self._ledger.begin(lambda put: [layout.token(path, str(put)) for path in written])
            fresh = [layout.token(path, str(state.begun)) for path in written]
            with self._undone(state, fresh) as current:
                if left:
                    self._erase(left)
                old = self._tokens(paths, current[0].left_out)
                rows = self._records(batch, str(current[0].begun))

                def after(count: int) -> None:
                    current[0] = self._ledger.beat(current[0])
                    if self._progress is not None:
                        self._progress(count)

                if load(self._wire, rows, after=after):
                    self._refresh()
                flips = current[0].flips + bool(old)
                writer = current[0].writer if old else None
                current[0] = self._ledger.change(
                    replace(current[0], hidden=tuple(old), flips=flips, writer=writer)
                )
            if old:
                self._tidy(current[0], old)
            return len(old)

    @contextmanager
    def _undone(self, state: State, fresh: Sequence[str]) -> Iterator[list[State]]:
        """Take back a write that fails; where even that fails, the next writer does it."""
        current = [state]
        try:
            yield current
        except BaseException:
            try:
                self._refresh()
                self._erase(fresh)
                self._ledger.change(
                    replace(current[0], hidden=(), dead=(*current[0].dead, *fresh), writer=None)
                )
            except Exception as problem:  # the first error is the one to tell
                log.warning("a write was broken off; the next one removes what it left (%s)", problem)
            raise

    def _tidy(self, state: State, old: Sequence[str]) -> None:
        """Remove what was replaced. The write is done: a failure here is left to the next writer."""
        try:
            self._erase(old)
            self._ledger.change(replace(state, hidden=(), writer=None))
        except Exception as problem:
            log.warning("what was replaced is out of sight, and removed at the next write (%s)", problem)

    def _records(self, batch: Iterable[tuple[Source, Sequence[Document]]], put: str) -> Iterator[Row]:
        for source, documents in batch:
            mark = layout.token(source.path, put)
            yield (self._catalog, *layout.source_row(source, mark))
            for document in documents:
                count = 0
                for id, row in layout.passage_rows(document, source.path, mark, split=self._split):
                    yield self._passages, id, row
                    count += 1
                yield (self._catalog, *layout.document_row(document, source.path, mark, passages=count))

    def _tokens(self, paths: Sequence[str], hidden: Iterable[str]) -> list[str]:
        """Return the tokens under which *paths* are seen now."""
        found: list[str] = []
        for first in range(0, len(paths), PAGE):
            terms = [
                {"term": {"kind": "source"}},
                {"terms": {"path": [layout.pack(p) for p in paths[first : first + PAGE]]}},
            ]
            query = {"bool": {"filter": terms, "must_not": visible(hidden)}}
            body = {"query": query, "size": PAGE, "_source": ["token"]}
            found += [row["token"] for row in rows_of(self._search(self._catalog, body))]
        return found

    def _erase(self, tokens: Sequence[str], *, patient: bool = True) -> None:
        for first in range(0, len(tokens), PAGE):
            query = {"terms": {"token": list(tokens[first : first + PAGE])}}
            self._wire.write(
                "POST",
                f"/{self._passages},{self._catalog}/_delete_by_query",
                {"query": query},
                params={"conflicts": "proceed", "refresh": "true", "scroll_size": PAGE},
                patient=patient,
            )

    def _refresh(self, *, patient: bool = True) -> None:
        reply = self._wire.write("POST", f"/{self._passages},{self._catalog}/_refresh", patient=patient)
        check_shards(reply, self._wire.address.place, partial=False)

    # the server's side

    def _search(self, index: str, body: Json, *, ranked: bool = False) -> Json:
        partial = ranked and self._wire.address.partial
        params = {"allow_partial_search_results": str(partial).lower()}
        if ranked:
            params["search_type"] = "dfs_query_then_fetch"
        reply = self._wire.search(f"/{index}/_search", body, params=params)
        check_shards(reply, self._wire.address.place, partial=partial)
        return reply

    def _rows(self, terms: Sequence[Json], *, size: int, fields: object = True) -> list[Json]:
        def search(hidden: Iterable[str]) -> Json:
            query = {"bool": {"filter": list(terms), "must_not": visible(hidden)}}
            return self._search(self._catalog, {"query": query, "size": size, "_source": fields})

        return rows_of(self._ledger.reading(search))

    def _document_row(self, id: str, fields: list[str]) -> Json:
        terms = [{"term": {"kind": "document"}}, {"term": {"document_id": layout.pack(id)}}]
        rows = self._rows(terms, size=1, fields=fields)
        if not rows:
            raise InputError(
                f"There is no document {id!r}.", hint="`quoth list` shows them.", code="unknown_document"
            )
        return rows[0]

    def _listed(self, kind: str, order: Sequence[str], fields: Any) -> Iterator[Json]:
        def open_view(hidden: Iterable[str]) -> tuple[str, frozenset[str]]:
            path = f"/{self._catalog}/_search/point_in_time"
            reply = self._wire.write("POST", path, params={"keep_alive": "5m"})
            return str(reply["pit_id"]), frozenset(hidden)

        view, hidden = self._ledger.reading(open_view)
        try:
            after: list[Any] | None = None
            while True:
                body: Json = {
                    "query": {"bool": {"filter": [{"term": {"kind": kind}}], "must_not": visible(hidden)}},
                    "size": SCROLL,
                    "sort": [{name: "asc"} for name in order],
                    "_source": True if fields is None else fields,
                    "pit": {"id": view, "keep_alive": "5m"},
                    **({"search_after": after} if after else {}),
                }
                reply = self._wire.search("/_search", body, params={"allow_partial_search_results": "false"})
                check_shards(reply, self._wire.address.place, partial=False)
                yield from rows_of(reply)
                found = reply["hits"]["hits"]
                if len(found) < SCROLL:
                    return
                after = found[-1]["sort"]
        finally:
            self._wire.write("DELETE", "/_search/point_in_time", {"pit_id": [view]})

    def _counts(self, hidden: Iterable[str]) -> dict[str, object]:
        return counts_of(self._search(self._catalog, counts_body(hidden)))

    def _setting_path(self, name: str) -> str:
        return f"/{self._catalog}/_doc/setting-{name.encode().hex()}"
