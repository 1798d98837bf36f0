"""Settings to objects: the one place that knows which part implements which name.

Nothing heavy is imported before it is needed; a part that is not installed says which extra brings it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from quoth import settings as table
from quoth.errors import InputError, ModelError
from quoth.protocols import Expander, Ranker, Reader, Retriever, Store
from quoth.settings import Chosen
from quoth.types import Document, Filter, Passage, Query, Scored, Trace

if TYPE_CHECKING:
    from quoth.evaluate import SystemFacts
    from quoth.pipeline import Pipeline
    from quoth.reading.calibrate import Calibration
    from quoth.retrieve.store import Index

INDEX_FOLDER = ".quoth"
PROJECT_FILE = "quoth.toml"
Settings = Mapping[str, Chosen]


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is: a folder, a server's index, or a wiki."""

    kind: Literal["folder", "opensearch", "wikipedia", "mediawiki"]
    value: str

    @property
    def root(self) -> Path:
        """The folder that source paths are relative to."""
        return Path(self.value).resolve().parent if self.kind == "folder" else Path.cwd()


def find_index(start: Path) -> Path | None:
    """Return the ``.quoth`` of *start* or of the nearest folder above it, as git finds its own."""
    for folder in (start, *start.parents):
        if (folder / INDEX_FOLDER).is_dir():
            return folder / INDEX_FOLDER
    return None


def address_of(given: str | None, *, create: bool = False) -> Address:
    """Return the address that ``--index`` names, or the index found from the current folder upwards."""
    for kind in ("opensearch", "wikipedia", "mediawiki"):
        if given and given.startswith(f"{kind}:"):
            return Address(kind, given)
    if given:
        folder = Path(given)
        holds = (
            folder
            if folder.name == INDEX_FOLDER or (folder / "catalog.sqlite").exists()
            else folder / INDEX_FOLDER
        )
        return Address("folder", str(holds))
    found = find_index(Path.cwd().resolve())
    if found is None and not create:
        raise InputError(
            "There is no index in this folder or above it.",
            hint="`quoth index PATH` makes one; --index names another.",
            code="no_index",
        )
    return Address("folder", str(found or Path.cwd() / INDEX_FOLDER))


def settings_for(address: Address, options: Mapping[str, object] | None = None) -> dict[str, Chosen]:
    """Return all settings for an index: its project file counts, and *options* before all."""
    project = address.root / PROJECT_FILE
    return table.load(options=options, project=project)


def open_store(address: Address, settings: Settings, *, create: bool = False) -> Store:
    """Return the index at *address*, for writing. ``create`` makes one where there is none."""
    if address.kind == "folder":
        from quoth.retrieve.store import Index

        folder = Path(address.value)
        if create and not (folder / "catalog.sqlite").exists():
            return Index.create(folder, analyzer=_text(settings, "analyzer"), split=_text(settings, "split"))
        return Index.open(folder, write=True)
    if address.kind == "opensearch":
        return _opensearch(address, settings, create=create)
    raise InputError(f"{address.value} can be asked, not written to.", code="read_only")


def open_retriever(address: Address, settings: Settings) -> Retriever:
    """Return what finds passages at *address*, for reading."""
    if address.kind == "folder":
        from quoth.retrieve.store import Index

        return Index.open(Path(address.value))
    if address.kind == "opensearch":
        return _opensearch(address, settings, create=False)
    from quoth.retrieve.mediawiki import MediaWiki

    return MediaWiki.connect(address.value)


def _opensearch(address: Address, settings: Settings, *, create: bool) -> Store:
    from quoth.retrieve.opensearch import OpenSearchStore

    return OpenSearchStore.connect(
        address.value, create=create, analyzer=_text(settings, "analyzer"), split=_text(settings, "split")
    )


def open_reader(settings: Settings) -> "tuple[Reader, Calibration]":
    """Return the reader that the settings name, within the profile's budget, and its calibration."""
    from quoth.models import load_reader
    from quoth.reading.calibrate import Calibration
    from quoth.reading.profiles import PROFILES
    from quoth.reading.reader import ReadSettings, SpanReader

    profile = PROFILES[_text(settings, "profile")]
    name = _text(settings, "reader")
    plugged = _plugged("quoth.readers").get(name)
    if plugged is not None:
        return plugged(), Calibration()
    chosen = profile.reader if name == "auto" else name
    model = load_reader(chosen, engine=_text(settings, "engine"), threads=_number(settings, "threads"))
    budget = _number(settings, "budget_ms")
    reading = ReadSettings(
        max_tokens=profile.tokens_for(chosen),
        budget_ms=budget,
        n_best=_number(settings, "n_best"),
        max_answer_tokens=_number(settings, "max_answer_tokens"),
    )
    reader = SpanReader(model, mode=settings["read"].value, settings=reading)  # type: ignore[arg-type]  # a choice of the table
    return reader, load_calibration(chosen, _text(settings, "profile"))


def open_whole_reader(settings: Settings) -> Reader:
    """Return the reader without a budget: every passage it is given is read whole."""
    reader, _ = open_reader(settings)
    from quoth.reading.reader import SpanReader

    if not isinstance(reader, SpanReader):
        return reader
    whole = replace(reader.settings, max_tokens=0, budget_ms=0)
    return SpanReader(reader.model, mode=reader.mode, settings=whole)


def reader_name(settings: Settings) -> str:
    """Return the name of the reader that the settings choose."""
    from quoth.reading.profiles import PROFILES

    name = _text(settings, "reader")
    return PROFILES[_text(settings, "profile")].reader if name == "auto" else name


def retriever_name(retriever: Retriever, settings: Settings) -> str:
    """Return what a report calls this retriever."""
    about = getattr(retriever, "info", None)
    analyzer = dict(about()).get("analyzer", "") if about is not None else ""
    return " ".join(part for part in (type(retriever).__name__, str(analyzer)) if part)


def threshold_of(settings: Settings) -> float | None:
    """Return the null threshold that was asked for; None for the reader's own."""
    given = _text(settings, "null_threshold")
    return None if given == "auto" else _decimal("null_threshold", given)


def load_calibration(reader: str, profile: str) -> "Calibration":
    """Return what was fitted for this reader and profile; an uncalibrated one where nothing was."""
    from quoth.models import folder
    from quoth.reading.calibrate import Calibration

    try:
        path = folder(reader) / "calibration.json"
    except (InputError, ModelError):
        return Calibration()
    return Calibration.load(path, profile=profile) if path.is_file() else Calibration()


def open_ranker(name: str) -> Ranker | None:
    """Return the ranker of this name (ours, or plugged in under ``quoth.rankers``); None for ``none``."""
    from quoth.rank import RANKERS

    if name == "none":
        return None
    makers: dict[str, Callable[[], Ranker]] = {**RANKERS, **_plugged("quoth.rankers")}
    if name not in makers:
        raise InputError(
            f"There is no ranker {name!r}.", hint=f"There are: none, {', '.join(sorted(makers))}."
        )
    return makers[name]()


def _plugged(group: str) -> dict[str, Callable[[], Any]]:
    """Return what other packages plug in under this entry point group, by name, not yet loaded."""
    return {entry.name: _loader(entry) for entry in metadata.entry_points(group=group)}


def _loader(entry: metadata.EntryPoint) -> Callable[[], Any]:
    return lambda: entry.load()()


class Library:
    """An index opened together with what answers from it. Safe to share between threads.

    The reader is loaded at the first question; searching alone never needs it.
    """

    def __init__(self, retriever: Retriever, *, settings: Settings, root: Path) -> None:
        self.retriever = retriever
        self.settings = settings
        self.root = root
        self._pipeline: Pipeline | None = None

    @property
    def pipeline(self) -> "Pipeline":
        """The main path, with every part in place."""
        if self._pipeline is None:
            reader, calibration = open_reader(self.settings)
            self._pipeline = make_pipeline(
                self.retriever, reader, calibration, settings=self.settings, root=self.root
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
        for expander in open_expanders(self.settings, self.retriever, self.root):
            query = expander.expand(query)
        return query, self.retriever.retrieve(query, k=k)

    def matched(self, query: Query, passage: Passage) -> tuple[str, ...]:
        """Return the words of the question that the passage holds, as the index sees them where it can tell."""
        explain = getattr(self.retriever, "matched", None)
        if explain is not None:
            return tuple(explain(query, passage))
        from quoth.text import words

        held = set(words(f"{passage.title} {passage.text}"))
        return tuple(dict.fromkeys(w for w in words(query.search or query.question) if w in held))

    def document(self, id: str) -> Document:
        """Return a document, whole."""
        return self.retriever.document(id)

    def close(self) -> None:
        """Let the index go."""
        close = getattr(self.retriever, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> "Library":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def make_query(question: str, where: str | Sequence[Filter] = ()) -> Query:
    """Return a query for *question* with the conditions of *where*."""
    from quoth.retrieve.where import parse_where

    return Query(question, filters=parse_where(where) if isinstance(where, str) else tuple(where))


def make_pipeline(
    retriever: Retriever, reader: Reader, calibration: "Calibration", *, settings: Settings, root: Path
) -> "Pipeline":
    """Return the main path over these parts."""
    from quoth.pipeline import Pipeline
    from quoth.rank import RANKERS

    k = _number(settings, "k")
    return Pipeline(
        retriever=retriever,
        reader=reader,
        calibration=calibration,
        cut_ranker=RANKERS["tfidf"](),
        expanders=open_expanders(settings, retriever, root),
        ranker=open_ranker(_text(settings, "ranker")),
        k=k,
        n_passages=k,
        threshold=threshold_of(settings),
        quote=settings["answer"].value,  # type: ignore[arg-type]  # a choice of the table
        stale=_stale_check(retriever, root),
        settings={name: str(chosen.value) for name, chosen in settings.items()},
    )


def open_expanders(settings: Settings, retriever: Retriever, root: Path) -> tuple[Expander, ...]:
    """Return the expanders that the settings name, in their order; none by default."""
    names = _text(settings, "expand")
    if names in ("", "none"):
        return ()
    from quoth.retrieve.expand import open_expanders as opened

    return opened(names, retriever, folder=root)


def _stale_check(retriever: Retriever, root: Path) -> Callable[[Sequence[str]], tuple[str, ...]]:
    if not hasattr(retriever, "source_of"):
        return lambda document_ids: ()
    from quoth.indexing import KnowsSources, stale

    knows = cast(KnowsSources, retriever)
    return lambda document_ids: stale(knows, document_ids, root=root)


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

    with Index.create(folder, analyzer=_text(settings, "analyzer"), split=_text(settings, "split")) as index:
        index.put([(Source(d.id, d.sha256), (replace(d, source=d.source or d.id),)) for d in documents])
    return Index.open(folder)


def with_vectors(index: "Index", folder: Path, settings: Settings) -> Retriever:
    """Return *index* as the settings' ``retriever`` wants it: itself, or with vectors made for it."""
    wanted = _text(settings, "retriever")
    if wanted in ("auto", "lexical"):
        return index
    raise InputError(f"There are no vectors for --retriever {wanted}.")


def expanding(retriever: Retriever, settings: Settings) -> Retriever:
    """Return *retriever* behind the expanders that the settings name."""
    expanders = open_expanders(settings, retriever, Path.cwd())
    return Expanding(retriever, expanders) if expanders else retriever


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

    about = getattr(library.retriever, "info", None)
    told: dict[str, object] = dict(about()) if about is not None else {}
    profile = _text(library.settings, "profile")
    reader = _text(library.settings, "reader")
    told["profile"] = profile
    told["reader"] = PROFILES[profile].reader if reader == "auto" else reader
    card = shipped().get(str(told["reader"]))
    if card is not None:
        told["reader_language"] = "English"
        told["reader_sha256"] = {name: record.sha256 for name, record in card.files.items()}
    return told


def examine(address: Address, *, verify: bool) -> tuple[list[str], list[str]]:
    """Return what is wrong with an index and its models, and what is worth knowing."""
    from quoth.models import check_shipped

    problems: list[str] = list(check_shipped())
    remarks: list[str] = []
    if address.kind == "folder":
        from quoth.indexing import stale
        from quoth.retrieve.store import Index

        with Index.open(Path(address.value)) as index:
            problems += index.verify(full=verify)
            changed = stale(index, [entry.id for entry in index.entries()], root=address.root)
            remarks += [f"changed or gone since it was indexed: {path}" for path in changed]
            remarks += [
                f"could not be read: {s.path}: {s.reason}" for s in index.sources() if s.state == "failed"
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
    return Library(open_retriever(address, chosen), settings=chosen, root=address.root)


def read(question: str, texts: Iterable[str] | Mapping[str, str], **options: object) -> Trace:
    """Answer *question* from *texts* (by name, where a mapping), with no index at all."""
    from quoth.documents import from_texts
    from quoth.retrieve.memory import MemoryRetriever

    chosen = table.load(options=options)
    retriever = MemoryRetriever(from_texts(texts))
    reader, calibration = open_reader(chosen)
    pipeline = make_pipeline(retriever, reader, calibration, settings=chosen, root=Path.cwd())
    everything = max(1, len(retriever))
    ranker = pipeline.ranker or pipeline.cut_ranker
    return replace(pipeline, ranker=ranker, k=everything).ask(make_query(question))


def _text(settings: Settings, name: str) -> str:
    return str(settings[name].value)


def _number(settings: Settings, name: str) -> int:
    return int(settings[name].value)


def _decimal(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{name} is {value!r}; it must be a number or auto.") from None
