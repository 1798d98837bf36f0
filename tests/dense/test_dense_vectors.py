"""The vectors beside an index: kept in step, searched exactly, never half-written."""

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense_encoder import DIMENSION, HashEncoder
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.errors import IndexUnusableError
from quoth.retrieve.dense import DenseRetriever, HybridRetriever, RescoringRetriever, Vectors, key_of
from quoth.retrieve.dense import graph as graph_room
from quoth.retrieve.dense import vectors as room
from quoth.retrieve.dense.table import Table
from quoth.retrieve.fuse import Example, Fusion, fit_weight, fuse
from quoth.types import Document, Filter, Passage, Query, Scored


class WordStore:
    """A retriever that counts shared words, with what the dense side asks of a store."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.held = {(p.document_id, p.start, p.end): p for p in passages}

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        asked = set(query.question.lower().split())
        scored = [Scored(p, float(len(asked & set(p.text.lower().split())))) for p in self.held.values()]
        may = self.allowed(query.filters) if query.filters else {p.document_id for p in self.held.values()}
        hits = [s for s in scored if s.score > 0 and s.item.document_id in may]
        return sorted(hits, key=lambda s: (-s.score, s.item.document_id, s.item.start))[:k]

    def document(self, id: str) -> Document:
        return Document(id, next(p.text for p in self.held.values() if p.document_id == id))

    def passages_at(self, places: Sequence[tuple[str, int, int]]) -> list[Passage | None]:
        return [self.held.get(place) for place in places]

    def allowed(self, filters: Sequence[Filter]) -> set[str]:
        return {f.value for f in filters if f.key == "id"}


def passage(document_id: str, text: str) -> Passage:
    return Passage(document_id, 0, len(text), text)


ZOO = [passage("a", "the lion sleeps"), passage("b", "a tiger walks"), passage("c", "the lion and the tiger")]


def opened(folder: Path, encoder: str = "hash") -> Vectors:
    return Vectors(folder, encoder=encoder, dimension=DIMENSION)


def test_free_rows_are_looked_for_once_and_used_before_new_ones(tmp_path: Path) -> None:
    """A batch costs as much in a large table as in a small one; what was freed is filled, and the count holds."""
    encoder, vectors = HashEncoder(), opened(tmp_path)
    vectors.sync([passage(f"a{n}", f"first {n}") for n in range(400)], encoder)
    said: list[str] = []
    vectors._rows.set_trace_callback(said.append)
    report = vectors.sync([passage(f"a{n}", f"first {n}") for n in range(0, 400, 4)], encoder)
    assert (report.removed, len(vectors)) == (300, 100)
    kept = [passage(f"a{n}", f"first {n}") for n in range(0, 400, 4)]
    vectors.sync([*kept, *(passage(f"b{n}", f"second {n}") for n in range(350))], encoder)
    vectors._rows.set_trace_callback(None)
    assert len([line for line in said if line == "SELECT row FROM rows"]) == 1
    assert not any("count(" in line.lower() for line in said)
    assert len(vectors) == 450 == vectors._rows.execute("SELECT count(*) FROM rows").fetchone()[0]
    assert vectors._rows.execute("SELECT max(row) FROM rows").fetchone()[0] < 455
    asked = encoder.encode_queries(["second 7"])[0]
    assert vectors.search(asked, k=1)[0][0].document_id == "b7"


def test_free_rows_that_another_writer_took_are_left_to_it(tmp_path: Path) -> None:
    """Two writers that know of the same holes never write into one."""
    encoder, one, other = HashEncoder(), opened(tmp_path), opened(tmp_path)
    first = [passage(f"a{n}", f"first {n}") for n in range(10)]
    one.sync(first, encoder)
    one.sync(first[8:], encoder)
    one.embed([passage("b", "second")], encoder)
    other.embed([passage("c", "third")], encoder)
    one.embed([passage("d", "fourth")], encoder)
    rows = [row for (row,) in one._rows.execute("SELECT row FROM rows")]
    assert sorted(rows) == [0, 1, 2, 8, 9]
    for id, text in (("b", "second"), ("c", "third"), ("d", "fourth")):
        assert one.search(encoder.encode_queries([text])[0], k=1)[0][0].document_id == id


def test_vectors_that_were_made_before_rows_were_counted_are_counted(tmp_path: Path) -> None:
    """Their rows are counted once, and from then on with every change."""
    vectors = opened(tmp_path)
    vectors.sync(ZOO, HashEncoder())
    vectors._rows.execute("DELETE FROM about WHERE name = 'held'")
    vectors.close()
    again = opened(tmp_path)
    assert len(again) == 3
    again.sync(ZOO[:1], HashEncoder())
    assert len(again) == 1


def test_only_new_passages_are_encoded(tmp_path: Path) -> None:
    """A second sync encodes what is new, frees what is gone, and leaves the rest alone."""
    encoder, vectors = HashEncoder(), opened(tmp_path)
    first = vectors.sync(ZOO, encoder)
    changed = [ZOO[0], passage("b", "a tiger runs"), passage("d", "an owl")]
    encoder.encoded.clear()
    second = vectors.sync(changed, encoder)
    assert (first.added, first.removed, first.kept) == (3, 0, 0)
    assert (second.added, second.removed, second.kept) == (2, 2, 1)
    assert encoder.encoded == ["a tiger runs", "an owl"]
    assert len(vectors) == 3


def test_a_removed_passages_row_is_used_again(tmp_path: Path) -> None:
    """The file does not grow when as many passages come as go, so nothing removed lingers behind new rows."""
    vectors = opened(tmp_path)
    vectors.sync(ZOO, HashEncoder())
    size = (tmp_path / "vectors.f16").stat().st_size
    vectors.sync([passage(f"n{i}", f"new text {i}") for i in range(3)], HashEncoder())
    assert (tmp_path / "vectors.f16").stat().st_size == size


def test_search_finds_the_same_text_first(tmp_path: Path) -> None:
    """A passage's own words are nearest to it, with a cosine of one up to float16."""
    vectors = opened(tmp_path)
    vectors.sync(ZOO, HashEncoder())
    hits = vectors.search(HashEncoder().encode_queries(["a tiger walks"])[0], k=2)
    assert hits[0][0][:3] == ("b", 0, 13)
    assert hits[0][1] == pytest.approx(1.0, abs=2e-3)
    assert len(hits) == 2


def test_search_keeps_to_the_allowed_documents(tmp_path: Path) -> None:
    """A filter is applied before the cut, so that it never costs hits."""
    vectors = opened(tmp_path)
    vectors.sync(ZOO, HashEncoder())
    hits = vectors.search(HashEncoder().encode_queries(["a tiger walks"])[0], k=2, allowed={"a"})
    assert [key.document_id for key, _ in hits] == ["a"]


def test_ties_are_in_order_of_document(tmp_path: Path) -> None:
    """Equal vectors come in order of (document id, start), however they were added."""
    vectors = opened(tmp_path)
    vectors.sync([passage(name, "same words") for name in ("z", "m", "a")], HashEncoder())
    hits = vectors.search(HashEncoder().encode_queries(["same words"])[0], k=2)
    assert [key.document_id for key, _ in hits] == ["a", "m"]


def test_another_encoder_is_refused(tmp_path: Path) -> None:
    """Vectors of one encoder are never searched with another's question."""
    opened(tmp_path).close()
    with pytest.raises(IndexUnusableError, match="encoder hash, not other"):
        opened(tmp_path, encoder="other")


def test_a_killed_writer_costs_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written but never named in the table is taken for free, and a rerun completes."""

    class Failing(HashEncoder):
        def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
            if len(self.encoded) >= 4:
                raise KeyboardInterrupt
            return super().encode_passages(texts)

    monkeypatch.setattr(room, "BATCH", 2)
    many = [passage(f"d{i}", f"text number {i}") for i in range(7)]
    with pytest.raises(KeyboardInterrupt):
        opened(tmp_path).sync(many, Failing())
    with (tmp_path / "vectors.f16").open("ab") as file:
        file.write(b"half a vector")
    again = opened(tmp_path)
    report = again.sync(many, HashEncoder())
    assert (report.kept, report.added) == (4, 3)
    hits = again.search(HashEncoder().encode_queries(["text number 6"])[0], k=1)
    assert hits[0][0].document_id == "d6"


def test_a_truncated_file_is_noticed(tmp_path: Path) -> None:
    """A file shorter than its table is an error that says what to do, not a wrong answer."""
    vectors = opened(tmp_path)
    vectors.sync(ZOO, HashEncoder())
    vectors.close()
    (tmp_path / "vectors.f16").write_bytes(b"")
    with pytest.raises(IndexUnusableError, match="shorter"):
        opened(tmp_path).search(np.zeros(DIMENSION, dtype=np.float32), k=1)


def test_another_reader_sees_what_a_writer_finished(tmp_path: Path) -> None:
    """A reader that was open before an update answers from the new state after it."""
    writer, reader = opened(tmp_path), opened(tmp_path)
    writer.sync(ZOO[:1], HashEncoder())
    question = HashEncoder().encode_queries(["a tiger walks"])[0]
    assert [key.document_id for key, _ in reader.search(question, k=1)] == ["a"]
    writer.sync(ZOO, HashEncoder())
    assert [key.document_id for key, _ in reader.search(question, k=1)] == ["b"]


@pytest.mark.parametrize("damage", ["cut off", "gone", "zeros", "no numbers"])
def test_damaged_vectors_are_found_and_made_again(tmp_path: Path, damage: str) -> None:
    """Whatever happened to the file: it is told, the next sync encodes what was lost, and nothing else."""
    encoder, vectors = HashEncoder(), opened(tmp_path)
    many = [passage(f"a{n:02}", f"word{n}") for n in range(20)]
    vectors.sync(many, encoder)
    assert vectors.problems() == []
    vectors.close()
    file, width = tmp_path / "vectors.f16", DIMENSION * 2
    whole = file.read_bytes()
    lost = 20 if damage == "gone" else 5
    if damage == "gone":
        file.unlink()
    else:
        tail = {
            "cut off": b"",
            "zeros": bytes(5 * width),
            "no numbers": np.full(5 * DIMENSION, np.inf, np.float16).tobytes(),
        }
        file.write_bytes(whole[: 15 * width] + tail[damage])
    again = opened(tmp_path)
    assert any(f"{lost} vectors" in problem for problem in again.problems())
    if damage != "zeros":
        with pytest.raises(IndexUnusableError, match="damaged"):
            again.search(encoder.encode_queries(["word3"])[0], k=3)
    report = again.sync([*many, passage("b", "new")], encoder)
    assert (report.added, report.kept) == (lost + 1, 20 - lost)
    assert again.problems() == []
    for n in (3, 17):
        assert again.search(encoder.encode_queries([f"word{n}"])[0], k=1)[0][0].document_id == f"a{n:02}"


def test_only_what_is_found_is_named(tmp_path: Path) -> None:
    """Opening and searching reads the names of the hits, not of everything."""
    vectors = opened(tmp_path)
    vectors.sync([passage(f"a{n:03}", f"word{n}") for n in range(300)], HashEncoder())
    again = opened(tmp_path)
    read: list[int] = []
    select = again._select

    def counted(statement: str, values: Sequence[object]) -> list[Any]:
        found = select(statement, values)
        read.append(len(found))
        return found

    again._select = counted  # type: ignore[method-assign]
    assert again.search(HashEncoder().encode_queries(["word7"])[0], k=3)[0][0].document_id == "a007"
    assert read == [3]


def test_names_are_looked_up_by_index(tmp_path: Path) -> None:
    """No look-up goes through the whole table, however it is asked for."""
    vectors = opened(tmp_path)
    vectors.sync(ZOO, HashEncoder())
    plans: list[str] = []

    def planned(statement: str, values: Sequence[object]) -> list[Any]:
        plans.extend(row[3] for row in vectors._select(f"EXPLAIN QUERY PLAN {statement}", values))
        return vectors._select(statement, values)

    table = Table(planned)
    keys = [key_of(p) for p in ZOO]
    rows = table.rows([*keys, key_of(passage("a", "another"))])
    assert sorted(rows) == sorted(keys)
    assert dict(table.keys(rows.values())) == rows
    assert len(list(table.keys_by_serial([1, 2, 99]))) == 2
    assert len(list(table.keys_since(1))) == 2
    assert plans
    assert not any(plan.startswith("SCAN rows") for plan in plans)


def test_a_writer_that_comes_between_is_waited_for(tmp_path: Path) -> None:
    """A row that is reused after the numbers were read never gives its new passage the old one's score."""
    encoder, reader, writer = HashEncoder(), opened(tmp_path), opened(tmp_path)
    writer.sync(ZOO[:2], encoder)
    select = reader._select
    changes = [[ZOO[1]], [ZOO[1], passage("z", "a zebra")]]

    def slow(statement: str, values: Sequence[object]) -> list[Any]:
        while changes:
            writer.sync(changes.pop(0), encoder)
        return select(statement, values)

    reader._select = slow  # type: ignore[method-assign]
    asked = encoder.encode_queries([ZOO[0].text])[0]
    found = reader.search(asked, k=2)
    assert {key.document_id for key, _ in found} == {"b", "z"}
    for key, score in found:
        (own,) = [p for p in (ZOO[1], passage("z", "a zebra")) if p.document_id == key.document_id]
        assert score == pytest.approx(float(encoder.encode_queries([own.text])[0] @ asked), abs=2e-3)


def test_the_graph_agrees_with_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the graph answers, and its first hits are those of the exact search."""
    pytest.importorskip("usearch", reason="the extra `dense` is not installed")
    many = [passage(f"d{i:04}", f"word{i} word{i + 1} word{i + 2}") for i in range(600)]
    exact = opened(tmp_path / "exact")
    exact.sync(many, HashEncoder())
    monkeypatch.setattr(room, "EXACT_LIMIT", 100)
    graph = opened(tmp_path / "graph")
    graph.sync(many, HashEncoder())
    agreed = 0
    for i in range(0, 600, 20):
        question = HashEncoder().encode_queries([f"word{i} word{i + 1}"])[0]
        one, two = exact.search(question, k=5), graph.search(question, k=5)
        agreed += len({h[0] for h in one} & {h[0] for h in two})
        assert two[0][0] == one[0][0]
    assert agreed >= 0.95 * 150


def test_a_graph_that_was_written_is_searched_as_deeply_as_one_that_was_made(tmp_path: Path) -> None:
    """How many candidates a search keeps is not in the file: it is set whenever one is opened."""
    pytest.importorskip("usearch", reason="the extra `dense` is not installed")
    drawn = np.random.default_rng(0).standard_normal((40, DIMENSION)).astype(np.float16)
    name = graph_room.update(tmp_path, None, {n + 1: n for n in range(40)}, drawn)
    opened_again = graph_room.view(tmp_path, name)
    assert opened_again is not None
    assert opened_again.expansion_search == graph_room.EXPANSION_SEARCH


def test_a_graph_that_is_behind_gives_no_wrong_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came after the graph is found, what went is not, filters hold, and the next sync brings the graph up."""
    pytest.importorskip("usearch", reason="the extra `dense` is not installed")
    monkeypatch.setattr(room, "EXACT_LIMIT", 100)
    many = [passage(f"d{i:04}", f"word{i} word{i + 1} word{i + 2}") for i in range(300)]
    vectors, encoder = opened(tmp_path), HashEncoder()
    vectors.sync(many, encoder)
    with monkeypatch.context() as patch:
        patch.setattr(Vectors, "_update_graph", lambda self: None)
        vectors.sync([*many[1:], passage("late", "a tiger walks")], encoder)
    question = encoder.encode_queries(["a tiger walks"])[0]
    assert vectors.search(question, k=1)[0][0].document_id == "late"
    first = encoder.encode_queries([many[0].text])[0]
    assert all(key.document_id != "d0000" for key, _ in vectors.search(first, k=50))
    only = vectors.search(first, k=3, allowed={"d0250", "d0251"})
    assert {key.document_id for key, _ in only} == {"d0250", "d0251"}
    keys = [key_of(many[5]), key_of(many[0])]
    found = vectors.similarities(encoder.encode_queries([many[5].text])[0], keys)
    assert found[0] == pytest.approx(1.0, abs=2e-3)
    assert found[1] is None
    names = {path.name for path in tmp_path.glob("graph-*")}
    vectors.sync([*many[1:], passage("late", "a tiger walks")], encoder)
    assert {path.name for path in tmp_path.glob("graph-*")} != names
    assert vectors.search(question, k=1)[0][0].document_id == "late"
    vectors.sync(many[:2], encoder)
    assert [key.document_id for key, _ in vectors.search(first, k=9)] == ["d0000", "d0001"]


def test_vectors_in_a_place_that_cannot_be_written_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the table cannot be opened for writing, what it holds is searched all the same."""
    vectors = opened(tmp_path)
    vectors.sync(ZOO, HashEncoder())
    vectors.close()
    connect = sqlite3.connect

    def refusing(place: object, **options: Any) -> sqlite3.Connection:
        if not options.get("uri"):
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return connect(place, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(room.sqlite3, "connect", refusing)
    hits = opened(tmp_path).search(HashEncoder().encode_queries(["a tiger walks"])[0], k=1)
    assert hits[0][0].document_id == "b"
    with pytest.raises(IndexUnusableError, match="cannot be opened"):
        opened(tmp_path / "none")


def test_two_writers_never_take_the_same_row(tmp_path: Path) -> None:
    """Vectors that two processes write at once all keep their passages."""
    one, two = opened(tmp_path), opened(tmp_path)
    first, second = (
        [passage(f"a{i}", f"first {i}") for i in range(150)],
        [passage(f"b{i}", f"second {i}") for i in range(150)],
    )
    threads = [
        threading.Thread(target=each.embed, args=(some, HashEncoder()))
        for each, some in ((one, first), (two, second))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    encoder = HashEncoder()
    assert len(one) == 300
    for p in [*first[::30], *second[::30]]:
        assert one.similarities(encoder.encode_queries([p.text])[0], [key_of(p)])[0] == pytest.approx(
            1.0, abs=2e-3
        )


def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    """Embedding for an index that is not ours keeps only the newest vectors, and still answers all that was asked."""
    vectors, encoder = opened(tmp_path), HashEncoder()
    texts = [passage(f"d{i}", f"text number {i}") for i in range(9)]
    for p in texts:
        assert np.allclose(vectors.embed([p], encoder, most=4), encoder.encode_queries([p.text]), atol=2e-3)
    assert len(vectors) == 4
    assert vectors.embed(texts, encoder, most=4).shape == (9, DIMENSION)
    assert vectors.embed([], encoder).shape == (0, DIMENSION)


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from("abcd"), st.sampled_from(["one two", "three", "four five"])), max_size=6
        ),
        max_size=4,
    )
)
@settings(max_examples=25, deadline=None)
def test_vectors_follow_any_history(
    tmp_path_factory: pytest.TempPathFactory, history: list[list[tuple[str, str]]]
) -> None:
    """After any series of syncs the rows are exactly those of the last one."""
    vectors = opened(tmp_path_factory.mktemp("vectors"))
    last: list[Passage] = []
    for step in history:
        last = [passage(document, text) for document, text in dict(step).items()]
        vectors.sync(last, HashEncoder())
    assert len(vectors) == len({key_of(p) for p in last})
    assert all(
        s is not None
        for s in vectors.similarities(np.ones(DIMENSION, dtype=np.float32), [key_of(p) for p in last])
    )


def test_hybrid_brings_what_either_side_found(tmp_path: Path) -> None:
    """A passage that only the vectors find is in the fused list, and filters hold for both sides."""
    store, encoder, vectors = WordStore(ZOO), HashEncoder(), opened(tmp_path)
    vectors.sync(ZOO, encoder)
    hybrid = HybridRetriever(store, vectors, encoder, fusion=Fusion(weight=1.0, depth=10))
    hits = hybrid.retrieve(Query("sleeps"), k=3)
    assert hits[0].item.document_id == "a"
    assert {h.item.document_id for h in hits} == {"a", "b", "c"}
    only = hybrid.retrieve(Query("tiger", filters=(Filter("id", ":", "c"),)), k=3)
    assert "b" in {h.item.document_id for h in store.retrieve(Query("tiger"), k=3)}
    assert [
        h.item.document_id
        for h in DenseRetriever(store, vectors, encoder).retrieve(
            Query("tiger", filters=(Filter("id", ":", "c"),)), k=3
        )
    ] == ["c"]
    assert only[0].item.document_id == "c"


def test_rescoring_embeds_each_hit_once(tmp_path: Path) -> None:
    """An index that is not ours is never embedded whole: only its hits are, and only once."""
    encoder = HashEncoder()
    retriever = RescoringRetriever(WordStore(ZOO), opened(tmp_path), encoder, fusion=Fusion(weight=1.0))
    for _ in range(2):
        assert retriever.retrieve(Query("lion sleeps"), k=1)[0].item.document_id == "a"
    assert sorted(encoder.encoded) == ["the lion and the tiger", "the lion sleeps"]


KEYS = st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.just(9))
LISTS = st.dictionaries(KEYS, st.floats(0, 10), max_size=8)


@given(LISTS, LISTS, st.sampled_from(["sum", "ranks"]))
def test_fusion_orders_every_key_once(lexical: dict, cosines: dict, method: str) -> None:
    """Every key of either side comes out once, best first, ties by key."""
    fused = fuse(lexical, cosines, Fusion(method=method, depth=5))
    assert {key for key, _ in fused} == {*lexical, *cosines}
    assert fused == sorted(fused, key=lambda item: (-item[1], item[0]))


def test_no_weight_is_the_lexical_order() -> None:
    """A weight of nothing leaves the lexical list as it was."""
    lexical = {("a", 0, 1): 3.0, ("b", 0, 1): 2.0}
    assert [k for k, _ in fuse(lexical, {("b", 0, 1): 0.9}, Fusion(weight=0.0))] == list(lexical)


def test_the_weight_must_beat_nothing() -> None:
    """Where vectors do not help, the learned weight is 0; where they do, it is not."""
    a, b = ("a", 0, 1), ("b", 0, 1)
    useless = [Example({a: 2.0, b: 1.0}, {a: 0.5, b: 0.5}, frozenset({a}))]
    useful = [Example({a: 2.0, b: 1.5}, {a: 0.1, b: 0.9}, frozenset({b}))]
    assert fit_weight(useless, [0.0, 1.0, 10.0], depth=5)[0] == 0.0
    assert fit_weight(useful, [0.0, 1.0, 10.0], depth=5)[0] == 1.0
