"""Keeping an index in step with files."""

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from quoth import indexing
from quoth.documents import LoadOptions
from quoth.errors import IndexUnusableError, InputError
from quoth.indexing import Progress, UpdateOptions, UpdateReport, relative, stale, update
from quoth.protocols import Store
from quoth.retrieve.store import Index
from quoth.retrieve.store.engine import Engine
from quoth.testing import FakeStore
from quoth.types import Query, Source


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with three documents in ``docs``."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "tower.txt").write_text("The tower is tall.")
    (docs / "moon.md").write_text("# Moon\n\nThe moon is round.")
    (docs / "sub").mkdir()
    (docs / "sub" / "empty.txt").write_text("")
    return tmp_path


@pytest.fixture
def store(root: Path) -> Iterator[Index]:
    """Return the index of that folder, verified at the end."""
    with Index.create(root / ".quoth") as index:
        yield index
        assert index.verify(full=True) == []


def counts(report: UpdateReport) -> dict[str, int]:
    names = ("added", "updated", "unchanged", "removed", "skipped", "failed")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def run(store: Store, root: Path, *, options: UpdateOptions | None = None) -> UpdateReport:
    return update(store, [root / "docs"], root=root, options=options)


def found(store: Store, question: str) -> list[str]:
    return sorted(store.document(s.item.document_id).source for s in store.retrieve(Query(question), k=99))


@pytest.mark.parametrize("kind", [Index, FakeStore])
def test_only_what_changed_is_read_again(root: Path, kind: type) -> None:
    """The first look adds, the second changes nothing, and then exactly the changes are made, on any store."""
    store: Store = Index.create(root / ".quoth") if kind is Index else FakeStore()
    assert counts(run(store, root)) == {"added": 3}
    assert counts(run(store, root)) == {"unchanged": 3}
    (root / "docs" / "tower.txt").write_text("The bridge is long.")
    (root / "docs" / "new.txt").write_text("A bridge, too.")
    report = run(store, root)
    assert counts(report) == {"added": 1, "updated": 1, "unchanged": 2}
    assert {(f.path, f.state) for f in report.files} == {
        ("docs/tower.txt", "updated"),
        ("docs/new.txt", "added"),
    }
    assert found(store, "bridge") == ["docs/new.txt", "docs/tower.txt"]
    assert found(store, "tall") == []
    if isinstance(store, Index):
        store.close()


def test_sources_are_what_the_files_are(store: Index, root: Path) -> None:
    """A source has its path from the root, its size, its time and its hash; an empty file says so."""
    run(store, root)
    sources = {s.path: s for s in store.sources()}
    status = (root / "docs" / "moon.md").stat()
    moon = sources["docs/moon.md"]
    assert (moon.size, moon.mtime_ns, len(moon.sha256), moon.state) == (
        status.st_size, status.st_mtime_ns, 64, "indexed"
    )  # fmt: skip
    assert (sources["docs/sub/empty.txt"].state, sources["docs/sub/empty.txt"].code) == ("empty", "empty")


def test_the_hash_decides_and_not_the_time(store: Index, root: Path) -> None:
    """Other content with the same size and time is noticed; another time with the same content is no change."""
    run(store, root)
    path = root / "docs" / "tower.txt"
    status = path.stat()
    path.write_text("The fjord is tall.")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert counts(run(store, root, options=UpdateOptions(trust_times=True))) == {"unchanged": 3}
    assert counts(run(store, root)) == {"updated": 1, "unchanged": 2}
    os.utime(path, (2_000_000_000, 2_000_000_000))
    assert counts(run(store, root, options=UpdateOptions(trust_times=True))) == {"unchanged": 3}


def test_pruning_removes_what_is_gone_below_the_given_paths(store: Index, root: Path) -> None:
    """Deleted, renamed and newly ignored files go with prune, and only from under the given paths."""
    (root / "other").mkdir()
    (root / "other" / "far.txt").write_text("far away")
    update(store, [root], root=root)
    (root / "other" / "far.txt").unlink()
    (root / "docs" / "tower.txt").rename(root / "docs" / "turm.txt")
    assert counts(run(store, root)) == {"added": 1, "unchanged": 2}
    assert found(store, "tower") == ["docs/tower.txt", "docs/turm.txt"]
    (root / "docs" / ".quothignore").write_text("moon.md\n")
    report = run(store, root, options=UpdateOptions(prune=True))
    assert counts(report) == {"unchanged": 2, "removed": 2}
    assert {f.path for f in report.files} == {"docs/tower.txt", "docs/moon.md"}
    assert found(store, "far away") == ["other/far.txt"]
    assert counts(update(store, [root], root=root, options=UpdateOptions(prune=True)))["removed"] == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every folder")
def test_pruning_keeps_what_cannot_be_looked_into(store: Index, root: Path) -> None:
    """A folder that cannot be read now is not taken for empty."""
    run(store, root)
    (root / "docs" / "sub").chmod(0)
    try:
        assert "removed" not in counts(run(store, root, options=UpdateOptions(prune=True)))
    finally:
        (root / "docs" / "sub").chmod(0o755)


def test_pruning_keeps_what_a_skipped_folder_holds(
    store: Index, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the walk says it passed over, and is there, keeps the sources below it."""
    run(store, root)
    real = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert counts(run(store, root, options=UpdateOptions(prune=True))) == {"unchanged": 2, "skipped": 1}


def test_one_bad_file_stops_nothing(store: Index, root: Path) -> None:
    """A file that cannot be read is recorded with its reason, looked at again when it changes, and no other suffers."""
    bad = root / "docs" / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing more")
    report = run(store, root)
    assert counts(report) == {"added": 3, "failed": 1}
    (line,) = (f for f in report.files if f.state == "failed")
    assert (line.path, line.code) == ("docs/bad.pdf", "corrupt")
    assert line.reason
    (source,) = (s for s in store.sources() if s.state == "failed")
    assert (source.path, source.code, source.reason) == ("docs/bad.pdf", line.code, line.reason)
    assert counts(run(store, root)) == {"unchanged": 3, "failed": 1}
    bad.unlink()
    (root / "docs" / "bad.pdf.txt").write_text("fine now")
    assert counts(run(store, root, options=UpdateOptions(prune=True))) == {
        "added": 1, "unchanged": 3, "removed": 1
    }  # fmt: skip


def test_a_failed_file_is_not_read_again_until_it_changes(
    store: Index, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a new hash, or options that may help, make a failed file worth another try."""
    bad = root / "docs" / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing more")
    run(store, root)
    tried: list[Path] = []
    real = indexing.load

    def loading(path: Path, **options: object) -> object:
        tried.append(path)
        return real(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(indexing, "load", loading)
    run(store, root)
    assert tried == []
    bad.write_bytes(b"%PDF-1.7 nothing else")
    run(store, root)
    assert tried == [bad]
    store.put([(Source("docs/bad.pdf", next(store.sources()).sha256, 1, 1, "failed", "encrypted", "x"), ())])
    run(store, root)
    assert len(tried) == 1
    run(store, root, options=UpdateOptions(loading=LoadOptions(passwords=("secret",))))
    assert len(tried) == 2


def test_a_file_that_goes_bad_is_no_longer_quoted(store: Index, root: Path) -> None:
    """What an index held of a file goes when the file cannot be read any more."""
    path = root / "docs" / "page.jsonl"
    path.write_text('{"id": "j1", "text": "A zebra."}\n')
    run(store, root)
    assert found(store, "zebra") == ["docs/page.jsonl"]
    path.write_text('{"id": "j1", "text"')
    assert counts(run(store, root))["failed"] == 1
    assert found(store, "zebra") == []


def test_ids_that_clash_fail_their_file_alone(store: Index, root: Path) -> None:
    """Two files that give the same id: the first keeps it, the second is reported, the others arrive."""
    for name in ("a.jsonl", "b.jsonl"):
        (root / "docs" / name).write_text('{"id": "same", "text": "A zebra."}\n')
    report = run(store, root)
    assert counts(report) == {"added": 4, "failed": 1}
    (line,) = (f for f in report.files if f.state == "failed")
    assert (line.path, line.code) == ("docs/b.jsonl", "duplicate_id")
    assert found(store, "zebra") == ["docs/a.jsonl"]


def test_an_interruption_keeps_finished_batches(
    store: Index, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the third batch keeps two; the next update does the rest."""
    monkeypatch.setattr(indexing, "BATCH_FILES", 2)
    for i in range(9):
        (root / "docs" / f"n{i}.txt").write_text(f"zebra {i}")
    real, calls = Engine._write_batch, []

    def interrupted(self: Engine, *arguments: object) -> int:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "_write_batch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(store, root)
    assert len(list(store.sources())) == 4
    assert store.verify(full=True) == []
    assert counts(run(store, root)) == {"added": 8, "unchanged": 4}
    assert len(found(store, "zebra")) == 9


def test_an_unusable_index_stops_the_update(
    store: Index, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is no fault of a file: the update ends with the store's own error."""

    def full(*arguments: object) -> None:
        raise IndexUnusableError("full", code="disk_full")

    monkeypatch.setattr(Engine, "_write_batch", full)
    with pytest.raises(IndexUnusableError):
        run(store, root)
    assert list(store.sources()) == []


def test_progress_goes_from_none_to_all(store: Index, root: Path) -> None:
    """The callback hears of every file before it is read, and of the end."""
    heard: list[Progress] = []
    update(store, [root / "docs"], root=root, progress=heard.append)
    assert [p.done for p in heard] == [0, 1, 2, 3]
    assert {p.total for p in heard} == {3}
    assert heard[0].path.endswith("moon.md")


def test_names_are_relative_to_the_root(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However a path is written, from wherever, through links or not, a file has one name."""
    path = root / "docs" / "tower.txt"
    assert relative(path, root) == "docs/tower.txt"
    assert relative(root.parent / "x.txt", root) == "../x.txt"
    assert relative(root, root) == "."
    monkeypatch.chdir(root / "docs")
    assert (
        relative(Path("tower.txt"), root)
        == relative(Path("../docs/sub/../tower.txt"), "..")
        == "docs/tower.txt"
    )
    (root / "link").symlink_to(root / "docs")
    assert relative(root / "link" / "tower.txt", root) == "docs/tower.txt"


def test_a_file_given_twice_is_one_source(store: Index, root: Path) -> None:
    """Overlapping paths, links and other spellings give every file once."""
    paths = [root / "docs", root / "docs" / "tower.txt", root / "docs" / ".." / "docs" / "sub"]
    assert counts(update(store, paths, root=root)) == {"added": 3}
    assert counts(update(store, [root], root=root)) == {"unchanged": 3}


def test_files_outside_the_root_are_named_with_dots(store: Index, root: Path, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    """A file that is not below the index's folder is indexed, found stale, and pruned, under its way there."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "x.txt").write_text("zebra")
    assert counts(update(store, [outside], root=root)) == {"added": 1}
    (source,) = store.sources()
    assert source.path.startswith("../")
    (outside / "x.txt").unlink()
    assert stale(store, [e.id for e in store.entries()], root=root) == (source.path,)
    assert counts(update(store, [outside], root=root, options=UpdateOptions(prune=True))) == {"removed": 1}


def test_names_that_one_system_takes_for_one_are_reported(store: Index, root: Path) -> None:
    """Names that differ only in case or composition are both indexed, with a note."""
    for name in ("caf\u00e9.txt", "cafe\u0301.txt", "Tower.txt"):
        (root / "docs" / name).write_text("x")
    report = run(store, root)
    assert counts(report) == {"added": 6}
    assert len(report.notes) == 2
    assert "Tower.txt" in "".join(report.notes)
    assert "one file" in report.notes[0]


@pytest.mark.skipif(os.name == "nt", reason="names are bytes on POSIX only")
def test_a_name_that_is_no_utf8_is_indexed(store: Index, root: Path) -> None:
    """A file with a name of any bytes is added, found, unchanged, stale and removed like others."""
    path = os.fsencode(root / "docs") + b"/\xff\xfe.txt"
    with open(path, "w") as file:
        file.write("zebra")
    assert counts(run(store, root)) == {"added": 4}
    assert counts(run(store, root)) == {"unchanged": 4}
    assert len(store.retrieve(Query("zebra"), k=3)) == 1
    os.unlink(path)
    assert stale(store, [e.id for e in store.entries()], root=root) == (r"docs/\xff\xfe.txt",)
    assert counts(run(store, root, options=UpdateOptions(prune=True)))["removed"] == 1


def test_a_missing_path_is_a_mistake(store: Index, root: Path) -> None:
    """A path that does not exist is said before anything is done."""
    with pytest.raises(InputError, match="no file or folder"):
        update(store, [root / "docs", root / "nowhere"], root=root)
    assert list(store.sources()) == []


def test_stale_says_what_changed_since(store: Index, root: Path) -> None:
    """A changed or vanished file is stale; one that was only touched, or no file at all, is not."""
    run(store, root)
    store.put([(Source("memory", "x"), ())])
    ids = [e.id for e in store.entries()]
    assert stale(store, [*ids, "unknown"], root=root) == ()
    os.utime(root / "docs" / "moon.md", (1, 1))
    assert stale(store, ids, root=root) == ()
    (root / "docs" / "moon.md").write_text("# Moon\n\nThe moon is roune.")
    (root / "docs" / "tower.txt").unlink()
    assert sorted(stale(store, ids + ids, root=root)) == ["docs/moon.md", "docs/tower.txt"]


def test_watching_begins_with_what_changed_before(store: Index, root: Path) -> None:
    """A file written between the last update and the first look is not waited for."""
    pytest.importorskip("watchfiles")
    run(store, root)
    (root / "docs" / "zebra.txt").write_text("A zebra.")
    with closing(indexing.watch(store, [root], root=root)) as reports:
        assert [(f.path, f.state) for f in next(reports).files if f.state != "unchanged"] == [
            ("docs/zebra.txt", "added")
        ]


def test_watching_follows_changes(store: Index, root: Path) -> None:
    """New, changed and deleted files reach the index without another word; the index's own files do not wake it."""
    pytest.importorskip("watchfiles")
    run(store, root)
    stop = threading.Event()

    def act() -> None:
        time.sleep(1.0)
        (root / "docs" / "zebra.txt").write_text("A zebra.")
        (root / "docs" / "tower.txt").unlink()

    thread = threading.Thread(target=act)
    thread.start()
    seen: set[tuple[str, str]] = set()
    with closing(indexing.watch(store, [root], root=root, stop=stop)) as reports:
        for report in reports:
            seen |= {(f.path, f.state) for f in report.files}
            if len(seen) >= 2:
                stop.set()
    thread.join()
    assert seen == {("docs/zebra.txt", "added"), ("docs/tower.txt", "removed")}
    assert found(store, "zebra tower") == ["docs/zebra.txt"]


def test_any_history_of_files_ends_as_a_fresh_index_would(root: Path) -> None:
    """After any edits, renames and deletions, an updated and rebuilt index answers as one made from the end state."""
    rng = random.Random(5)
    docs = root / "docs"
    words = ["apple", "pear", "plum", "fig", "nut"]
    with Index.create(root / ".quoth") as kept, Index.create(root / "fresh") as fresh:
        for _ in range(8):
            for _ in range(4):
                path = docs / f"r{rng.randrange(8)}.txt"
                if path.exists() and rng.random() < 0.4:
                    path.rename(docs / f"r{rng.randrange(8)}.txt")
                else:
                    path.write_text(" ".join(rng.choices(words, k=rng.randint(0, 6))))
            run(kept, root, options=UpdateOptions(prune=True))
        kept.rebuild()
        run(fresh, root)
        assert list(kept.entries()) == list(fresh.entries())
        for word in words:
            assert kept.retrieve(Query(word), k=50) == fresh.retrieve(Query(word), k=50)
