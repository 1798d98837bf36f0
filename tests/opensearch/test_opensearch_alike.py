"""The cluster beside the embedded index: the same files, the same questions, the same findings."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quoth.indexing import UpdateOptions, update
from quoth.retrieve.opensearch import OpenSearchStore
from quoth.retrieve.store import Index
from quoth.types import Document, Phrase, Query, Source, Term

pytestmark = pytest.mark.server

XQUAD = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "squad" / "xquad.en.json"


def test_a_folder_is_kept_in_step(store: OpenSearchStore, tmp_path: Path) -> None:
    """The updater works on a cluster as on the embedded index: added, unchanged, updated, failed, pruned."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("Eagles fly.")
    (folder / "b.md").write_text("# Fish\n\nFish swim.")
    (folder / "c.docx").write_bytes(b"PK\x03\x04" + bytes(200))
    report = update(store, [folder], root=tmp_path)
    assert (report.added, report.failed) == (2, 1)
    assert update(store, [folder], root=tmp_path).unchanged >= 2
    (folder / "a.txt").write_text("Eagles soar.")
    (folder / "b.md").unlink()
    report = update(store, [folder], root=tmp_path, options=UpdateOptions(prune=True))
    assert (report.updated, report.removed) == (1, 1)
    assert [s.item.text for s in store.retrieve(Query("eagles fish"), k=5)] == ["Eagles soar."]
    assert [(s.path, s.state) for s in store.sources()] == [
        ("docs/a.txt", "indexed"),
        ("docs/c.docx", "failed"),
    ]


def articles() -> tuple[list[tuple[Source, list[Document]]], list[tuple[str, str]]]:
    """Return 48 articles of five paragraphs each, and (question, answer) pairs; skip where they are not at hand."""
    if not XQUAD.is_file():
        pytest.skip("the XQuAD questions are not here")
    batch, asked = [], []
    for number, article in enumerate(json.loads(XQUAD.read_text(encoding="utf-8"))["data"]):
        text, spans = "", []
        for paragraph in article["paragraphs"]:
            spans.append((len(text), len(text) + len(paragraph["context"])))
            text += paragraph["context"] + "\n\n"
            asked += [(q["question"], q["answers"][0]["text"]) for q in paragraph["qas"]]
        title = article.get("title", "").replace("_", " ")
        document = Document(f"d{number:02}", text, title=title, paragraphs=tuple(spans))
        batch.append((Source(f"{number:02}.txt", str(number)), [document]))
    return batch, asked[::4]


@pytest.mark.parametrize("analyzer", ["english", "standard"])
def test_both_engines_find_the_same(index: str, tmp_path: Path, analyzer: str) -> None:
    """Same analyzer, same questions: recall@3 within one point, and the same first passage nearly always."""
    batch, asked = articles()
    with (
        OpenSearchStore.connect(index, create=True, analyzer=analyzer) as cluster,
        Index.create(tmp_path / "index", analyzer=analyzer) as embedded,
    ):
        cluster.put(batch)
        embedded.put(batch)
        found = [
            [[s.item for s in retrieve(Query(question), k=3)] for question, _ in asked]
            for retrieve in (cluster.retrieve, embedded.retrieve)
        ]
    same = sum(one[:1] == other[:1] for one, other in zip(*found, strict=True)) / len(asked)
    recall = [
        sum(any(answer in p.text for p in hits) for hits, (_, answer) in zip(side, asked, strict=True))
        / len(asked)
        for side in found
    ]
    assert len(asked) > 250
    assert same >= 0.96
    assert abs(recall[0] - recall[1]) <= 0.01
    assert min(recall) > 0.9


@pytest.fixture
def both(index: str, tmp_path: Path) -> Iterator[tuple[OpenSearchStore, Index]]:
    """Give an empty store of either kind."""
    with OpenSearchStore.connect(index, create=True) as cluster, Index.create(tmp_path / "index") as embedded:
        yield cluster, embedded


def test_both_engines_list_the_same(both: tuple[OpenSearchStore, Index]) -> None:
    """Sources, entries, documents and settings of the two are equal."""
    batch, _ = articles()
    for store in both:
        store.put(batch)
        store.drop([batch[7][0].path, "nothing"])
        store.set_setting("name", "value")
    cluster, embedded = both
    assert list(cluster.sources()) == list(embedded.sources())
    assert list(cluster.entries()) == list(embedded.entries())
    assert cluster.document("d03") == embedded.document("d03")
    assert cluster.source_of("d03") == embedded.source_of("d03")
    assert cluster.setting("name") == embedded.setting("name")


@pytest.mark.parametrize("analyzer", ["english", "standard"])
def test_what_is_shown_as_matched_is_what_was_searched(index: str, tmp_path: Path, analyzer: str) -> None:
    """Terms and phrases are as the analyzer searched them, without its stop words: those of the embedded index."""
    body = "The crane has wide wings. It soars in the wide, wide sky; \u9db4\u306e\u7ffc."
    other = Document("e", "How wide are the wings of a hen?", title="Hens")
    batch = [(Source("d.txt", "1"), [Document("d", body, title="Crane"), other])]
    query = Query(
        "How wide are the wings of a crane?",
        phrases=(Phrase("wide: sky"),),
        terms=(Term("soaring", 0.5), Term("goose", 0.5)),
    )
    embedded = Index.create(tmp_path / "index", analyzer=analyzer)
    with embedded, OpenSearchStore.connect(index, create=True, analyzer=analyzer) as store:
        for held in (embedded, store):
            held.put(batch)
        store.put(batch)
        (passage,) = (hit.item for hit in store.retrieve(query, k=2) if hit.item.document_id == "d")
        found = store.matched(query, passage)
        assert set(found) == set(embedded.matched(query, passage))
        stems = {"crane", "wide", "wing", "soar", "wide sky"}
        assert set(found) == (
            stems if analyzer == "english" else {"crane", "wide", "wings", "the", "wide sky"}
        )
        assert store.matched(Query("penguins"), passage) == ()
        assert store.matched(Query("wide hen"), passage) == ("wide",)
