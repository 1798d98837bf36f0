"""Loading many records: chunks by size, each refused record tried again by itself, all bounded."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from quoth.errors import BackendError, InputError
from quoth.retrieve.opensearch.layout import Json
from quoth.retrieve.opensearch.wire import AGAIN, LOADING, Wire

CHUNK_BYTES = 5_000_000
CHUNK_ROWS = 1_000

Row = tuple[str, str, Json]
"""Index, id, record."""


def load(wire: Wire, rows: Iterable[Row], *, after: Callable[[int], None], tries: int = LOADING.tries) -> int:
    """Write all *rows*; return how many. Sending a row twice does no harm: its id is given.

    *after* is called with the number of rows written so far. Rows that the server refuses for
    now (429, 503) are sent again, alone, with a growing pause; raise ``BackendError`` with the
    number still refused when *tries* are used up, or at once for a row that it will never take.
    """
    written = 0
    for chunk in chunks(rows):
        written += len(chunk)
        waiting: Sequence[bytes] = chunk
        for attempt in range(tries):
            reply = wire.write("POST", "/_bulk", b"".join(waiting), params={"timeout": "30s"})
            waiting, reason = _refused(waiting, reply)
            if not waiting:
                break
            if attempt + 1 == tries:
                raise BackendError(
                    f"{wire.address.place} refused {len(waiting):,} records, {tries} times: {reason}.",
                    hint="What is stored is unchanged. Is the cluster overloaded, or its disk full?",
                )
            wire.pause(attempt)
        after(written)
    return written


def chunks(rows: Iterable[Row]) -> Iterator[list[bytes]]:
    """Yield the rows as lines of bulk requests, within the limits of one request."""
    chunk: list[bytes] = []
    size = 0
    for index, id, record in rows:
        data = _encoded(index, id, record)
        if chunk and (size + len(data) > CHUNK_BYTES or len(chunk) >= CHUNK_ROWS):
            yield chunk
            chunk, size = [], 0
        chunk.append(data)
        size += len(data)
    if chunk:
        yield chunk


def _encoded(index: str, id: str, record: Json) -> bytes:
    action = json.dumps({"index": {"_index": index, "_id": id}})
    body = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    try:
        return f"{action}\n{body}\n".encode()
    except UnicodeEncodeError as problem:
        name = record.get("document_id") or record.get("path")
        raise InputError(
            f"{name!r} holds a lone surrogate, which is no character; OpenSearch cannot hold it."
        ) from (problem)


def _refused(sent: Sequence[bytes], reply: Json) -> tuple[list[bytes], str]:
    """Return what must be sent again, and why. Raise where a record will never be taken."""
    items = reply.get("items")
    if not isinstance(items, list) or len(items) != len(sent):
        raise BackendError("The server's reply to a bulk request does not match what was sent.")
    again: list[bytes] = []
    reason = ""
    for data, item in zip(sent, items, strict=True):
        result = item.get("index") if isinstance(item, dict) else None
        status = result.get("status") if isinstance(result, dict) else None
        if isinstance(status, int) and 200 <= status < 300:
            continue
        error = result.get("error") if isinstance(result, dict) else None
        reason = str(error.get("reason") if isinstance(error, dict) else error)[:200]
        if status not in AGAIN:
            raise BackendError(f"The server refused a record ({status}): {reason}.")
        again.append(data)
    return again, reason
