"""What measuring needs of the parts: floors, an index of a data set, and the facts for a manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.assemble.library import Library
from quoth.assemble.parts import reader_name
from quoth.errors import InputError
from quoth.protocols import Ranker, Retriever
from quoth.settings import Settings, text_of
from quoth.types import Document

if TYPE_CHECKING:
    from quoth.evaluate import SystemFacts
    from quoth.retrieve.store import Index


def retriever_name(library: Library) -> str:
    """Return what a report calls what finds passages: its kind, and the analyzer behind it."""
    about = getattr(library.store, "info", None)
    analyzer = dict(about()).get("analyzer", "") if about is not None else ""
    return " ".join(part for part in (type(library.retriever).__name__, str(analyzer)) if part)


def floors() -> dict[str, Ranker]:
    """Return the lexical rankers that stand beside every figure of sentence selection."""
    from quoth.rank import RANKERS

    return {name: RANKERS[name]() for name in ("constant", "count", "bm25")}


def documents_of(path: Path) -> list[Document]:
    """Return the documents of a data set whose questions can be asked: its own texts, as its passages."""
    from quoth.datasets import OpenDataset, SpanDataset, load
    from quoth.evaluate import span_documents

    data = load(path)
    if isinstance(data, SpanDataset):
        return span_documents(data)[0]
    if isinstance(data, OpenDataset) and data.documents:
        return [Document(d.id, d.text, title=d.title) for d in data.documents.values()]
    raise InputError(f"{path} has no texts of its own to search.", hint="Name an index with --index.")


def index_documents(folder: Path, documents: Sequence[Document], settings: Settings) -> "Index":
    """Make an index of documents that come from no file, in *folder*; return it for reading."""
    from quoth.retrieve.store import Index
    from quoth.types import Source

    with Index.create(
        folder, analyzer=text_of(settings, "analyzer"), split=text_of(settings, "split")
    ) as index:
        index.put([(Source(d.id, d.sha256), (replace(d, source=d.source or d.id),)) for d in documents])
    return Index.open(folder)


def system_facts(
    settings: Settings, *, retriever: Retriever | None = None, parts: Mapping[str, str] | None = None
) -> "SystemFacts":
    """Return what a manifest says of the parts: names, hashes of weights, settings."""
    from quoth.evaluate import SystemFacts
    from quoth.models import shipped

    named = dict(parts or {})
    hashes: dict[str, str] = {}
    if "reader" in settings:
        name = reader_name(settings)
        named["reader"] = name
        card = shipped().get(name)
        hashes = {f"{name}/{file}": record.sha256 for file, record in card.files.items()} if card else {}
    about = getattr(retriever, "info", None)
    if about is not None:
        named |= {f"index {key}": str(value) for key, value in dict(about()).items()}
    return SystemFacts(named, hashes, {name: str(chosen.value) for name, chosen in settings.items()})
