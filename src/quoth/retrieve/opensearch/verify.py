"""Whether a store is what it should be."""

from collections.abc import Callable, Iterable, Iterator

from quoth.retrieve.opensearch import layout
from quoth.retrieve.opensearch.hits import rows_of
from quoth.retrieve.opensearch.layout import Json
from quoth.retrieve.opensearch.queries import visible

Search = Callable[[str, Json], Json]
PAGE = 1_000


def counted(search: Search, index: str, hidden: Iterable[str]) -> int:
    """Return how many passages can be found."""
    body = {"size": 0, "track_total_hits": True, "query": {"bool": {"must_not": visible(hidden)}}}
    return int(search(index, body)["hits"]["total"]["value"])


def counts_of(reply: Json) -> dict[str, object]:
    """Return sources, failed, documents, passages and characters of the reply to ``counts_body``."""
    found = reply["aggregations"]
    kinds = {b["key"]: b for b in found["kinds"]["buckets"]}
    states = {b["key"]: b["doc_count"] for b in kinds.get("source", {}).get("states", {}).get("buckets", ())}
    return {
        "sources": sum(states.values()),
        "failed": states.get("failed", 0),
        "documents": kinds.get("document", {}).get("doc_count", 0),
        "passages": int(found["passages"]["value"]),
        "characters": int(found["characters"]["value"]),
    }


def damaged(rows: Iterable[Json], search: Search, index: str) -> Iterator[str]:
    """Yield a line for each document whose passages are not the slices of its text, as many as it says."""
    for row in rows:
        document = layout.document_from(row)
        filters = [{"term": {"document_id": row["document_id"]}}, {"term": {"token": row["token"]}}]
        wrong = count = 0
        after: list[int] | None = None
        while True:
            body: Json = {"query": {"bool": {"filter": filters}}, "size": PAGE, "sort": [{"start": "asc"}]}
            found = search(index, {**body, **({"search_after": after} if after else {})})
            pieces = rows_of(found)
            count += len(pieces)
            wrong += sum(document.text[p["start"] : p["end"]] != p["text"] for p in pieces)
            if len(pieces) < PAGE:
                break
            after = found["hits"]["hits"][-1]["sort"]
        if wrong or count != row["passages"] or len(document.text) != row["characters"]:
            yield f"{document.source or document.id}: its passages are not those of its text."
