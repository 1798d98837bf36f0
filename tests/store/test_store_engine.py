"""The engine's sharp edges: what it does by itself, and that none of it reaches a user of the store."""

import json
import math
import os
import random
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import tantivy
from store_fixtures import one

from quoth.errors import BusyError, IndexUnusableError
from quoth.retrieve.store import Index, checksums, engine
from quoth.retrieve.store.analysis import LONGEST, analyzer
from quoth.retrieve.store.engine import Engine, Entry
from quoth.types import Phrase, Query


@pytest.fixture
def bare(tmp_path: Path) -> Engine:
    """Return an engine on its own, beside a file that stands for the catalog."""
    (tmp_path / "catalog.sqlite").touch()
    return Engine.create(tmp_path / "index-000001", analyzer("english"))


def entry(number: int, text: str = "apple", *, document: int = 0) -> Entry:
    return Entry(number, document or number, "", text, ["k\x1fv"])


def found(searched: Engine, batch: int) -> list[int]:
    view = searched.refresh(at_least=batch)
    query = tantivy.Query.term_query(view.schema, "text", "appl")
    return sorted(n for _, n in view.search(query, 100))


def test_a_batch_is_written_once_however_often_it_is_tried(bare: Engine) -> None:
    """Writing a batch again, with its removals, leaves one copy of it."""
    bare.write(1, remove=(), add=[entry(1), entry(2)])
    for _ in range(3):
        bare.write(2, remove=[1], add=[entry(3), entry(4, document=3)])
    assert found(bare, 2) == [2, 3, 4]
    assert bare.view.count() == 3


def test_removing_by_an_unsigned_term_does_nothing_by_itself(tmp_path: Path) -> None:
    """The engine's own delete by term passes over unsigned fields in silence: why removal goes by query."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("n", indexed=True)
    schema = builder.build()
    index = tantivy.Index(schema, str(tmp_path))
    writer = index.writer(15_000_000, 1)
    writer.add_document(tantivy.Document.from_dict({"n": 1}, schema))
    writer.commit()
    writer.delete_documents_by_term("n", 1)
    writer.commit()
    index.reload()
    assert index.searcher().num_docs == 1
    writer.delete_documents_by_query(tantivy.Query.term_query(schema, "n", 1))
    writer.commit()
    index.reload()
    assert index.searcher().num_docs == 0


def test_a_batch_without_passages_is_seen(bare: Engine) -> None:
    """A removal alone moves the view to its batch."""
    bare.write(1, remove=(), add=[entry(1)])
    bare.write(2, remove=[1], add=())
    assert bare.refresh(at_least=2).state == 2
    assert (found(bare, 2), bare.view.count()) == ([], 0)


def test_a_failing_batch_leaves_nothing_and_a_new_writer(bare: Engine) -> None:
    """An error inside a batch throws the writer away; the next batch is whole, and none of the failed one is there."""
    bare.write(1, remove=(), add=[entry(1)])
    with pytest.raises(ZeroDivisionError):
        bare.write(2, remove=[1], add=(entry(2 // (2 - i)) for i in range(3)))
    assert found(bare, 2) == [1]
    bare.write(2, remove=(), add=[entry(3)])
    assert found(bare, 2) == [1, 3]


def test_a_value_of_a_wrong_type_is_refused_when_added(bare: Engine) -> None:
    """The engine would take it, fail at commit and then lose the next batch; here nothing is lost."""
    with pytest.raises(IndexUnusableError, match="damaged"):
        bare.write(1, remove=(), add=[entry(1), Entry(-5, 1, "", "apple", [])])
    bare.write(1, remove=(), add=[entry(7)])
    assert found(bare, 1) == [7]


def test_panics_become_errors(bare: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    """What the engine raises outside ``Exception`` is caught, named and ours; other interruptions pass."""
    with pytest.raises(IndexUnusableError, match="damaged"), engine.errors(bare.folder):
        bare.view.searcher.search(tantivy.Query.all_query(), limit=0)
    with pytest.raises(IndexUnusableError, match="damaged"), engine.errors(None):
        tantivy.Query.phrase_query(bare.view.schema, "text", ["one"])
    with pytest.raises(KeyboardInterrupt), engine.errors(None):
        raise KeyboardInterrupt
    capfd.readouterr()


def test_limits_are_clamped(bare: Engine) -> None:
    """No limit panics or asks for more memory than there is."""
    bare.write(1, remove=(), add=[entry(1)])
    view = bare.refresh(at_least=1)
    for limit in (0, -1, 10**12):
        assert len(view.search(tantivy.Query.all_query(), limit)) <= 1


def test_phrases_of_one_word_are_terms(index: Index) -> None:
    """A phrase of one word, or of one that is no stop word, is searched as that word."""
    index.put([one("a", "The tower."), one("b", "x")])
    assert len(index.retrieve(Query("y", phrases=(Phrase("tower"), Phrase("the tower"))), k=3)) == 1


def test_tokens_over_the_limit_are_only_not_searchable(index: Index) -> None:
    """A 100,000-letter word is stored, skipped by the search, and no trouble for its neighbours."""
    long = "x" * 100_000
    index.put([one("a", f"apple {long} pear")])
    assert index.document("a").text == f"apple {long} pear"
    assert index.retrieve(Query(long), k=1) == []
    assert len(index.retrieve(Query("pear"), k=1)) == 1
    assert [t.text for t in analyzer("english").terms("y" * (LONGEST - 1))] != []


def test_leftovers_of_a_killed_writer_are_swept(index: Index) -> None:
    """Temporary files that the engine itself never removes are gone after the next opening for writing."""
    index.put([one("a", "apple")])
    index.close()
    folder = index.folder / "index-000001"
    (folder / ".tmpAbC123").write_bytes(b"x" * 100)
    with Index.open(index.folder, write=True):
        assert not list(folder.glob(".tmp*"))


def test_the_engines_files_have_the_catalogs_permissions(index: Index) -> None:
    """meta.json, which the engine makes private, can be read by whoever may read the catalog."""
    index.folder.joinpath("catalog.sqlite").chmod(0o644)
    index.put([one("a", "apple")])
    for name in ("meta.json", ".managed.json"):
        assert (index.folder / "index-000001" / name).stat().st_mode & 0o777 == 0o644


def test_sums_are_those_of_the_engine(index: Index) -> None:
    """The CRC of every file is read from its ending and found right; any flipped byte is found."""
    index.put([one(f"d{i}", f"apple {i}") for i in range(50)])
    folder = index.folder / "index-000001"
    files = sorted(
        p for p in folder.iterdir() if p.suffix in (".idx", ".term", ".pos", ".fast", ".fieldnorm", ".store")
    )
    assert len(files) == 6
    assert checksums.sums(folder) == []
    for path in files:
        data = path.read_bytes()
        length = int.from_bytes(data[-8:-4], "little")
        body = data[: -8 - length]
        assert json.loads(data[-8 - length : -8])["crc"] == zlib.crc32(body)
        if body:
            path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
            assert checksums.shapes(folder) == []
            assert checksums.sums(folder) == [f"{path.name} does not match its sum"]
        path.write_bytes(data)


def test_the_engine_counts_removed_passages_until_a_rebuild(index: Index) -> None:
    """Scores drift after edits, as the engine's counts keep what was removed; a rebuild ends that."""
    pears = [one(f"d{i}", "pear") for i in range(20)]
    index.put([one("a", "apple"), *pears])
    fresh = index.retrieve(Query("apple"), k=1)[0].score
    index.put(pears[1:])
    assert index.retrieve(Query("apple"), k=1)[0].score > fresh
    index.rebuild()
    assert index.retrieve(Query("apple"), k=1)[0].score == fresh


def test_a_lock_of_the_engines_own_is_busy() -> None:
    """Its lock error is ours; so are the ones of permissions, of a full disk and of a newer format."""
    place = Path("x")
    assert isinstance(
        engine.translated(ValueError("Failed to acquire Lockfile: LockBusy."), place), BusyError
    )
    for message, code in (
        ("Permission denied (os error 13)", "permission"),
        ("No space left on device", "disk_full"),
        ("IncompatibleIndex(...)", "newer_format"),
        ("Data corruption: x", "engine_damaged"),
    ):
        problem = engine.translated(ValueError(message), Path.cwd())
        assert (type(problem), problem.code) == (IndexUnusableError, code)
        assert problem.hint


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_an_index_can_be_used_after_a_fork(index: Index) -> None:
    """A child of a process with an open index searches it, and the parent still does."""
    index.put([one("a", "apple")])
    code = f"""
import os, pathlib, sys
from quoth.retrieve.store import Index
from quoth.types import Query
index = Index.open(pathlib.Path({str(index.folder)!r}))
assert len(index.retrieve(Query("apple"), k=1)) == 1
child = os.fork()
if child == 0:
    os._exit(0 if len(index.retrieve(Query("apple"), k=1)) == 1 else 9)
assert os.waitpid(child, 0)[1] == 0
assert len(index.retrieve(Query("apple"), k=1)) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_opening_loads_no_engine_before_it_is_needed() -> None:
    """Importing the store and the indexer brings in no tantivy."""
    code = "import quoth.retrieve.store, quoth.indexing, sys; sys.exit('tantivy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_large_batch_in_several_segments_is_whole(index: Index) -> None:
    """Ten thousand passages arrive, and are found through the filter that is narrowest."""
    rng = random.Random(0)
    words = [f"w{i}" for i in range(500)]
    index.put([one(f"d{i:05}", " ".join(rng.choices(words, k=20))) for i in range(10_000)])
    view_count = index.info()["passages"]
    assert view_count == 10_000
    scores = [s.score for s in index.retrieve(Query("w1 w2 w3"), k=10_000)]
    assert len(scores) > 500
    assert all(math.isfinite(s) for s in scores)
    assert scores == sorted(scores, reverse=True)
