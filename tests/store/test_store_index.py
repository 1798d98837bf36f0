"""The embedded index as a store: what is put is held, found, replaced and dropped."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from store_fixtures import one

from quoth.errors import IndexUnusableError, InputError
from quoth.protocols import Store
from quoth.retrieve.store import Index
from quoth.testing import check_store
from quoth.types import Document, Passage, Phrase, Query, Segment, Source, Term

HARD = "NFD e\u0301, NFC é, 👩🏽‍🚀 and 東京。\r\nSecond line\u2028third. \u0000".replace("\0", "\ufffd")


def test_it_keeps_the_contract_of_stores() -> None:
    """The shipped contract check of stores passes, its retriever part included."""

    @contextmanager
    def make(folder: Path) -> Iterator[Store]:
        exists = (folder / "catalog.sqlite").exists()
        with Index.open(folder, write=True) if exists else Index.create(folder) as made:
            yield made

    check_store(make)


def test_a_document_comes_back_as_it_was_put(index: Index) -> None:
    """Text to the last code point, segments, paragraphs, metadata and notes survive a round trip."""
    document = Document(
        "d1",
        HARD * 500,
        "A title ’’",
        "ü/x.txt",
        "ab" * 32,
        {"author": "Å", "key": "v=1"},
        (Segment(0, 5, 2, 3, 17, "cell A1", False), Segment(5, 9)),
        ((0, 40), (50, 90)),
        ("a note",),
    )
    index.put([(Source("ü/x.txt", "ab" * 32, 7, 9), [document])])
    assert index.document("d1") == document
    assert dict(index.document("d1").metadata) == dict(document.metadata)
    assert index.source_of("d1") == Source("ü/x.txt", "ab" * 32, 7, 9)
    with pytest.raises(InputError, match="no document 'd2'"):
        index.document("d2")
    with pytest.raises(InputError, match="no document 'd2'"):
        index.source_of("d2")


def test_a_path_that_is_no_utf8_is_kept(index: Index) -> None:
    """A file name with bytes that are not UTF-8 is a source like any other."""
    path = "b\udcff\udcfe.txt"
    index.put([(Source(path, "s"), [Document("d", "Some words.", path, path, "s", {"path": path})])])
    assert [s.path for s in index.sources()] == [path]
    assert index.document("d").source == path
    assert [e.metadata["path"] for e in index.entries()] == [path]
    assert [s.item.document_id for s in index.retrieve(Query("words"), k=3)] == ["d"]
    assert index.drop([path]) == 1


def test_a_lone_surrogate_in_a_text_is_refused(index: Index) -> None:
    """Text that no file can hold is refused before anything is written."""
    with pytest.raises(InputError, match="lone surrogate at 2"):
        index.put([one("a", "ab\ud800")])
    assert list(index.sources()) == []


def test_replacing_a_source_replaces_all_it_held(index: Index) -> None:
    """After a put, only the new documents of a source are found; what is unchanged stays."""
    index.put([one("a", "An apple."), one("b", "A banana.")])
    source = Source("a.txt", "new")
    index.put([(source, [Document("a", "An apricot."), Document("a2", "Another almond.")])])
    assert [s.item.document_id for s in index.retrieve(Query("apple apricot almond banana"), k=9)] != []
    assert index.retrieve(Query("apple"), k=9) == []
    assert {s.item.document_id for s in index.retrieve(Query("apricot almond banana"), k=9)} == {
        "a",
        "a2",
        "b",
    }
    index.put([(source, [])])
    assert {e.id for e in index.entries()} == {"b"}
    assert {s.path for s in index.sources()} == {"a.txt", "b.txt"}


def test_failed_and_empty_sources_are_recorded(index: Index) -> None:
    """A failure keeps its code and reason, an empty file its document, and neither is found."""
    failed = Source("x.pdf", "s", 3, 4, "failed", "encrypted", "x.pdf is encrypted.")
    empty = Source("e.txt", "t", 0, 4, "empty")
    index.put([(failed, []), (empty, [Document("e", "  \n")])])
    assert list(index.sources()) == [empty, failed]
    assert [(e.id, e.passages) for e in index.entries()] == [("e", 0)]
    assert index.document("e").text == "  \n"
    assert index.verify(full=True) == []
    index.put([one("e", "Now it has text.", path="e.txt")])
    assert len(index.retrieve(Query("text"), k=3)) == 1
    with pytest.raises(InputError, match="is failed, but"):
        index.put([(failed, [Document("y", "text")])])


def test_ids_belong_to_one_source(index: Index) -> None:
    """The same id twice, in a batch or in another source, is refused, and nothing of the batch is kept."""
    index.put([one("a", "One.")])
    for batch, message in (
        ([one("b", "Two."), one("b", "Three.", path="c.txt")], "is there twice"),
        ([one("b", "Two."), one("a", "Three.", path="c.txt")], "belongs to a.txt already"),
        ([one("b", "Two."), one("c", "Three.", path="b.txt")], "in the batch twice"),
    ):
        with pytest.raises(InputError, match=message):
            index.put(batch)
        assert [s.path for s in index.sources()] == ["a.txt"]
        assert index.retrieve(Query("two three"), k=5) == []
    index.put([one("b", "Two."), one("a", "One more.", path="a.txt")])
    assert len(index.retrieve(Query("one two"), k=5)) == 2


def test_an_id_may_move_to_another_source_in_one_batch(index: Index) -> None:
    """A batch that takes an id from one source and gives it to another is whole."""
    index.put([one("a", "One.")])
    index.put([(Source("a.txt", "s"), []), one("a", "Two.", path="b.txt")])
    assert index.source_of("a").path == "b.txt"


def test_everything_survives_closing(index: Index) -> None:
    """An index that is opened again has what it had, settings included; closed, it says so."""
    index.put([one("a", "An apple.", title="Fruit", kind="x")])
    index.set_setting("vectors", "e5")
    before = list(index.entries()), list(index.sources()), index.retrieve(Query("apple"), k=3)
    index.close()
    index.close()
    with pytest.raises(InputError, match="closed"):
        index.retrieve(Query("apple"), k=3)
    with Index.open(index.folder) as again:
        assert (list(again.entries()), list(again.sources()), again.retrieve(Query("apple"), k=3)) == before
        assert (again.setting("vectors"), again.setting("nothing")) == ("e5", None)
        assert again.folder == index.folder
        for write in (
            lambda: again.put([]),
            lambda: again.drop([]),
            lambda: again.set_setting("a", "b"),
            lambda: again.rebuild(),
        ):
            with pytest.raises(InputError, match="reading only"):
                write()


def test_info_says_what_the_index_is(index: Index) -> None:
    """The counts, the format, the analyzer and the size are those of the index."""
    index.put([one("a", "An apple.\n\nA pear."), one("b", "A plum.")])
    info = index.info()
    assert (info["documents"], info["passages"], info["characters"]) == (2, 2, 25)
    assert (info["format"], info["analyzer"], info["split"], info["generation"]) == (
        1,
        "english",
        "passage",
        1,
    )
    assert isinstance(info["bytes"], int)
    assert info["bytes"] > 1000
    assert str(info["engine"]).startswith("tantivy 0.27")


def test_whole_documents_can_be_the_passages(make_index) -> None:  # type: ignore[no-untyped-def]
    """With split="document" a passage is its document, from 0 to the end, however long."""
    index = make_index("whole", split="document")
    text = "\n\n".join(f"Paragraph {i} about topic{i}. " * 30 for i in range(40))
    index.put([one("long", text), one("short", "A short one.")])
    (found,) = index.retrieve(Query("topic17"), k=5)
    assert (found.item.start, found.item.end, found.item.text) == (0, len(text), text)


def test_paragraphs_of_the_data_are_the_passages(index: Index) -> None:
    """Boundaries that came with a document are its passages, never packed."""
    index.put([(Source("s", "s"), [Document("s", "One.Two.Three.", paragraphs=((0, 4), (4, 8), (8, 14)))])])
    assert [p.text for _, p in index.passages()] == ["One.", "Two.", "Three."]


def test_passage_numbers_are_stable_and_never_used_twice(index: Index) -> None:
    """A number means one passage for ever: after puts, drops and a rebuild with the same split."""
    index.put([one("a", "An apple."), one("b", "A banana.")])
    before = {p.document_id: n for n, p in index.passages()}
    index.put([one("a", "An apricot.")])
    index.rebuild()
    after = {p.document_id: n for n, p in index.passages()}
    assert after["b"] == before["b"]
    assert after["a"] > max(before.values())
    assert index.passages_of([after["b"], 10**6])[after["b"]].text == "A banana."
    assert len(index.passages_of([after["b"], 10**6])) == 1


def test_a_snapshot_stays_as_it_was(index: Index) -> None:
    """Retrieval and documents inside a snapshot fit each other, whatever is written meanwhile."""
    index.put([one("a", "An apple a day.")])
    with index.snapshot() as then:
        index.put([one("a", "Something else."), one("b", "An apple.")])
        index.rebuild()
        (found,) = then.retrieve(Query("apple"), k=5)
        assert then.document("a").text[found.item.start : found.item.end] == found.item.text
        assert [e.id for e in then.entries()] == ["a"]
    assert [s.item.document_id for s in index.retrieve(Query("apple"), k=5)] == ["b"]


def test_explaining_adds_up(index: Index) -> None:
    """What a passage matched sums to its score, names phrases and origins, and leaves out what it did not match."""
    index.put([one("a", "The tower of London stands by the river.", title="Tower"), one("b", "London.")])
    query = Query(
        "Where is the tower?",
        phrases=(Phrase("tower of London", 2.0, "entities"),),
        terms=(Term("moon", 1.0, "x"),),
    )
    best = index.retrieve(query, k=1)[0]
    matches = index.explain(query, best.item)
    assert sum(m.score for m in matches) == pytest.approx(best.score, rel=1e-5)
    assert ("tower _ london", "entities") in [(m.text, m.origin) for m in matches]
    assert "moon" not in {m.text for m in matches}
    assert set(index.matched(query, best.item)) == {"tower", "tower _ london"}
    assert {m.field for m in matches} == {"text", "title"}
    with pytest.raises(InputError, match="no passage 1-2"):
        index.explain(query, Passage("a", 1, 2, "x"))


def test_readers_of_many_threads_share_an_index(index: Index) -> None:
    """Eight threads that search while one writes all see a whole state, without an error."""
    index.put([one(f"d{i}", f"apple number{i}") for i in range(50)])
    problems: list[object] = []
    stop = threading.Event()

    def search() -> None:
        try:
            while not stop.is_set():
                found = index.retrieve(Query("apple"), k=100)
                if len(found) != 50:
                    problems.append(len(found))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for round in range(6):
        index.put([one(f"d{i}", f"apple number{i} round{round}") for i in range(50)])
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == []


def test_what_is_no_index_is_said(tmp_path: Path) -> None:
    """A folder without an index, one that has one, and unknown choices are mistakes with a way out."""
    with pytest.raises(InputError, match="holds no index") as caught:
        Index.open(tmp_path / "none")
    assert "quoth index" in caught.value.hint
    assert caught.value.code == "no_index"
    Index.create(tmp_path / "i").close()
    with pytest.raises(InputError, match="holds an index already"):
        Index.create(tmp_path / "i")
    with pytest.raises(InputError, match="no analyzer 'klingon'"):
        Index.create(tmp_path / "j", analyzer="klingon")
    with pytest.raises(InputError, match="split is 'word'"):
        Index.create(tmp_path / "j", split="word")
    assert not (tmp_path / "j").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexUnusableError, match="cannot be made"):
        Index.create(tmp_path / "file" / ".quoth")


def test_a_creation_that_was_cut_off_is_no_index(tmp_path: Path) -> None:
    """A catalog that was never finished is made again; one without its engine gets one."""
    (tmp_path / "catalog.sqlite.new").write_bytes(b"half")
    Index.create(tmp_path).close()
    with Index.open(tmp_path, write=True) as index:
        index.put([one("a", "An apple.")])
        assert len(index.retrieve(Query("apple"), k=1)) == 1


def test_a_rebuild_gives_back_the_room_of_what_was_removed(index: Index) -> None:
    """After most of an index was dropped, a rebuild makes its files small again, and passages keep their numbers."""
    index.put([one(f"d{i}", f"apple {i} " + "x y z " * 2000) for i in range(300)])
    index.drop([f"d{i}.txt" for i in range(299)])
    before = (index.info()["bytes"], list(index.passages()))
    index.rebuild()
    index.close()
    with Index.open(index.folder) as again:
        assert int(str(again.info()["bytes"])) < int(str(before[0])) / 4
        assert list(again.passages()) == before[1]
