"""An index together with what answers from it: the object that a person holds."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from quoth import settings as table
from quoth.assemble.addresses import Address, address_of, settings_for
from quoth.assemble.parts import (
    make_pipeline,
    make_query,
    open_expanders,
    open_retriever,
    with_vectors,
)
from quoth.errors import InputError
from quoth.protocols import Expander, Retriever, Store
from quoth.settings import Settings, text_of
from quoth.types import Document, Filter, Passage, Query, Scored, Trace

if TYPE_CHECKING:
    from quoth.pipeline import Pipeline


class Library:
    """An index opened together with what answers from it. Safe to share between threads.

    The reader (and the encoder, where the index has vectors) is loaded at the first question that needs it.
    """

    def __init__(self, store: Retriever, *, settings: Settings, address: Address) -> None:
        self.store = store
        self.settings = settings
        self.address = address
        self._lock = threading.Lock()
        self._retriever: Retriever | None = None
        self._expanders: tuple[Expander, ...] | None = None
        self._pipeline: Pipeline | None = None

    @property
    def retriever(self) -> Retriever:
        """What finds passages: the index itself, or with its vectors."""
        with self._lock:
            if self._retriever is None:
                self._retriever = with_vectors(self.store, self.address, self.settings)
            return self._retriever

    @property
    def finds_by(self) -> str:
        """What ``retriever`` is: lexical, dense, hybrid, or the name of one plugged in."""
        mode = text_of(self.settings, "retriever")
        if mode != "auto":
            return mode
        return "lexical" if self.retriever is self.store else "hybrid"

    @property
    def expanders(self) -> tuple[Expander, ...]:
        """What adds to each question, opened once."""
        with self._lock:
            if self._expanders is None:
                self._expanders = open_expanders(self.settings, self.store, self.address.root)
            return self._expanders

    @property
    def pipeline(self) -> "Pipeline":
        """The main path, with every part in place."""
        retriever = self.retriever
        with self._lock:
            if self._pipeline is None:
                self._pipeline = make_pipeline(
                    retriever, self.store, settings=self.settings, root=self.address.root
                )
            return self._pipeline

    def ask(self, question: str, *, where: str | Sequence[Filter] = ()) -> Trace:
        """Answer *question* by quoting, or not at all. *where* narrows the documents, as ``--where`` does."""
        return self.pipeline.ask(make_query(question, where))

    def search(
        self, question: str, *, k: int = 10, where: str | Sequence[Filter] = ()
    ) -> Sequence[Scored[Passage]]:
        """Return the *k* passages that match best."""
        return self.find(question, k=k, where=where)[1]

    def find(
        self, question: str, *, k: int, where: str | Sequence[Filter] = ()
    ) -> tuple[Query, Sequence[Scored[Passage]]]:
        """Return the query as expansion left it, and the *k* passages that match it best."""
        from quoth.pipeline import check_question

        check_question(question)
        query = make_query(question, where)
        for expander in self.expanders:
            query = expander.expand(query)
        return query, self.retriever.retrieve(query, k=k)

    def matched(self, query: Query, passage: Passage) -> tuple[str, ...]:
        """Return the words of the question that the passage holds, as the index sees them where it can tell."""
        explain = getattr(self.store, "matched", None)
        if explain is not None:
            return tuple(explain(query, passage))
        from quoth.text import words

        held = set(words(f"{passage.title} {passage.text}"))
        return tuple(dict.fromkeys(w for w in words(query.search or query.question) if w in held))

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self.store.document(id)

    def close(self) -> None:
        """Let the index go."""
        close = getattr(self.store, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> "Library":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Expanding:
    """A retriever whose queries are expanded first."""

    inner: Retriever
    expanders: tuple[Expander, ...]

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return what the inner retriever finds for the expanded query."""
        for expander in self.expanders:
            query = expander.expand(query)
        return self.inner.retrieve(query, k=k)

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self.inner.document(id)


def expanding(library: Library) -> Retriever:
    """Return the library's retriever behind the expanders that its settings name."""
    expanders = library.expanders
    return Expanding(library.retriever, expanders) if expanders else library.retriever


def writable(retriever: Retriever) -> Store:
    """Return *retriever* as the store that it is. Raise ``InputError`` for one that holds no list of documents."""
    if not hasattr(retriever, "entries"):
        raise InputError("This index can be asked, but it has no list of its documents.", code="read_only")
    return cast(Store, retriever)


def document_id_of(retriever: Retriever, given: str) -> str:
    """Return the document id for an id or a source path."""
    if hasattr(retriever, "entries"):
        for entry in cast(Store, retriever).entries():
            if given in (entry.id, entry.source):
                return entry.id
    return given


def facts(library: Library) -> dict[str, object]:
    """Return what an index says of itself, and what would answer from it."""
    from quoth.models import shipped
    from quoth.reading.profiles import PROFILES
    from quoth.retrieve.dense import has_vectors, held_vectors

    about = getattr(library.store, "info", None)
    told: dict[str, object] = dict(about()) if about is not None else {}
    profile = text_of(library.settings, "profile")
    reader = text_of(library.settings, "reader")
    told["profile"] = profile
    told["reader"] = PROFILES[profile].reader if reader == "auto" else reader
    if has_vectors(library.address.place):
        told["vectors"] = held_vectors(library.address.place)[0]
    told["retriever"] = library.finds_by
    card = shipped().get(str(told["reader"]))
    if card is not None:
        told["reader_language"] = "English"
        told["reader_sha256"] = {name: record.sha256 for name, record in card.files.items()}
    return told


def examine(address: Address, *, verify: bool) -> tuple[list[str], list[str]]:
    """Return what is wrong with an index and its models, and what is worth knowing."""
    from quoth.indexing import KnowsSources, stale
    from quoth.models import check_shipped
    from quoth.retrieve.dense import has_vectors, held_vectors

    problems: list[str] = list(check_shipped())
    remarks: list[str] = []
    chosen = settings_for(address)
    with Library(open_retriever(address, chosen), settings=chosen, address=address) as library:
        check = getattr(library.store, "verify", None)
        if check is None:
            facts(library)  # it answers, or that is the error
            return problems, ["This index is not ours: there is nothing more to check."]
        problems += check(full=verify)
        if has_vectors(address.place):
            problems += held_vectors(address.place, full=verify)[1]
        store = writable(library.store)
        ids = [entry.id for entry in store.entries()]
        if hasattr(store, "source_of"):
            changed = stale(cast(KnowsSources, store), ids, root=address.root)
            remarks += [f"changed or gone since it was indexed: {path}" for path in changed]
        remarks += [
            f"could not be read: {s.path}: {s.reason}" for s in store.sources() if s.state == "failed"
        ]
    return problems, remarks


def open_library(path: str | Path | None = None, **options: object) -> Library:
    """Open an index to ask it questions.

    *path* is a folder (or its ``.quoth``), an address as ``--index`` takes it, or None: the
    index of the current folder or of one above. *options* are settings by name
    (``profile="thorough"``); an unknown one is an ``InputError``.
    """
    address = address_of(str(path) if path is not None else None)
    chosen = settings_for(address, options)
    return Library(open_retriever(address, chosen), settings=chosen, address=address)


def read(question: str, texts: Iterable[str] | Mapping[str, str], **options: object) -> Trace:
    """Answer *question* from *texts* (by name, where a mapping), with no index at all."""
    from quoth.documents import from_texts
    from quoth.retrieve.memory import MemoryRetriever

    chosen = table.load(options=options)
    retriever = MemoryRetriever(from_texts(texts))
    pipeline = make_pipeline(retriever, retriever, settings=chosen, root=Path.cwd())
    everything = max(1, len(retriever))
    ranker = pipeline.ranker or pipeline.cut_ranker
    return replace(pipeline, ranker=ranker, k=everything).ask(make_query(question))
