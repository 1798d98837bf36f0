"""Kills, locks, full disks, bit rot, formats and permissions: a named error or a repair, never a wrong answer."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_fixtures import one

from quoth.errors import BusyError, IndexUnusableError, InputError
from quoth.retrieve.store import Index
from quoth.retrieve.store.analysis import Analyzer
from quoth.retrieve.store.engine import Engine
from quoth.retrieve.store.writing import Writer
from quoth.types import Query

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")

WRITER = """
import sys
from pathlib import Path
from quoth.retrieve.store import Index
from quoth.types import Document, Source

folder, seed = Path(sys.argv[1]), int(sys.argv[2])
with Index.open(folder, write=True) as index:
    done = sum(1 for s in index.sources() if s.path.startswith("n"))
    number = done // 5
    while True:
        text = f"apple batch{number} round{seed} " * 40
        rows = [(Source(f"n{number}-{i}", "s"), [Document(f"n{number}-{i}", text)]) for i in range(5)]
        rows.append((Source("changing", f"{number}"), [Document(f"c{i}", f"pear state{number}") for i in range(5)]))
        index.put(rows)
        print(number, flush=True)
        number += 1
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_loop(folder: Path, rounds: int) -> int:
    """Kill a writer at random moments; return the batches acknowledged. What was acknowledged is there, whole."""
    rng = random.Random(7)
    acknowledged = -1
    for round in range(rounds):
        child = start(WRITER, folder, round)
        assert child.stdout is not None
        first = child.stdout.readline()
        assert first, child.stderr.read() if child.stderr else ""
        time.sleep(rng.random() * 0.08)
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read()
        child.communicate()
        numbers = [int(line) for line in (first + rest).split("\n") if line.strip().isdigit()]
        acknowledged = max(acknowledged, *numbers)
        with Index.open(folder) as reader:
            check_whole(reader, acknowledged)
    left = set(folder.glob("index-*/.tmp*"))
    with Index.open(folder, write=True) as writer:
        check_whole(writer, acknowledged)
        # Files of the dead are gone; a merge that runs at this moment may have one of its own.
        assert not left & set(folder.glob("index-*/.tmp*"))
        assert writer.verify(full=True) == []
    return acknowledged


def check_whole(index: Index, acknowledged: int) -> None:
    """Check that every batch up to the last acknowledged is there, and that no batch is there in part."""
    paths = {s.path for s in index.sources()} - {"changing"}
    batches = {int(path[1:].split("-")[0]) for path in paths}
    assert batches == set(range(len(batches)))
    assert len(paths) == 5 * len(batches)
    assert len(batches) > acknowledged
    assert len({s.item.document_id for s in index.retrieve(Query("apple"), k=10_000)}) == len(paths)
    pears = {s.item.text for s in index.retrieve(Query("pear"), k=50)}
    assert pears == {f"pear state{len(batches) - 1}"}
    assert index.verify(full=True) == []


@POSIX
def test_a_killed_writer_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """After SIGKILL at ten random moments all acknowledged batches are there, none in part, with no repair by hand."""
    Index.create(tmp_path / "i").close()
    assert kill_loop(tmp_path / "i", 10) >= 9


@POSIX
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_writer_killed_two_hundred_times_loses_nothing(tmp_path: Path) -> None:
    """The same, two hundred times."""
    Index.create(tmp_path / "i").close()
    kill_loop(tmp_path / "i", 200)


STEPS = ["before the engine", "in the engine", "after the engine", "while finishing"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["put", "drop"])
def test_a_batch_cut_off_at_any_step_ends_whole(
    index: Index, monkeypatch: pytest.MonkeyPatch, step: str, kind: str
) -> None:
    """Stopped between any two steps, readers see the old or the new state, and the next opening finishes."""
    index.put([one("a", "old apple"), one("b", "old pear")])

    class Stop(BaseException):
        """A death of the process: nothing after it runs."""

    def die(*arguments: object, **options: object) -> None:
        raise Stop

    def nothing(*arguments: object, **options: object) -> None:
        return None

    write = Engine.write

    def write_and_die(self: Engine, batch: int, **options: object) -> int:
        write(self, batch, **options)  # type: ignore[arg-type]
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "_undo", die)
        if step == "before the engine":
            patched.setattr(Writer, "_carry_out", die)
        elif step == "in the engine":
            patched.setattr(Engine, "_write_batch", die)
        elif step == "after the engine":
            patched.setattr(Engine, "write", write_and_die)
            patched.setattr(Writer, "_finish", die)
        else:
            patched.setattr("quoth.retrieve.store.records.delete_documents", die)
        with pytest.raises(Stop):
            index.put([one("a", "new apple")]) if kind == "put" else index.drop(["a.txt"])
    new = {"new apple"} if kind == "put" else set()
    committed = step in STEPS[2:]
    with Index.open(index.folder) as reader:
        seen = {s.item.text for s in reader.retrieve(Query("apple"), k=5)}
        assert seen == (new if committed else {"old apple"})
        assert {s.path for s in reader.sources()} == {"b.txt", *(["a.txt"] if seen else [])}
        assert reader.verify(full=True) == []
    index.close()
    with Index.open(index.folder, write=True) as again:
        assert {s.item.text for s in again.retrieve(Query("apple"), k=5)} == new
        assert again.verify(full=True) == []
        again.put([one("c", "third apple")])
        assert len(again.retrieve(Query("apple"), k=5)) == len(new) + 1


def test_an_interrupted_batch_is_undone(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C inside a batch leaves the index as it was, and the same index can be written again."""
    index.put([one("a", "old apple")])

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "_write_batch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.put([one("a", "new apple"), one("b", "pear")])
    assert [s.item.text for s in index.retrieve(Query("apple pear"), k=5)] == ["old apple"]
    assert [s.path for s in index.sources()] == ["a.txt"]
    index.put([one("b", "pear")])
    assert len(index.retrieve(Query("apple pear"), k=5)) == 2


def test_an_unexplained_failure_is_tried_once_more(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that fails in the middle of a batch for no reason of ours is replaced, and the batch arrives, once."""
    index.put([one("a", "old apple"), one("z", "apple")])
    failures = [ValueError("An error occurred in a thread: 'worker'")]
    real, calls = Analyzer.prepare, []

    def flaky(self: Analyzer, raw: str) -> str:
        calls.append(raw)
        if len(calls) == 4 and failures:
            raise failures.pop()
        return real(self, raw)

    monkeypatch.setattr(Analyzer, "prepare", flaky)
    index.put([one("a", "apple"), one("b", "apple"), one("c", "apple")])
    assert failures == []
    assert [s.item.text for s in index.retrieve(Query("apple"), k=9)] == ["apple"] * 4
    index.put([one("d", "apple")])
    assert len(index.retrieve(Query("apple"), k=9)) == 5


def test_a_lost_passage_is_noticed_and_mended(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the engine holds fewer passages than it was given, it is made again at once."""
    real = Engine.write

    def loses(self: Engine, batch: int, *, remove: object, add: object) -> int:
        return real(self, batch, remove=remove, add=list(add)[1:] if self.folder.name.endswith("1") else add)  # type: ignore[call-overload, arg-type]

    monkeypatch.setattr(Engine, "write", loses)
    index.put([one("a", "apple"), one("b", "apple")])
    assert len(index.retrieve(Query("apple"), k=5)) == 2
    assert index.info()["generation"] == 2


HOLDER = """
import sys, time
from pathlib import Path
from quoth.retrieve.store import Index
with Index.open(Path(sys.argv[1]), write=True) as index:
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_writer_is_told_who_holds_the_index(index: Index) -> None:
    """A second writer gets BusyError with pid, host and time; a killed holder holds nothing."""
    index.put([one("a", "apple")])
    with pytest.raises(BusyError, match=rf"process {os.getpid()} on .+, since 20\d\d-"):
        Index.open(index.folder, write=True)
    index.close()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(index.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b"held"
        with pytest.raises(BusyError, match=f"process {child.pid} ") as caught:
            Index.open(index.folder, write=True)
        assert caught.value.exit_code == 7
        with Index.open(index.folder) as reader:
            assert len(reader.retrieve(Query("apple"), k=1)) == 1
        child.kill()
    Index.open(index.folder, write=True).close()


READER = """
import sys
from pathlib import Path
from quoth.retrieve.store import Index
from quoth.types import Query

seen = set()
with Index.open(Path(sys.argv[1])) as index:
    print("open", flush=True)
    while "end" not in seen:
        found = index.retrieve(Query("apple"), k=100)
        states = {s.item.text for s in found}
        if len(found) != 30 or len(states) != 1:
            print("HALF", len(found), states, flush=True)
            sys.exit(9)
        with index.snapshot() as now:
            for s in now.retrieve(Query("apple"), k=5):
                assert now.document(s.item.document_id).text == s.item.text
        seen |= {states.pop().split()[-1]}
    print(len(seen), flush=True)
"""


def test_readers_of_other_processes_see_old_or_new(index: Index) -> None:
    """Two processes that search while this one writes, drops and rebuilds see whole states, and the last one."""

    def state(name: str) -> None:
        index.put([one(f"d{i}", f"apple {name}") for i in range(30)])

    state("s0")
    readers = [start(READER, index.folder) for _ in range(2)]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "open\n"
    for i in range(1, 12):
        state(f"s{i}")
        if i % 4 == 0:
            index.rebuild()
    state("end")
    for reader in readers:
        out, err = reader.communicate(timeout=60)
        assert (reader.returncode, "HALF" in out) == (0, False), out + err
        assert int(out) >= 2
    index.put([one("later", "x")])
    index.rebuild()
    assert [p.name for p in index.folder.glob("index-*")] == ["index-000004"]


def damage(path: Path, how: str, rng: random.Random) -> None:
    """Spoil a file as disks and people do."""
    data = path.read_bytes()
    if how == "flip":
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :])
    elif how == "truncate":
        path.write_bytes(data[: len(data) // 2])
    elif how == "zero":
        path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()


FILES = ["meta.json", ".idx", ".term", ".pos", ".fast", ".fieldnorm", ".store"]
HOWS = ["flip", "truncate", "zero", "empty", "missing"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a closed index of 200 documents that is copied before it is damaged."""
    folder = tmp_path_factory.mktemp("sound") / ".quoth"
    rng = random.Random(3)
    with Index.create(folder) as index:
        words = [f"w{i}" for i in range(60)]
        index.put(
            [one(f"d{i}", "apple " + " ".join(rng.choices(words, k=20)), kind=f"{i % 3}") for i in range(200)]
        )
    return folder


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("file", FILES)
def test_damaged_engine_files_are_named_or_mended(sound: Path, tmp_path: Path, file: str, how: str) -> None:
    """Reading names the damage or answers rightly; doctor finds it; opening for writing mends it."""
    rng = random.Random(f"{file}{how}")
    for round in range(3 if how == "flip" else 1):
        folder = tmp_path / f"{round}"
        shutil.copytree(sound, folder)
        (path,) = (
            p
            for p in (folder / "index-000001").iterdir()
            if p.name.endswith(file) and not p.name.startswith(".")
        )
        damage(path, how, rng)
        said = "fine, or: quoth rebuild"
        try:
            with Index.open(folder) as reader:
                for scored in reader.retrieve(Query("apple w1 w2"), k=300):
                    document = reader.document(scored.item.document_id)
                    assert document.text[scored.item.start : scored.item.end] == scored.item.text
                found = reader.verify(full=True)
                assert found or file == "meta.json"
        except IndexUnusableError as problem:
            said = str(problem)
        assert "quoth rebuild" in said
        with Index.open(folder, write=True) as mended:
            if file != "meta.json" or how != "flip":
                assert mended.info()["generation"] == 2
                assert (folder / "index.damaged").is_dir()
            assert mended.verify(full=True) == []
            assert len(mended.retrieve(Query("apple"), k=300)) == 200


@pytest.mark.parametrize("how", HOWS)
def test_a_damaged_catalog_is_named(sound: Path, tmp_path: Path, how: str) -> None:
    """A spoiled catalog gives a named error, or answers that are true to what was put; never a traceback."""
    rng = random.Random(how)
    hints: list[str] = []
    truth = {s.item.document_id: s.item.text for s in Index.open(sound).retrieve(Query("apple"), k=300)}
    for round in range(40 if how == "flip" else 1):
        folder = tmp_path / f"{round}"
        shutil.copytree(sound, folder)
        damage(folder / "catalog.sqlite", how, rng)
        try:
            with Index.open(folder, write=bool(round % 2)) as index:
                for scored in index.retrieve(Query("apple w1"), k=300):
                    assert scored.item.text == truth.get(scored.item.document_id, scored.item.text)
                    assert scored.item.text in truth.values()
                index.verify(full=True)
        except (IndexUnusableError, InputError, BusyError) as problem:
            hints.append(problem.hint)
    assert all(hints)


def test_an_altered_text_is_never_quoted(index: Index) -> None:
    """A text whose bytes changed under us is refused where it is read, and doctor names its document."""
    index.put([one("a", "The apple is red.")])
    index.close()
    with sqlite3.connect(index.folder / "catalog.sqlite") as connection:
        connection.execute("UPDATE texts SET text = 'The apple is blue'")
    connection.close()
    with Index.open(index.folder) as reader:
        with pytest.raises(IndexUnusableError, match="not what was written"):
            reader.retrieve(Query("apple"), k=1)
        with pytest.raises(IndexUnusableError, match="not what was written"):
            reader.document("a")
        assert any("document a" in problem for problem in reader.verify(full=True))
    shutil.rmtree(index.folder)
    Index.create(index.folder).close()


def test_an_engine_behind_the_catalog_is_made_again(index: Index) -> None:
    """A search index restored from an older backup is refused by readers and made again by a writer."""
    index.put([one("a", "apple")])
    index.close()
    shutil.copytree(index.folder / "index-000001", index.folder.parent / "old")
    with Index.open(index.folder, write=True) as again:
        again.put([one("b", "apple")])
    shutil.rmtree(index.folder / "index-000001")
    shutil.copytree(index.folder.parent / "old", index.folder / "index-000001")
    with (
        Index.open(index.folder) as reader,
        pytest.raises(IndexUnusableError, match="lacks what the catalog"),
    ):
        reader.retrieve(Query("apple"), k=5)
    with Index.open(index.folder, write=True) as mended:
        assert len(mended.retrieve(Query("apple"), k=5)) == 2


def edit(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / "catalog.sqlite", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ("PRAGMA user_version = 99", "newer_format", "Upgrade quoth"),
        ("PRAGMA user_version = 0", "not_an_index", "quoth index"),
        ("PRAGMA application_id = 1", "not_an_index", "quoth index"),
        ("UPDATE meta SET value = 99 WHERE name = 'engine'", "newer_format", "Upgrade quoth"),
    ],
)
def test_other_formats_are_refused_untouched(
    sound: Path, tmp_path: Path, change: str, code: str, says: str
) -> None:
    """A newer or foreign format is refused, for reading and writing, without changing a byte."""
    folder = tmp_path / "copy"
    shutil.copytree(sound, folder)
    edit(folder, change)
    before = (folder / "catalog.sqlite").read_bytes()
    for write in (False, True):
        with pytest.raises(IndexUnusableError) as caught:
            Index.open(folder, write=write)
        assert caught.value.code == code
        assert says in caught.value.hint
    assert (folder / "catalog.sqlite").read_bytes() == before


def test_an_older_engine_is_made_again(sound: Path, tmp_path: Path) -> None:
    """An engine of an older format is refused by readers, who are told to rebuild, and made again by a writer."""
    folder = tmp_path / "copy"
    shutil.copytree(sound, folder)
    edit(folder, "UPDATE meta SET value = 0 WHERE name = 'engine'")
    with pytest.raises(IndexUnusableError, match="quoth rebuild"):
        Index.open(folder)
    with Index.open(folder, write=True) as index:
        assert len(index.retrieve(Query("apple"), k=300)) == 200
    with Index.open(folder) as reader:
        assert reader.info()["generation"] == 2


def test_a_newer_engine_library_is_told_from_damage(sound: Path, tmp_path: Path) -> None:
    """Engine files of a later tantivy are refused, and not set aside as damaged."""
    folder = tmp_path / "copy"
    shutil.copytree(sound, folder)
    for path in (folder / "index-000001").iterdir():
        if path.suffix in (".idx", ".term", ".pos", ".fast", ".fieldnorm", ".store"):
            data = path.read_bytes()
            length = int.from_bytes(data[-8:-4], "little")
            footer = json.loads(data[-8 - length : -8])
            footer["version"]["index_format_version"] = 99
            text = json.dumps(footer, separators=(",", ":")).encode()
            path.write_bytes(data[: -8 - length] + text + len(text).to_bytes(4, "little") + data[-4:])
    for write in (False, True):
        with pytest.raises(IndexUnusableError) as caught:
            Index.open(folder, write=write)
        assert caught.value.code == "newer_format"
    assert (folder / "index-000001").is_dir()


FULL = """
import resource, sys
from pathlib import Path
from quoth.errors import IndexUnusableError
from quoth.retrieve.store import Index
from quoth.types import Document, Query, Source

folder, limit = Path(sys.argv[1]), int(sys.argv[2])
words = " ".join(f"word{i}" for i in range(20000))
with Index.open(folder, write=True) as index:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    failed = 0
    for i in range(40):
        try:
            index.put([(Source(f"n{i}", "s"), [Document(f"n{i}", f"apple {i} " + words)])])
            print(i, flush=True)
        except IndexUnusableError as problem:
            failed += 1
            assert problem.code == "disk_full", problem
            assert "bytes are free" in problem.message, problem
            have = {s.item.document_id for s in index.retrieve(Query("apple"), k=1000)}
            assert have == {s.path for s in index.sources()}, have
            if failed == 3:
                sys.exit(3)
sys.exit(0)
"""


@POSIX
@pytest.mark.parametrize("limit", [60_000, 200_000, 400_000, 1_000_000])
def test_a_full_disk_keeps_what_was_acknowledged(tmp_path: Path, limit: int) -> None:
    """When no file may grow further, the batch is undone, the error says what is free, and searches go on."""
    Index.create(tmp_path / "i").close()
    child = start(FULL, tmp_path / "i", limit)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 3, out + err
    with Index.open(tmp_path / "i", write=True) as index:
        assert {s.path for s in index.sources()} == {f"n{line}" for line in out.split()}
        assert len({s.item.document_id for s in index.retrieve(Query("apple"), k=1000)}) == len(out.split())
        assert index.verify(full=True) == []
        index.put([one("more", "apple")])


def test_too_little_space_is_said_before_anything_is_written(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is nearly full is refused beforehand, with the bytes free and needed."""
    usage = shutil.disk_usage(index.folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1_000))
    with pytest.raises(
        IndexUnusableError, match=r"1,000 bytes are free, about 24,000,\d\d\d are needed"
    ) as caught:
        index.put([one("a", "apple")])
    assert caught.value.exit_code == 4
    assert list(index.sources()) == []


STRANGER = """
import os, sys, tempfile
from pathlib import Path
from quoth.errors import QuothError
from quoth.retrieve.store import Index
from quoth.types import Query
with Index.open(Path(sys.argv[2])) as index:  # what is imported late cannot be imported by a stranger
    index.retrieve(Query("apple"), k=3), index.verify(full=True)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
folder = Path(sys.argv[1])
try:
    with Index.open(folder) as index:
        print(len(index.retrieve(Query("apple"), k=300)), *index.verify(full=True))
except QuothError as problem:
    print(problem.code, problem)
try:
    Index.open(folder, write=True)
except QuothError as problem:
    print(problem.code, problem.exit_code)
"""


@POSIX
@pytest.mark.parametrize("open_elsewhere", [False, True])
def test_an_index_that_cannot_be_written_can_be_searched(
    sound: Path, tmp_path: Path, open_elsewhere: bool
) -> None:
    """Another user's index, or one on read-only media, is searched, also while its owner has it open."""
    folder = tmp_path / "copy"
    shutil.copytree(sound, folder)
    holder = Index.open(folder, write=True) if open_elsewhere else None
    if holder is not None:
        holder.put([one("more", "apple")])
    expected = 201 if holder else 200
    places = [folder, folder / "index-000001"]
    for path in [*folder.rglob("*"), folder, *folder.parents]:
        if tmp_path.parents[2] in [path, *path.parents]:
            path.chmod(path.stat().st_mode | 0o055 if path.is_dir() else path.stat().st_mode | 0o044)
    for place in places:
        place.chmod(0o555)
    try:
        child = start(STRANGER, folder, sound)
        out, err = child.communicate(timeout=60)
        assert out.split("\n")[:2] == [f"{expected}", "read_only 4"], out + err
        for path in (folder / "index-000001").glob("*.term"):
            path.chmod(0o000)
        child = start(STRANGER, folder, sound)
        out, err = child.communicate(timeout=60)
        assert out.startswith("permission "), out + err
        assert "chmod" in out
    finally:
        for place in places:
            place.chmod(0o755)
        if holder is not None:
            holder.close()


def test_rebuilding_can_change_analyzer_and_split(index: Index) -> None:
    """A rebuild with other choices is a new generation, seen by open readers, with the old one removed."""
    index.put([one("a", "Running.\n\n" + "Other words. " * 300 + "\n\nShoes.")])
    with Index.open(index.folder) as reader:
        assert len(reader.retrieve(Query("run"), k=9)) == 1
        steps: list[tuple[int, int]] = []
        index.rebuild(
            analyzer="standard", split="document", progress=lambda done, total: steps.append((done, total))
        )
        assert reader.retrieve(Query("run"), k=9) == []
        (found,) = reader.retrieve(Query("running shoes"), k=9)
        assert (found.item.start, found.item.end) == (0, len(reader.document("a").text))
    assert steps[-1] == (1, 1)
    assert (index.info()["analyzer"], index.info()["split"], index.info()["generation"]) == (
        "standard",
        "document",
        2,
    )
    index.rebuild()
    assert [p.name for p in index.folder.glob("index-*")] == ["index-000003"]


def test_a_rebuild_that_fails_leaves_the_old_generation(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong in a rebuild, the index answers as before, and can be written."""
    index.put([one("a", "apple")])
    with pytest.raises(InputError, match="no analyzer"):
        index.rebuild(analyzer="klingon")
    with monkeypatch.context() as patched:
        patched.setattr(
            "quoth.retrieve.store.checksums.sums", lambda folder: ["x.idx does not match its sum"]
        )
        with pytest.raises(IndexUnusableError, match="does not match"):
            index.rebuild(split="document")
    assert len(index.retrieve(Query("apple"), k=5)) == 1
    index.put([one("b", "apple")])
    assert len(index.retrieve(Query("apple"), k=5)) == 2
    assert (index.info()["generation"], index.info()["split"]) == (1, "passage")
