"""Vectors beside an index on a real server."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from dense_encoder import DIMENSION, HashEncoder

from quoth.retrieve.dense import DenseRetriever, HybridRetriever, Place, Vectors, sync
from quoth.retrieve.fuse import Fusion
from quoth.retrieve.opensearch import Address, OpenSearchStore
from quoth.retrieve.opensearch.admin import delete
from quoth.retrieve.opensearch.wire import Wire
from quoth.retrieve.store import Index
from quoth.types import Document, Filter, Query, Source

pytestmark = pytest.mark.server

TEXTS = ("the lion sleeps", "a tiger walks", "the lion and the tiger", "an owl hunts mice", "mice sleep")
BATCH = [
    (
        Source(f"{n}.txt", f"{n}"),
        [Document(f"d{n}", text, title=f"t{n}", source=f"{n}.txt", metadata={"even": str(n % 2 == 0)})],
    )
    for n, text in enumerate(TEXTS)
]


@pytest.fixture
def store(
    opensearch_place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[OpenSearchStore]:
    """Give an empty store, and a folder of its own for what lies beside it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    address = f"opensearch://{opensearch_place}/test-dense-{uuid.uuid4().hex[:12]}"
    try:
        with OpenSearchStore.connect(address, create=True) as made:
            yield made
    finally:
        wire = Wire(Address.parse(address))
        delete(wire)
        wire.close()


@pytest.mark.parametrize("filters", [(), (Filter("even", ":", "True"),)])
def test_a_server_finds_by_vectors_what_the_embedded_index_finds(
    store: OpenSearchStore, tmp_path: Path, filters: tuple[Filter, ...]
) -> None:
    """The same passages in the same order with the same cosines, with and without a filter; fused, the same set."""
    encoder, query = HashEncoder(), Query("lion mice", filters=filters)
    with Index.create(tmp_path / "index") as index:
        index.put(BATCH)
        store.put(BATCH)
        there = Place(address="opensearch://host:9200/name")
        assert sync(store, encoder, place=there).added == len(TEXTS)
        assert sync(index, encoder, place=Place(folder=tmp_path / "index")).added == len(TEXTS)
        ours = Vectors(tmp_path / "index/vectors-hash", encoder="hash", dimension=DIMENSION)
        theirs = Vectors(there.vectors() / "vectors-hash", encoder="hash", dimension=DIMENSION)
        near = [
            [(h.item, h.score) for h in DenseRetriever(kept, v, encoder).retrieve(query, k=3)]
            for kept, v in ((index, ours), (store, theirs))
        ]
        assert len(near[0]) == 3
        assert near[0] == near[1]
        both = [
            {h.item for h in HybridRetriever(kept, v, encoder, fusion=Fusion()).retrieve(query, k=10)}
            for kept, v in ((index, ours), (store, theirs))
        ]
        assert both[0] == both[1]
        assert len(both[0]) == (3 if filters else 5)


def test_what_changed_on_the_server_is_not_quoted_from_a_vector(
    store: OpenSearchStore, tmp_path: Path
) -> None:
    """A text that was replaced, or removed, is not found by the vector that it had."""
    encoder = HashEncoder()
    store.put(BATCH)
    there = Place(address="opensearch://host:9200/name")
    sync(store, encoder, place=there)
    store.put(
        [(Source("3.txt", "new"), [Document("d3", "an owl sleeps all day", title="t3", source="3.txt")])]
    )
    store.drop(["4.txt"])
    vectors = Vectors(there.vectors() / "vectors-hash", encoder="hash", dimension=DIMENSION)
    found = DenseRetriever(store, vectors, encoder).retrieve(Query("mice"), k=5)
    assert {hit.item.document_id for hit in found} == {"d0", "d1", "d2"}
