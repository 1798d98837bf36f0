"""The two indexes of a store (``NAME`` passages, ``NAME-catalog`` the rest) and what stands in them."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quoth import text
from quoth.errors import IndexUnusableError, InputError
from quoth.types import Document, Entry, Passage, Segment, Source

FORMAT = 1
"""The layout's number, kept in the mapping's ``_meta``; a newer one is refused."""

FACT_CHARACTERS = 1_000
"""Longer metadata values are ordered by their first so many characters (an engine's term is at most 32,766 bytes)."""

LANGUAGES = (
    *(
        "arabic",
        "armenian",
        "basque",
        "bengali",
        "brazilian",
        "bulgarian",
        "catalan",
        "cjk",
        "czech",
        "danish",
    ),
    *(
        "dutch",
        "estonian",
        "finnish",
        "french",
        "galician",
        "german",
        "greek",
        "hindi",
        "hungarian",
        "indonesian",
    ),
    *(
        "irish",
        "italian",
        "latvian",
        "lithuanian",
        "norwegian",
        "persian",
        "portuguese",
        "romanian",
        "russian",
    ),
    *("sorani", "spanish", "swedish", "thai", "turkish"),
)
"""What the engine has an analyzer of its own for, besides our ``english`` and ``standard``."""

SEPARATOR = "\u0001"
"""Stands between key and value of a fact; the next code point ends the range of a key's values."""
AFTER = "\u0002"
FOLDER = "\u0003folder"
"""The key of a path's folders among the facts; no metadata key can be the same."""

MARK = "\u0004"
_NO_CHARACTER = re.compile(f"[\ud800-\udfff{MARK}]")
_PACKED = re.compile(f"{MARK}([0-9a-f]{{4}})")

NAME_BYTES = 8_000

Json = dict[str, Any]


def settings(analyzer: str, *, shards: int) -> Json:
    """Return the index settings: the analyzers ``words`` and ``question``; no refresh but the writer's own.

    ``standard`` is runs of letters and digits in lower case without accents; ``english`` also stems (Snowball English).
    Stop words stay in the index and are left out of questions, as in the embedded index. Scripts
    without spaces are searched by pairs of characters. Another language is the engine's own
    analyzer. Raise ``InputError`` for one that it has not.
    """
    words, question = _analyzers(analyzer)
    return {
        "index": {
            "number_of_shards": shards,
            "auto_expand_replicas": "0-1",
            "refresh_interval": "-1",
        },
        "analysis": {
            "filter": {
                "quoth_parts": {
                    "type": "word_delimiter",
                    "split_on_case_change": False,
                    "split_on_numerics": False,
                    "stem_english_possessive": False,
                },
                "quoth_pairs": {
                    "type": "cjk_bigram",
                    "ignored_scripts": ["hangul"],
                    "output_unigrams": False,
                },
                "quoth_stop": {"type": "stop", "stopwords": sorted(text.STOP_WORDS)},
                "quoth_stem": {"type": "snowball", "language": "English"},
            },
            "analyzer": {"words": words, "question": question},
        },
    }


def _analyzers(name: str) -> tuple[Json, Json]:
    fold = ["cjk_width", "quoth_parts", "lowercase", "asciifolding", "quoth_pairs"]
    stem = {"standard": [], "english": ["quoth_stem"]}.get(name)
    if stem is not None:
        stop = ["quoth_stop"] if name == "english" else []
        plain: Json = {"type": "custom", "tokenizer": "standard"}
        return {**plain, "filter": [*fold, *stem]}, {**plain, "filter": [*fold, *stop, *stem]}
    if name in LANGUAGES:
        return {"type": name}, {"type": name}
    raise InputError(
        f"OpenSearch has no analyzer {name!r}.", hint=f"There are: english, standard, {', '.join(LANGUAGES)}."
    )


def passage_mappings(meta: Json) -> Json:
    """Return the strict mapping of the passages."""
    return {
        "dynamic": "strict",
        "_meta": {"quoth": meta},
        "properties": {
            "document_id": {"type": "keyword"},
            "start": {"type": "integer"},
            "end": {"type": "integer", "index": False},
            "ordinal": {"type": "integer", "index": False},
            "title": {"type": "text", "analyzer": "words", "search_analyzer": "question", "copy_to": "words"},
            "text": {"type": "text", "index": False, "copy_to": "words"},
            "words": {"type": "text", "analyzer": "words", "search_analyzer": "question"},
            "facts": {"type": "keyword", "doc_values": False},
            "token": {"type": "keyword"},
        },
    }


def catalog_mappings(meta: Json) -> Json:
    """Return the strict mapping of sources, documents, settings and the writer's state."""
    return {
        "dynamic": "strict",
        "_meta": {"quoth": meta},
        "properties": {
            "kind": {"type": "keyword"},
            "path": {"type": "keyword"},
            "document_id": {"type": "keyword"},
            "token": {"type": "keyword"},
            "passages": {"type": "integer"},
            "characters": {"type": "long"},
            "state": {"type": "keyword"},
            "body": {"type": "object", "enabled": False},
        },
    }


def token(path: str, put: str) -> str:
    """Return the mark that all records of one source share in one put; visibility is decided by it."""
    return hashlib.sha256(f"{put}\0{path}".encode("utf-8", "surrogatepass")).hexdigest()[:20]


def source_row(source: Source, mark: str) -> tuple[str, Json]:
    """Return (id, record) of a source in the catalog."""
    body = {
        "sha256": source.sha256,
        "size": source.size,
        "mtime_ns": source.mtime_ns,
        "code": source.code,
        "reason": pack(source.reason),
    }
    return f"source:{mark}", {
        "kind": "source",
        "path": pack(source.path),
        "token": mark,
        "state": source.state,
        "body": body,
    }


def source_from(row: Json) -> Source:
    """Return the source of a catalog record."""
    body = row["body"] | {"reason": unpack(row["body"]["reason"])}
    return Source(path=unpack(row["path"]), state=row["state"], **body)


def document_row(document: Document, path: str, mark: str, *, passages: int) -> tuple[str, Json]:
    """Return (id, record) of a document in the catalog: whole, kept as it is, not searched."""
    body = {
        "text": document.text,
        "title": pack(document.title),
        "source": pack(document.source),
        "sha256": document.sha256,
        "metadata": {pack(k): pack(v) for k, v in document.metadata.items()},
        "segments": [
            [s.start, s.end, s.page, s.line, s.original, s.label, s.exact] for s in document.segments
        ],
        "paragraphs": [list(p) for p in document.paragraphs],
        "notes": [pack(note) for note in document.notes],
    }
    return f"document:{mark}:{_digest(document.id)}", {
        "kind": "document",
        "path": pack(path),
        "document_id": pack(document.id),
        "token": mark,
        "passages": passages,
        "characters": len(document.text),
        "body": body,
    }


def document_from(row: Json) -> Document:
    """Return the document of a catalog record."""
    body = row["body"]
    return Document(
        id=unpack(row["document_id"]),
        text=body["text"],
        title=unpack(body["title"]),
        source=unpack(body["source"]),
        sha256=body["sha256"],
        metadata={unpack(k): unpack(v) for k, v in body["metadata"].items()},
        segments=tuple(
            Segment(start, end, page, line, original, label, exact)
            for start, end, page, line, original, label, exact in body["segments"]
        ),
        paragraphs=tuple((start, end) for start, end in body["paragraphs"]),
        notes=tuple(unpack(note) for note in body["notes"]),
    )


def entry_from(row: Json) -> Entry:
    """Return the entry of a catalog record that was fetched without its text."""
    body = row["body"]
    return Entry(
        id=unpack(row["document_id"]),
        title=unpack(body["title"]),
        source=unpack(row["path"]),
        sha256=body["sha256"],
        characters=row["characters"],
        passages=row["passages"],
        metadata={unpack(k): unpack(v) for k, v in body["metadata"].items()},
        notes=tuple(unpack(note) for note in body["notes"]),
    )


def passage_rows(document: Document, path: str, mark: str, *, split: str) -> Iterator[tuple[str, Json]]:
    """Yield (id, record) of each passage: one for the whole document where *split* is ``document``."""
    facts = facts_of(document, path)
    for ordinal, passage in enumerate(pieces(document, split=split)):
        yield (
            f"{mark}:{_digest(document.id)}:{ordinal}",
            {
                "document_id": pack(document.id),
                "start": passage.start,
                "end": passage.end,
                "ordinal": ordinal,
                "title": pack(document.title),
                "text": passage.text,
                "facts": facts,
                "token": mark,
            },
        )


def passage_from(row: Json) -> Passage:
    """Return the passage that a record holds."""
    return Passage(unpack(row["document_id"]), row["start"], row["end"], row["text"], unpack(row["title"]))


def pieces(document: Document, *, split: str) -> Sequence[Passage]:
    """Return what is indexed of *document*."""
    if split == "document":
        whole = Passage(document.id, 0, len(document.text), document.text, document.title)
        return (whole,) if document.text.strip() else ()
    return tuple(text.passages(document))


def facts_of(document: Document, path: str) -> list[str]:
    """Return what filters are about as terms: metadata; id, title and path where it has none of that name; folders."""
    values = {"id": document.id, "title": document.title, "path": path, **document.metadata}
    return sorted({fact(k, v) for k, v in values.items()} | {fact(FOLDER, f) for f in folders(path)})


def fact(key: str, value: str) -> str:
    """Return one condition's term."""
    if len(value) > FACT_CHARACTERS:
        value = value[:FACT_CHARACTERS] + _digest(value)
    return f"{pack(key)}{SEPARATOR}{pack(value)}"


def plain_folder(folder: str) -> str:
    """Return *folder* without empty and dot parts, with forward slashes."""
    return "/".join(part for part in folder.replace("\\", "/").split("/") if part not in ("", "."))


def folders(path: str) -> list[str]:
    """Return every folder that holds *path*, and the path itself."""
    parts = plain_folder(path).split("/")
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def pack(name: str) -> str:
    """Return *name* as JSON can hold it: what is no character (a file name's byte) is written out."""
    return _NO_CHARACTER.sub(lambda found: f"{MARK}{ord(found[0]):04x}", name)


def unpack(stored: str) -> str:
    """Return what ``pack`` was given."""
    return _PACKED.sub(lambda found: chr(int(found[1], 16)), stored) if MARK in stored else stored


def check_names(batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
    """Raise ``InputError`` where an id or a path is longer than an engine's term may be."""
    for source, documents in batch:
        for name in (source.path, *(document.id for document in documents)):
            if len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES:
                raise InputError(
                    f"The name {name[:60]!r}... has over {NAME_BYTES:,} bytes; OpenSearch cannot hold it."
                )


def read_meta(mapping: Json, index: str) -> Json:
    """Return what was written in the mapping when the index was made. Raise ``IndexUnusableError``."""
    meta = mapping.get("_meta", {}).get("quoth")
    if not isinstance(meta, Mapping) or not isinstance(meta.get("format"), int):
        raise IndexUnusableError(
            f"The index {index!r} was not made by quoth.",
            hint="Map its fields (docs/opensearch.md, existing indexes), or use another name.",
        )
    if meta["format"] != FORMAT:
        relation = "newer" if meta["format"] > FORMAT else "older"
        raise IndexUnusableError(
            f"The index {index!r} has format {meta['format']}, {relation} than this version's {FORMAT}.",
            hint="Use the version of quoth that made it, or index again under another name.",
        )
    return dict(meta)


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:24]
