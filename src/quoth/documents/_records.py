"""JSON to documents: a line or a list item a document, or SQuAD's articles."""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from quoth.documents._dates import iso_date
from quoth.documents._decode import Decoded, decode
from quoth.documents._extract import Extracted, Job, Writer, corrupt, too_large_expanded
from quoth.documents._names import sane_id
from quoth.documents._zip import MOST_RATIO
from quoth.errors import DocumentError
from quoth.types import Segment

TEXT_KEYS = ("text", "contents", "content", "body")
_TITLE_KEY, _ID_KEYS = "title", ("id", "_id")
_NESTED = ("metadata", "meta")
_STEP = 1 << 18
_SMALL = 1_000_000
_LINE = re.compile(r"[^\r\n]+")


def extract_lines(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return a document for every line that is an object with a text; the others are counted."""
    decoded = _decoded(data, job)
    found: list[Extracted] = []
    bad: list[int] = []
    for number, line in _lines(decoded.text):
        record = _parsed(line)
        document = _document(record, number) if isinstance(record, Mapping) else None
        if document is None:
            bad.append(number)
        else:
            found.append(document)
    if bad and not found:
        raise corrupt(
            f"None of its {len(bad):,} lines is a JSON object with a text.",
            hint=f"Each line needs a string named {', '.join(TEXT_KEYS)}.",
        )
    notes = list(decoded.notes)
    if bad:
        some = ", ".join(map(str, bad[:10])) + (" ..." if len(bad) > 10 else "")
        notes.append(f"Lines without a text were left out: {len(bad):,} (line {some}).")
    return _noted(_distinct(found), notes)


def extract_json(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the articles of a SQuAD file, or a document for every object with a text in a list.

    Raise ``DocumentError``: ``corrupt`` for what is no JSON, ``unsupported`` for other JSON.
    """
    decoded = _decoded(data, job)
    if not decoded.text.strip():
        return [Extracted("")]
    try:
        value = json.loads(decoded.text)
    except (ValueError, RecursionError) as problem:
        if "\n" in decoded.text.strip() and isinstance(_parsed(next(_lines(decoded.text))[1]), Mapping):
            return extract_lines(data, job)  # JSON Lines under another name
        raise corrupt(f"It is no JSON: {problem}.") from problem
    records = value.get("data") if isinstance(value, Mapping) else value
    if isinstance(records, list):
        articles = [row for row in records if _is_article(row)]
        if articles:
            found = [_article(row, number, job.limit) for number, row in enumerate(articles, 1)]
        else:
            rows = [_document(r, n, line=None) for n, r in enumerate(records, 1) if isinstance(r, Mapping)]
            found = [row for row in rows if row is not None]
        if found:
            return _noted(_distinct(found), decoded.notes)
    elif isinstance(value, Mapping):
        single = _document(value, 1, line=None)
        if single is not None:
            return _noted([single], decoded.notes)
    hint = f"A list of objects with a string named {', '.join(TEXT_KEYS)}, or SQuAD's format, is read."
    raise DocumentError("It is JSON of a kind that holds no documents.", hint=hint, code="unsupported")


def _decoded(data: bytes, job: Job) -> Decoded:
    return decode(_inflated(data, job.limit) if data.startswith(b"\x1f\x8b") else data, job.encoding)


def _inflated(data: bytes, limit: int) -> bytes:
    """Unpack gzip, counting what comes out: at most *limit* bytes, and 200 times what went in."""
    most = min(limit, max(_SMALL, MOST_RATIO * len(data)))
    parts: list[bytes] = []
    size = 0
    rest = data
    try:
        while rest.startswith(b"\x1f\x8b"):
            inflater = zlib.decompressobj(wbits=31)
            while not inflater.eof:
                piece = inflater.decompress(rest, _STEP)
                rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
                size += len(piece)
                if size > most:
                    raise too_large_expanded(f"more than {most:,} bytes", limit)
                if not piece and not rest and not inflater.eof:
                    raise corrupt("It is a gzip file that ends too soon.")
                parts.append(piece)
    except zlib.error as problem:
        raise corrupt(f"It is a damaged gzip file: {problem}.") from problem
    return b"".join(parts)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) for every line that is not blank; only CR and LF end one in JSON Lines."""
    number, at = 1, 0
    for match in _LINE.finditer(text):
        gap = text[at : match.start()]
        number += gap.count("\n") + gap.count("\r") - gap.count("\r\n")
        at = match.end()
        if match[0].strip():
            yield number, match[0]


def _parsed(line: str) -> object:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value


def _document(record: Mapping[str, Any], number: int, line: int | None = -1) -> Extracted | None:
    """Return a record's document, or None where it has no text; *line* -1 stands for *number*."""
    key = next((k for k in TEXT_KEYS if isinstance(record.get(k), str)), None)
    if key is None:
        return None
    text: str = record[key]
    at = number if line == -1 else line
    given = next((record[k] for k in _ID_KEYS if k in record), "")
    metadata: dict[str, str] = {}
    for name in _NESTED:
        if isinstance(record.get(name), Mapping):
            metadata |= _scalars(record[name], ())
    metadata |= _scalars(record, (key, _TITLE_KEY, *_ID_KEYS))
    if iso_date(metadata.get("date")):
        metadata["date"] = iso_date(metadata["date"])
    title = record.get(_TITLE_KEY)
    return Extracted(
        text,
        title=title.strip()[:300] if isinstance(title, str) else "",
        id=sane_id(given),
        key=str(number),
        metadata=metadata,
        segments=(Segment(0, len(text), line=at, label=f"record {number}", exact=False),) if text else (),
    )


def _scalars(record: Mapping[str, Any], without: Sequence[str]) -> dict[str, str]:
    found = {}
    for name, value in record.items():
        if name in without or not name:
            continue
        if isinstance(value, bool):
            found[name] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            found[name] = str(value)[:1000]
    return found


def _is_article(row: object) -> bool:
    if not isinstance(row, Mapping) or not isinstance(row.get("paragraphs"), list):
        return False
    return all(isinstance(p, Mapping) and isinstance(p.get("context"), str) for p in row["paragraphs"])


def _article(row: Mapping[str, Any], number: int, limit: int) -> Extracted:
    title = row.get("title")
    name = title.strip() if isinstance(title, str) else ""
    name = name if " " in name else name.replace("_", " ")
    writer = Writer(limit)
    spans = []
    for index, paragraph in enumerate(row["paragraphs"], 1):
        if writer.length:
            writer.gap("\n\n")
        spans.append(writer.add(paragraph["context"], label=f"paragraph {index}"))
    return Extracted(
        writer.text(),
        title=name[:300],
        id=sane_id(row.get("id", "")),
        key=str(number),
        segments=tuple(writer.segments),
        paragraphs=tuple(span for span in spans if span[0] < span[1]),
    )


def _distinct(found: Iterable[Extracted]) -> list[Extracted]:
    """Return *found* with ids that repeat taken away: the second gets the id of its place, and a note."""
    from dataclasses import replace

    seen: set[str] = set()
    kept = []
    for item in found:
        if item.id and item.id in seen:
            note = f"The id {item.id!r} stands twice in its file; this is not the first."
            item = replace(item, id="", notes=(*item.notes, note))
        seen.add(item.id)
        kept.append(item)
    return kept


def _noted(found: Sequence[Extracted], notes: Sequence[str]) -> list[Extracted]:
    """Return *found*, the first with *notes* on the whole file."""
    from dataclasses import replace

    if not found or not notes:
        return list(found)
    return [replace(found[0], notes=(*found[0].notes, *notes)), *found[1:]]
