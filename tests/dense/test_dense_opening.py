"""Which retriever an index gets, and vectors that follow a real index through all that happens to it."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense_encoder import HashEncoder

from quoth.errors import InputError, MissingExtraError
from quoth.models import encoder as encoders
from quoth.retrieve import dense
from quoth.retrieve.dense import HybridRetriever, Place, choose, open_vectors, sync
from quoth.retrieve.dense.opening import encoder_name, fusion_of
from quoth.retrieve.fuse import Fusion
from quoth.retrieve.store import Index
from quoth.testing import check_retriever
from quoth.types import Document, Filter, Passage, Query, Scored, Source

TEXTS = {
    "lions": "The lion sleeps in the shade of a tree.",
    "tigers": "A tiger walks along the river at night.",
    "owls": "The owl hunts mice over open fields.",
    "rents": "The tenant pays the rent on the first of the month.",
}


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> HashEncoder:
    """One installed encoder, called hash."""
    made = HashEncoder()
    monkeypatch.setattr(encoders, "installed_encoders", lambda: {"hash": Path("nowhere")})
    monkeypatch.setattr(encoders, "load_encoder", lambda name, threads=0: made)
    return made


@pytest.fixture
def index(tmp_path: Path) -> Any:
    with Index.create(tmp_path / ".quoth") as made:
        put(made, TEXTS)
        yield made


def put(index: Index, texts: dict[str, str]) -> None:
    index.put(
        [
            (
                Source(f"{name}.txt", sha256=text),
                (Document(name, text, title=name, metadata={"kind": name[0]}),),
            )
            for name, text in texts.items()
        ]
    )


def place(index: Index) -> Place:
    return Place(folder=index.folder)


def ids(hits: Sequence[Scored[Passage]]) -> list[str]:
    return [hit.item.document_id for hit in hits]


def test_without_vectors_nothing_changes(index: Index, encoder: HashEncoder) -> None:
    """An index without vectors is searched by its words, although an encoder is installed: nothing is loaded."""
    assert choose(index, place=place(index)) is index
    assert choose(index, place=place(index), mode="lexical") is index


def test_with_vectors_both_sides_count(index: Index, encoder: HashEncoder) -> None:
    """Once there are vectors, auto is hybrid: a passage that shares no search term can be found."""
    sync(index, encoder, place=place(index))
    hybrid = choose(index, place=place(index))
    assert isinstance(hybrid, HybridRetriever)
    assert set(ids(hybrid.retrieve(Query("tiger"), k=10))) == set(TEXTS)
    assert ids(hybrid.retrieve(Query("tiger"), k=10))[0] == "tigers"
    assert ids(index.retrieve(Query("tiger"), k=10)) == ["tigers"]


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_the_retrievers_keep_the_contract(index: Index, encoder: HashEncoder, mode: Any) -> None:
    """Dense and hybrid retrieval pass the check of every retriever, filters included."""
    sync(index, encoder, place=place(index))
    queries = [
        Query("the lion in the tree"),
        Query("rent month"),
        Query("owl", filters=(Filter("kind", ":", "o"),)),
    ]
    check_retriever(choose(index, place=place(index), mode=mode), queries)


def test_vectors_follow_the_index(index: Index, encoder: HashEncoder) -> None:
    """What is changed is encoded again, what is removed is freed, what stayed is left alone, a rebuild keeps all."""
    first = sync(index, encoder, place=place(index))
    encoder.encoded.clear()
    put(index, {"lions": "The lion hunts at dawn."})
    index.drop(["owls.txt"])
    second = sync(index, encoder, place=place(index))
    assert (first.added, second.added, second.removed, second.kept) == (4, 1, 2, 2)
    assert encoder.encoded == ["lions. The lion hunts at dawn."]
    index.rebuild(analyzer="standard")
    third = sync(index, encoder, place=place(index))
    assert (third.added, third.removed, third.kept) == (0, 0, 3)
    hybrid = choose(index, place=place(index))
    assert ids(hybrid.retrieve(Query("hunts"), k=9))[0] == "lions"


def test_a_text_that_came_later_is_found_and_told(index: Index, encoder: HashEncoder) -> None:
    """Between the text and its vectors, hybrid search finds the new text by its words, and says what is lacking."""
    encoder.fusion = {"weight": 5.0}  # type: ignore[attr-defined]
    sync(index, encoder, place=place(index))
    put(index, {"wolves": "The wolf howls."})
    found = choose(index, place=place(index)).retrieve(Query("the wolf howls at night by a tree"), k=5)
    assert found[0].item.document_id == "wolves"
    assert "1 of" in found.notes[0]  # type: ignore[attr-defined]


def test_a_vector_of_a_replaced_text_is_nobodys(index: Index, encoder: HashEncoder) -> None:
    """A text that took the place of another, to the letter's position, is not found by the old one's meaning."""
    sync(index, encoder, place=place(index))
    swapped = "The frog croaks ".ljust(len(TEXTS["owls"]) - 1, "x") + "."
    put(index, {"owls": swapped})
    for mode in ("dense", "hybrid"):
        found = choose(index, place=place(index), mode=mode).retrieve(  # type: ignore[arg-type]
            Query("mice over open fields"), k=9
        )
        texts = {hit.item.document_id: hit.item.text for hit in found}
        assert texts.get("owls", swapped) == swapped
        assert ids(found)[0] != "owls" or mode == "hybrid"


def test_a_removed_document_is_found_by_nothing(index: Index, encoder: HashEncoder) -> None:
    """A document that is gone is not found by its vector, even before the vectors were brought up to date."""
    sync(index, encoder, place=place(index))
    index.drop(["tigers.txt"])
    for mode in ("dense", "hybrid"):
        assert "tigers" not in ids(choose(index, place=place(index), mode=mode).retrieve(Query("tiger"), k=9))


def test_modes_that_cannot_be_had_say_why(
    index: Index, encoder: HashEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without vectors, a wish for vectors, or an encoder, the error says which, and the way out."""
    with pytest.raises(InputError, match=r"holds no vectors.*--vectors hash"):
        choose(index, place=place(index), mode="dense")
    with pytest.raises(InputError, match="vectors is none"):
        choose(index, place=place(index), mode="hybrid", encoder="none")
    monkeypatch.setattr(encoders, "installed_encoders", dict)
    with pytest.raises(MissingExtraError, match="dense"):
        choose(index, place=place(index), mode="hybrid")
    assert encoder_name("auto") is None
    assert encoder_name("none") is None
    assert encoder_name("mine") == "mine"


def test_an_empty_folder_of_vectors_is_no_vectors(index: Index, encoder: HashEncoder) -> None:
    """An index whose vectors were begun and never got a row is searched by its words."""
    open_vectors(place(index), encoder).close()
    assert choose(index, place=place(index)) is index


def test_an_index_of_others_is_rescored(
    tmp_path: Path, encoder: HashEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where documents cannot be listed, hybrid embeds the hits and remembers them in the user's data folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    class Foreign:
        def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
            passages = [Passage(name, 0, len(text), text) for name, text in sorted(TEXTS.items())]
            return [Scored(passage, 1.0) for passage in passages][:k]

        def document(self, id: str) -> Document:
            return Document(id, TEXTS[id])

    at = Place(address="opensearch://user:secret@host:9200/theirs?text=body")
    rescored = choose(Foreign(), place=at, mode="hybrid")
    assert ids(rescored.retrieve(Query("A tiger walks along the river at night."), k=2))[0] == "tigers"
    assert choose(Foreign(), place=at, mode="auto") is not None
    assert at.vectors() == Place(address="opensearch://host:9200/theirs?text=title").vectors()
    assert "secret" not in str(at.vectors())
    assert any(tmp_path.rglob("vectors.f16"))
    with pytest.raises(InputError, match="re-scored"):
        choose(Foreign(), place=at, mode="dense")


def test_a_servers_store_is_adapted(tmp_path: Path, encoder: HashEncoder) -> None:
    """A store that only lists and hands out documents (a server's) gets vectors, filters and hybrid search, too."""

    class Server:
        """A store's protocol and no more."""

        def __init__(self, index: Index) -> None:
            self._index = index

        def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
            return self._index.retrieve(query, k=k)

        def document(self, id: str) -> Document:
            return self._index.document(id)

        def entries(self) -> Any:
            return self._index.entries()

    with Index.create(tmp_path / ".quoth") as index:
        put(index, TEXTS)
        server, at = Server(index), Place(folder=tmp_path / "sidecar")
        (tmp_path / "sidecar").mkdir()
        report = sync(server, encoder, place=at)  # type: ignore[arg-type]
        assert report.added == len(TEXTS)
        queries = [Query("lion tree"), Query("owl", filters=(Filter("kind", ":", "o"),))]
        check_retriever(choose(server, place=at, mode="hybrid"), queries)


def test_vectors_go_with_their_folder(index: Index, encoder: HashEncoder) -> None:
    """Removing the vectors' folder leaves an index that works as before."""
    sync(index, encoder, place=place(index))
    shutil.rmtree(index.folder / f"vectors-{encoder.name}")
    assert choose(index, place=place(index)) is index


def test_the_learned_fusion_is_used(encoder: HashEncoder) -> None:
    """What an encoder's card says of its fusion counts; without it, the default does."""

    class Learned(HashEncoder):
        fusion = {"method": "sum", "weight": 77.0, "depth": 50, "unknown": 1}  # noqa: RUF012

    assert fusion_of(Learned()) == Fusion(weight=77.0, depth=50)
    assert fusion_of(encoder) == Fusion()
    assert dense.key_of(Passage("a", 0, 1, "x")).document_id == "a"
    assert np.allclose(np.linalg.norm(encoder.encode_queries(["a b"])), 1)
