"""The check of stores."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import overload

from quoth.errors import InputError
from quoth.protocols import Store
from quoth.testing.parts import check_retriever
from quoth.testing.rule import require
from quoth.types import Document, Filter, Query, Segment, Source

MakeStore = Callable[[Path], AbstractContextManager[Store]]

_VIENNA = Document(
    "vienna",
    "The siege of Vienna began in 1529.\r\n\r\nGröße, e\u0301 and 👩🏽‍🚀 stay as they are.",
    title="Vienna",
    source="b/vienna.txt",
    sha256="1" * 64,
    metadata={"author": "Ann Lee", "date": "2024-05-01"},
    segments=(Segment(0, 34, line=1), Segment(38, 72, page=2, line=3, original=38, label="x")),
    notes=("3 bytes were not UTF-8.",),
)
_APPLES = Document("apples", "Apples are red.\n\nPears are green.", source="a.txt", metadata={"author": "Bo"})
_PLUMS = Document("plums", "Plums are blue. Plums are sweet.", source="a.txt", paragraphs=((0, 15), (16, 32)))
_BATCH = (
    (Source("b/vienna.txt", "1" * 64, 80, 5), (_VIENNA,)),
    (Source("a.txt", "2" * 64, 60, 7), (_PLUMS, _APPLES)),
)
_QUERIES = (
    Query("When did the siege of Vienna begin?"),
    Query("Are plums blue, or apples?"),
    Query("Vienna siege", filters=(Filter("author", ":", "Ann Lee"),)),
)


class _Broken(Sequence[tuple[Source, Sequence[Document]]]):
    """A batch that fails behind its first item."""

    def __len__(self) -> int:
        return 2

    @overload
    def __getitem__(self, index: int) -> tuple[Source, Sequence[Document]]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[Source, Sequence[Document]]]: ...
    def __getitem__(
        self, index: int | slice
    ) -> tuple[Source, Sequence[Document]] | Sequence[tuple[Source, Sequence[Document]]]:
        if index != 0:
            raise InputError("This batch fails on purpose.")
        return Source("c.txt", "3" * 64), (Document("c", "Cherries are dark.", source="c.txt"),)

    def __iter__(self) -> Iterator[tuple[Source, Sequence[Document]]]:
        return (self[index] for index in range(2))


def check_store(make_store: MakeStore) -> None:
    """Raise ``CheckError`` where a store does not keep the contract of ``quoth.protocols.Store``.

    *make_store* is called with a folder and gives a context manager of a store open for writing: empty for a
    new folder, and with all that was put before for the same one. The folder is removed at the end.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "store"
        with make_store(folder) as store:
            _check_empty(store)
            store.put(_BATCH)
            _check_held(store)
            store.put(_BATCH)
            _check_held(store)
        with make_store(folder) as store:
            _check_held(store)
            _check_broken_batch(store)
            _check_questions(store)
            _check_replacing(store)
            _check_dropping(store)
        with make_store(folder) as store:
            paths = [source.path for source in store.sources()]
            require(paths == ["b/vienna.txt"], store, "what was dropped stays dropped.", paths)


def _check_empty(store: Store) -> None:
    require(not list(store.sources()) and not list(store.entries()), store, "a new store is empty.")
    require(not store.retrieve(_QUERIES[0], k=3), store, "a new store finds nothing.")
    require(store.drop(["a.txt"]) == 0, store, "dropping what is not there counts 0.")
    _require_unknown(store, "vienna")


def _check_held(store: Store) -> None:
    """Check that the store holds the batch, once, and finds it."""
    sources = {source.path: source for source in store.sources()}
    require(list(sources) == ["a.txt", "b/vienna.txt"], store, "sources come in order of path.", sources)
    for source, documents in _BATCH:
        require(sources[source.path] == source, store, "a source is as it was put.", sources[source.path])
        for document in documents:
            held = store.document(document.id)
            for field in ("text", "title", "sha256", "segments", "paragraphs", "notes"):
                same = getattr(held, field) == getattr(document, field)
                require(same, store, f"a document's {field} is as it was put.", getattr(held, field))
            require(dict(held.metadata) == dict(document.metadata), store, "metadata is kept.", held.metadata)
    entries = list(store.entries())
    order = [(entry.source, entry.id) for entry in entries]
    expected = [("a.txt", "apples"), ("a.txt", "plums"), ("b/vienna.txt", "vienna")]
    require(order == expected, store, "entries come in order of (source, id), each once.", order)
    for entry, document in zip(entries, (_APPLES, _PLUMS, _VIENNA), strict=True):
        require(entry.characters == len(document.text), store, "an entry counts characters.", entry)
        require(entry.passages >= 1, store, "an entry counts passages.", entry)
        require(entry.title == document.title, store, "an entry has the title.", entry)
    check_retriever(store, _QUERIES)
    found = [s.item.document_id for s in store.retrieve(_QUERIES[0], k=10)]
    require(found[:1] == ["vienna"], store, "what was put is found.", found)
    found = [s.item.document_id for s in store.retrieve(_QUERIES[2], k=10)]
    require(set(found) == {"vienna"}, store, "filters hold.", found)
    found = [s.item.document_id for s in store.retrieve(Query("apples", filters=_QUERIES[2].filters), k=10)]
    require(not found, store, "filters leave out what they should.", found)


def _check_broken_batch(store: Store) -> None:
    failed = False
    try:
        store.put(_Broken())
    except InputError:
        failed = True
    require(failed, store, "a batch that cannot be read is an error.")
    _require_unknown(store, "c")
    _check_held(store)


def _check_questions(store: Store) -> None:
    for question in ('AND OR ( " * ^~:\\', "the of and", "title:vienna", "?", "x" * 1000, "\x00 \ud800"):
        store.retrieve(Query(question), k=3)


def _check_replacing(store: Store) -> None:
    new = Document("plums", "Cherries are dark now.", source="a.txt")
    store.put([(Source("a.txt", "4" * 64), (new,))])
    require(store.document("plums").text == new.text, store, "put replaces a document.")
    _require_unknown(store, "apples")
    found = [s.item.document_id for s in store.retrieve(Query("apples pears blue sweet"), k=10)]
    require(not found, store, "what was replaced is not found.", found)
    found = [s.item.document_id for s in store.retrieve(Query("dark cherries"), k=10)]
    require(found == ["plums"], store, "what replaced it is found.", found)
    store.put([(Source("a.txt", "5" * 64, state="failed", code="corrupt", reason="It is cut off."), ())])
    states = {source.path: (source.state, source.code) for source in store.sources()}
    require(states["a.txt"] == ("failed", "corrupt"), store, "a failed source is recorded.", states)
    _require_unknown(store, "plums")


def _check_dropping(store: Store) -> None:
    count = store.drop(["a.txt", "no such path"])
    require(count == 1, store, "drop counts the sources that there were.", count)
    require(store.drop(["a.txt"]) == 0, store, "dropping again counts 0.")
    require([s.path for s in store.sources()] == ["b/vienna.txt"], store, "drop removes its sources only.")
    require([e.id for e in store.entries()] == ["vienna"], store, "drop removes documents.")


def _require_unknown(store: Store, id: str) -> None:
    try:
        store.document(id)
    except InputError:
        return
    require(False, store, f"a document that is not there ({id}) is an InputError.")
