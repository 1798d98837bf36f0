"""The store on a real server."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from quoth.errors import BackendError, BusyError, IndexUnusableError, InputError
from quoth.protocols import Store
from quoth.retrieve.opensearch import Address, OpenSearchStore, open_index
from quoth.retrieve.opensearch.admin import catalog_of, delete
from quoth.retrieve.opensearch.ledger import LEASE, Ledger, writer_name
from quoth.retrieve.opensearch.wire import Wire
from quoth.testing import check_store
from quoth.types import Document, Filter, Passage, Phrase, Query, Scored, Source, Term

pytestmark = pytest.mark.server


def doc(id: str, text: str, **metadata: str) -> Document:
    return Document(id, text, title=id, source=f"{id}.txt", sha256=id, metadata=metadata)


def put(store: OpenSearchStore, *documents: Document, folder: str = "") -> None:
    store.put([(Source(f"{folder}{d.id}.txt", d.sha256 or "1"), [d]) for d in documents])


def ids(found: tuple[Scored[Passage], ...]) -> list[str]:
    return [scored.item.document_id for scored in found]


def test_the_store_keeps_the_contract(server: str, index: str) -> None:
    """The same contract as the embedded index, checked by the same function."""

    @contextmanager
    def make(folder: Path) -> Iterator[Store]:
        with OpenSearchStore.connect(index, create=True) as store:
            yield store

    check_store(make)


def test_the_store_keeps_the_contract_with_whole_documents_on_three_shards(index: str) -> None:
    """Neither the split nor the number of shards changes the contract; standard analysis neither."""

    @contextmanager
    def make(folder: Path) -> Iterator[Store]:
        with OpenSearchStore.connect(
            index, create=True, split="document", shards=3, analyzer="standard"
        ) as store:
            yield store

    check_store(make)


def test_an_index_keeps_how_it_was_made(index: str) -> None:
    """Analyzer and split are the index's own, whatever a later connection asks for."""
    OpenSearchStore.connect(index, create=True, analyzer="german", split="document").close()
    with OpenSearchStore.connect(index, create=True, analyzer="english") as store:
        info = store.info()
    assert (info["analyzer"], info["split"], info["format"]) == ("german", "document", 1)


def test_there_is_no_index_until_one_is_made(index: str) -> None:
    """Asking never makes an index."""
    with pytest.raises(InputError, match="There is no index"):
        OpenSearchStore.connect(index)
    with pytest.raises(InputError, match="There is no index"):
        open_index(index)


def test_an_index_of_somebody_else_is_left_alone(index: str) -> None:
    """A name that is taken is refused, and what is there stays as it is."""
    wire = Wire(Address.parse(index))
    wire.write("PUT", f"/{wire.address.index}", {"mappings": {"properties": {"body": {"type": "text"}}}})
    with pytest.raises(IndexUnusableError, match="not made by quoth"):
        OpenSearchStore.connect(index, create=True)


def test_an_index_without_its_catalog_is_unusable(index: str) -> None:
    """Half an index is said to be half."""
    OpenSearchStore.connect(index, create=True).close()
    wire = Wire(Address.parse(index))
    wire.write("DELETE", f"/{catalog_of(wire.address.index)}")
    with pytest.raises(IndexUnusableError, match="has no catalog"):
        OpenSearchStore.connect(index)


def test_the_mapping_is_strict(store: OpenSearchStore, index: str) -> None:
    """A field that we did not plan cannot sneak in."""
    wire = Wire(Address.parse(index))
    with pytest.raises(BackendError, match="strict_dynamic_mapping"):
        wire.write("PUT", f"/{wire.address.index}/_doc/1", {"surprise": 1})


def test_filters_hold(store: OpenSearchStore) -> None:
    """Folders by whole names, values as text, several conditions together."""
    put(store, doc("one", "birds fly", year="2019", author="A. Smith"), folder="a/b/")
    put(store, doc("two", "birds swim", year="2021"), folder="ab/")
    put(store, doc("three", "birds walk", year="10000"))

    def found(*filters: Filter) -> list[str]:
        hits = sorted(ids(store.retrieve(Query("birds", filters=filters), k=10)))
        assert sorted(store.allowed(filters)) == hits
        return hits

    assert found(Filter("folder", ":", "a")) == ["one"]
    assert found(Filter("folder", ":", "a/b/")) == ["one"]
    assert found(Filter("folder", ":", "./a")) == ["one"]
    assert found(Filter("folder", ":", "")) == ["one", "three", "two"]
    assert found(Filter("folder", ":", "three.txt")) == ["three"]
    assert found(Filter("author", ":", "A. Smith")) == ["one"]
    assert found(Filter("year", ">=", "2019")) == ["one", "two"]
    assert found(Filter("year", ">", "2019")) == ["two"]
    assert found(Filter("year", "<", "2019")) == ["three"]
    assert found(Filter("year", "<=", "2019")) == ["one", "three"]
    assert found(Filter("year", ">=", "2000"), Filter("title", ":", "two")) == ["two"]
    assert found(Filter("nothing", "<", "z")) == []


def test_passages_are_handed_out_by_their_places(store: OpenSearchStore) -> None:
    """In the order asked, of more documents than one request takes; None for what is gone or was never there."""
    texts = {f"d{n}": f"bird {n} flies" for n in range(450)}
    store.put([(Source(id, "1"), [doc(id, text)]) for id, text in texts.items()])
    store.put([(Source("d7", "2"), [doc("d7", "bird 7 sleeps on")])])
    places = [(id, 0, len(text)) for id, text in reversed(texts.items())]
    found = store.passages_at([*places, ("d1", 3, 9), ("nothing", 0, 4)])
    assert [None if p is None else (p.document_id, p.text) for p in found[:-2]] == [
        None if id == "d7" else (id, texts[id]) for id, _, _ in places
    ]
    assert found[-2:] == [None, None]
    assert store.passages_at([]) == []
    assert len(store.allowed([])) == 450


def test_ties_are_in_order_of_document_and_place(store: OpenSearchStore) -> None:
    """Equal passages come in order of (document id, start), and the cut at k falls in that order."""
    put(
        store,
        *(Document(id, "Birds fly.\n\nBirds fly.", paragraphs=((0, 10), (12, 22))) for id in ("c", "a", "b")),
    )
    found = store.retrieve(Query("birds"), k=10)
    assert [(s.item.document_id, s.item.start) for s in found] == [(i, p) for i in "abc" for p in (0, 12)]
    for k in range(1, 7):
        assert store.retrieve(Query("birds"), k=k) == found[:k]


def test_phrases_and_terms_move_hits_up(store: OpenSearchStore) -> None:
    """Each clause of an expander has its effect."""
    put(store, doc("a", "games of hunger"), doc("b", "the hunger games"), doc("c", "a gull"))
    assert ids(store.retrieve(Query("hunger games", phrases=(Phrase("hunger games", 3.0),)), k=2))[0] == "b"
    assert ids(store.retrieve(Query("games", terms=(Term("gull", 50.0),)), k=3))[0] == "c"


def test_stems_accents_and_scripts_are_found(store: OpenSearchStore) -> None:
    """Inflections, accents, wide letters and scripts without spaces."""
    put(
        store,
        doc("a", "The eagle was flying over Größe-Stadt."),
        doc("b", "東京は日本の首都です。"),
        doc("c", "ＷＩＤＥ letters"),
    )
    assert ids(store.retrieve(Query("flies"), k=1)) == ["a"]
    assert ids(store.retrieve(Query("eagles fly"), k=1)) == ["a"]
    assert ids(store.retrieve(Query("grosse stadt"), k=1)) == ["a"]
    assert ids(store.retrieve(Query("日本"), k=1)) == ["b"]
    assert ids(store.retrieve(Query("日首"), k=1)) == []
    assert ids(store.retrieve(Query("wide"), k=1)) == ["c"]


def test_stop_words_alone_find_what_has_them(store: OpenSearchStore) -> None:
    """ "The Who" can be found, though stop words are left out of other questions."""
    put(store, doc("a", "The Who played."), doc("b", "Nobody played."))
    assert ids(store.retrieve(Query("the"), k=2)) == ["a"]


@pytest.mark.parametrize(
    "question", ['AND OR NOT ( " * ~ ^ / [ ] -x c++', "title:a", "(" * 1999, "* OR *", "\\", "\x00\ud800"]
)
def test_query_syntax_is_only_ever_words(store: OpenSearchStore, question: str) -> None:
    """Nothing typed is parsed: no error, and nothing found that does not hold a word of it."""
    put(store, doc("a", "Birds fly."))
    assert store.retrieve(Query(question), k=3) == ()


def test_a_file_name_that_is_no_text_is_kept(store: OpenSearchStore) -> None:
    """A path with bytes that are not UTF-8 comes back as it was, apart from its neighbours."""
    batch = [(Source(f"caf\udce9{i}.txt", "1"), [Document(f"d\udce9{i}", f"Birds {i}.")]) for i in range(2)]
    store.put(batch)
    assert [s.path for s in store.sources()] == [s.path for s, _ in batch]
    assert store.document("d\udce91").text == "Birds 1."
    assert store.source_of("d\udce90").path == "caf\udce90.txt"
    assert store.drop(["caf\udce90.txt"]) == 1


def test_settings_are_kept_with_the_index(store: OpenSearchStore) -> None:
    """A setting is there for the next connection; one that was never set is None."""
    assert store.setting("vectors") is None
    store.set_setting("vectors", "x")
    store.set_setting("vectors", "e5/ü")
    assert store.setting("vectors") == "e5/ü"


def test_info_counts(store: OpenSearchStore) -> None:
    """Counts are of what can be found now."""
    put(store, doc("a", "Birds."), doc("b", "Fish."))
    store.put([(Source("bad.pdf", "", state="failed", code="corrupt"), [])])
    store.drop(["a.txt"])
    info = store.info()
    assert (info["sources"], info["failed"], info["documents"], info["passages"]) == (2, 1, 1, 1)
    assert info["status"] in ("green", "yellow")


def test_verify_finds_what_is_wrong(store: OpenSearchStore, index: str) -> None:
    """A passage that was changed or removed behind our back is found; a sound index has no problem."""
    put(store, doc("a", "Birds fly.\n\nFish swim."), doc("b", "Bees hum."))
    assert list(store.verify(full=True)) == []
    wire = Wire(Address.parse(index))
    query = {"query": {"term": {"document_id": "b"}}}
    rows = wire.search(f"/{wire.address.index}/_search", query)["hits"]["hits"]
    changed = {**rows[0]["_source"], "text": "Bees sleep."}
    wire.write("PUT", f"/{wire.address.index}/_doc/{rows[0]['_id']}", changed, params={"refresh": "true"})
    assert list(store.verify(full=False)) == []
    assert list(store.verify(full=True)) == ["b.txt: its passages are not those of its text."]
    wire.write("DELETE", f"/{wire.address.index}/_doc/{rows[0]['_id']}", params={"refresh": "true"})
    assert list(store.verify(full=False)) == ["1 passages can be found; the catalog lists 2."]


def test_a_store_is_not_opened_through_mapped_fields(index: str) -> None:
    """An address that maps fields names somebody else's index: nothing is made or written there."""
    with pytest.raises(InputError, match="maps fields"):
        OpenSearchStore.connect(index + "?text=body", create=True)


def test_more_sources_than_a_page_are_listed_in_order(store: OpenSearchStore) -> None:
    """Listing goes through pages and loses nothing; what is put meanwhile is not seen."""
    store.put([(Source(f"{i:04}.txt", "1"), [Document(f"d{i:04}", f"Text {i}.")]) for i in range(1203)])
    listing = store.entries()
    first = next(listing)
    store.put([(Source("0500a.txt", "1"), [Document("new", "New.")])])
    assert [first.id, *(e.id for e in listing)] == [f"d{i:04}" for i in range(1203)]
    assert len(list(store.sources())) == 1204
    assert store.drop([f"{i:04}.txt" for i in range(1203)]) == 1203
    assert [s.path for s in store.sources()] == ["0500a.txt"]


def test_progress_is_told(index: str) -> None:
    """The callback hears how many records are written."""
    heard: list[int] = []
    with OpenSearchStore.connect(index, create=True, progress=heard.append) as store:
        store.put([(Source(f"{i}.txt", "1"), [Document(f"d{i}", "Text.")]) for i in range(700)])
    assert heard[-1] == 2100
    assert heard == sorted(heard)
    assert len(heard) > 1


def test_readers_see_the_old_or_the_new_state(index: str) -> None:
    """While batches are replaced again and again, no search sees two states mixed, on three shards."""
    names = [f"d{i}" for i in range(12)]
    with OpenSearchStore.connect(index, create=True, shards=3) as store:

        def write(state: int) -> None:
            store.put(
                [(Source(f"{n}.txt", str(state)), [Document(n, f"Birds of state{state}.")]) for n in names]
            )

        write(0)
        stop = threading.Event()
        mixed: list[object] = []
        reads: list[int] = []

        def read() -> None:
            with OpenSearchStore.connect(index) as reader:
                while not stop.is_set():
                    texts = sorted(s.item.text for s in reader.retrieve(Query("birds"), k=100))
                    reads.append(len(texts))
                    if len(texts) != len(names) or len(set(texts)) != 1:
                        mixed.append(texts)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for state in range(1, 8):
            write(state)
        stop.set()
        for reader in readers:
            reader.join()
    assert not mixed
    assert len(reads) > 10


def test_a_broken_put_leaves_what_was_there(store: OpenSearchStore) -> None:
    """A put that fails half way is taken back: old documents are found, new ones are not, writing goes on."""
    put(store, doc("a", "Old birds."))

    class Breaks(list[Document]):
        def __iter__(self) -> Iterator[Document]:
            yield doc("a", "New birds.")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.put([(Source("a.txt", "2"), Breaks())])
    assert [s.item.text for s in store.retrieve(Query("birds"), k=5)] == ["Old birds."]
    put(store, doc("a", "Newer birds."))
    assert [s.item.text for s in store.retrieve(Query("birds"), k=5)] == ["Newer birds."]


def killed_writer(index: str, *, age: float, name: str = "host-a (process 7)") -> None:
    """Leave the index as a writer does that was killed *age* seconds ago behind its bulk request."""
    wire = Wire(Address.parse(index))
    catalog = catalog_of(wire.address.index)
    ledger = Ledger(wire, catalog)
    state, _ = ledger.begin(lambda put: [f"token{put}"])
    assert state.writer is not None
    ledger.change(replace(state, writer=replace(state.writer, name=name, beat=state.writer.beat - age)))
    row = {
        "document_id": "ghost",
        "start": 0,
        "end": 5,
        "ordinal": 0,
        "title": "",
        "text": "Birds",
        "facts": [],
    }
    wire.write(
        "PUT",
        f"/{wire.address.index}/_doc/ghost",
        {**row, "token": f"token{state.begun}"},
        params={"refresh": "true"},
    )


def test_what_a_killed_writer_left_is_never_seen_and_is_removed(store: OpenSearchStore, index: str) -> None:
    """Half a batch stays hidden; after the lease the next writer removes it."""
    put(store, doc("a", "Birds fly."))
    killed_writer(index, age=LEASE + 1)
    assert ids(store.retrieve(Query("birds"), k=5)) == ["a"]
    put(store, doc("b", "Birds swim."))
    assert sorted(ids(store.retrieve(Query("birds"), k=5))) == ["a", "b"]
    wire = Wire(Address.parse(index))
    assert wire.get(f"/{wire.address.index}/_count")["count"] == 2


def test_a_killed_process_of_this_machine_is_gone_at_once(store: OpenSearchStore, index: str) -> None:
    """After kill -9 nobody waits for the lease, where the dead writer ran on the same machine."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    killed_writer(index, age=0, name=writer_name(ended.pid))
    put(store, doc("a", "Birds fly."))
    assert ids(store.retrieve(Query("birds"), k=5)) == ["a"]
    killed_writer(index, age=0, name=writer_name(os.getpid()))
    with pytest.raises(BusyError, match=str(os.getpid())):
        put(store, doc("b", "Birds swim."))


def test_a_living_writer_keeps_others_out(store: OpenSearchStore, index: str) -> None:
    """A second writer is told who writes; readers are not held up."""
    put(store, doc("a", "Birds fly."))
    killed_writer(index, age=0)
    with pytest.raises(BusyError, match=r"host-a \(process 7\)"):
        put(store, doc("b", "Birds swim."))
    assert ids(store.retrieve(Query("birds"), k=5)) == ["a"]


def test_a_writer_that_was_taken_for_dead_cannot_show_what_it_wrote(
    store: OpenSearchStore, index: str
) -> None:
    """A stalled writer that comes back fails, and its records stay hidden for good."""
    wire = Wire(Address.parse(index))
    ledger = Ledger(wire, catalog_of(wire.address.index))
    state, _ = ledger.begin(lambda put: ["late"])
    assert state.writer is not None
    state = ledger.change(replace(state, writer=replace(state.writer, beat=state.writer.beat - LEASE - 1)))
    put(store, doc("a", "Birds fly."))
    row = {
        "document_id": "late",
        "start": 0,
        "end": 5,
        "ordinal": 0,
        "title": "",
        "text": "Birds",
        "facts": [],
    }
    wire.write(
        "PUT", f"/{wire.address.index}/_doc/late", {**row, "token": "late"}, params={"refresh": "true"}
    )
    with pytest.raises(BusyError, match="took over"):
        ledger.change(replace(state, hidden=(), writer=None))
    put(store, doc("b", "Birds swim."))
    assert sorted(ids(store.retrieve(Query("birds"), k=5))) == ["a", "b"]


def test_two_writers_lose_nothing(index: str) -> None:
    """Writers that take turns (the loser tries again) end with everything of both."""
    OpenSearchStore.connect(index, create=True).close()
    failures: list[BaseException] = []

    def write(name: str) -> None:
        try:
            with OpenSearchStore.connect(index) as store:
                for i in range(8):
                    for _ in range(400):
                        try:
                            put(store, doc(f"{name}{i}", "Birds fly."))
                            break
                        except BusyError:
                            threading.Event().wait(0.02)
                    else:
                        raise AssertionError("never got its turn")
        except BaseException as problem:  # looked at below: a thread has nobody to raise to
            failures.append(problem)

    writers = [threading.Thread(target=write, args=(name,)) for name in "xy"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failures
    with OpenSearchStore.connect(index) as store:
        assert [s.path for s in store.sources()] == sorted(f"{n}{i}.txt" for n in "xy" for i in range(8))


def test_a_large_document_comes_back_whole(store: OpenSearchStore) -> None:
    """A document over the size of one request's chunk is kept and found by its last words."""
    text = "All work and no play makes a dull day. " * 200_000 + "The albatross lands."
    store.put([(Source("big.txt", "1"), [Document("big", text)])])
    assert store.document("big").text == text
    (hit,) = store.retrieve(Query("albatross"), k=1)
    assert hit.item.text == text[hit.item.start : hit.item.end]


def test_a_closed_index_is_said_to_be_closed(store: OpenSearchStore, index: str) -> None:
    """What somebody did to the index on the server is named."""
    wire = Wire(Address.parse(index))
    wire.write("POST", f"/{wire.address.index}/_close")
    with pytest.raises(IndexUnusableError, match="closed"):
        store.retrieve(Query("birds"), k=1)


def test_an_index_that_is_gone_is_said_to_be_gone(store: OpenSearchStore, index: str) -> None:
    """Removed under our feet."""
    delete(Wire(Address.parse(index)))
    with pytest.raises(InputError, match="There is no index"):
        store.retrieve(Query("birds"), k=1)


def test_wait_helper_waits(eventually: Callable[[Callable[[], bool]], None]) -> None:
    """The fixture that the cluster tests rely on returns when its condition holds."""
    calls: list[int] = []
    eventually(lambda: bool(calls.append(1)) or len(calls) > 2)
    assert len(calls) == 3
