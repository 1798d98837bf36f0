"""What an index holds, and keeping it well: index, list, show, remove, info, doctor, rebuild, config."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quoth import settings


@pytest.fixture
def folder(quoth, tmp_path: Path) -> Path:
    """A folder with two small documents, current."""
    (tmp_path / "a.txt").write_text("The cat sleeps in the barn.\n", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.md").write_text("# Dogs\n\nThe dog barks at night.\n", encoding="utf-8")
    return tmp_path


def test_index_counts_every_file(folder: Path, quoth) -> None:
    """Added, updated, unchanged, removed, skipped and failed add up, and each failure has its reason."""
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4 nothing more")
    first = quoth("index", ".", "--json")
    assert first.code == 3
    assert {k: first.json[k] for k in ("added", "failed")} == {"added": 2, "failed": 1}
    failure = next(f for f in first.json["files"] if f["state"] == "failed")
    assert failure["path"] == "bad.pdf"
    assert failure["code"]
    assert failure["reason"]
    (folder / "a.txt").write_text("The cat sleeps on the roof.\n", encoding="utf-8")
    (folder / "sub" / "b.md").unlink()
    second = quoth("index", ".", "--prune", "--json").json
    assert (second["added"], second["updated"], second["removed"]) == (0, 1, 1)


def test_what_is_no_document_is_skipped_on_a_walk(folder: Path, quoth) -> None:
    """JSON that holds no documents is passed over with its reason; named itself, it is a failure."""
    (folder / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    walked = quoth("index", ".", "--json")
    assert (walked.code, walked.json["skipped"], walked.json["failed"]) == (0, 1, 0)
    named = quoth("index", "package.json", "--json")
    assert (named.code, named.json["failed"]) == (3, 1)


def test_an_empty_folder_is_no_error(quoth, tmp_path: Path) -> None:
    """Nothing to index is said in numbers, and asking then says that nothing is there."""
    (tmp_path / "empty").mkdir()
    assert quoth("index", "empty", "--json").json["added"] == 0
    assert quoth("list").code == 1
    assert quoth("ask", "Anything?").out.startswith("No answer")


def test_a_missing_path_is_named(quoth) -> None:
    """A path that does not exist is exit 2, and no index is made for it."""
    done = quoth("index", "nowhere")
    assert (done.code, "nowhere does not exist" in done.err) == (2, True)
    assert not Path(".quoth").exists()


def test_list_show_remove(folder: Path, quoth) -> None:
    """Documents are listed, shown whole by id or path, and removed while their files stay."""
    quoth("index", ".")
    listed = quoth("list", "--json").json["documents"]
    assert [d["source"] for d in listed] == ["a.txt", "sub/b.md"]
    assert quoth("show", "sub/b.md", "--json").json["text"] == "# Dogs\n\nThe dog barks at night.\n"
    assert quoth("show", listed[0]["id"]).out.endswith("The cat sleeps in the barn.\n\n")
    assert quoth("remove", "a.txt", "--json").json["removed"] == 1
    assert [d["source"] for d in quoth("list", "--json").json["documents"]] == ["sub/b.md"]
    assert (folder / "a.txt").exists()
    unknown = quoth("remove", "a.txt")
    assert (unknown.code, "does not hold a.txt" in unknown.err) == (2, True)


def test_metadata_is_kept_and_filters(folder: Path, quoth) -> None:
    """--meta reaches every document of that run, and --where finds by it, by folder and by date."""
    quoth("index", "sub", "--meta", "client=Acme Ltd")
    quoth("index", "a.txt")
    assert quoth("search", "the", "--where", 'client:"Acme Ltd"', "--json").json["hits"][0]["title"] == "Dogs"
    assert quoth("search", "cat", "--where", "folder:sub").code == 1
    assert quoth("search", "cat", "--where", "date>=2000").code == 0
    assert quoth("search", "cat", "--where", "date>2999").code == 1
    assert quoth("index", "a.txt", "--meta", "novalue").code == 2


def test_info_says_what_and_with_which_reader(folder: Path, quoth) -> None:
    """info counts documents and passages and names the reader, its language and its hashes."""
    quoth("index", ".")
    told = quoth("info", "--json").json
    assert told["documents"] == 2
    assert told["reader"] in ("small", "large")
    assert told["reader_language"] == "English"
    (folder / "bad.docx").write_bytes(b"PK\x03\x04 no zip")
    assert quoth("index", ".").code == 3
    assert "bad.docx" in quoth("info", "--failed").out


def test_a_changed_file_is_stale(folder: Path, quoth) -> None:
    """A file that changed or went since it was indexed is said at ask, and by doctor."""
    quoth("index", ".")
    (folder / "a.txt").write_text("The cat moved out.\n", encoding="utf-8")
    reply = quoth("ask", "Where does the cat sleep?", "--json")
    assert reply.json["stale"] == ["a.txt"]
    assert "a.txt has changed or gone" in reply.err
    assert "a.txt" in quoth("doctor").err
    quoth("index", ".")
    assert quoth("ask", "Where does the cat sleep?", "--json").json["stale"] == []


def test_doctor_finds_a_damaged_file(folder: Path, quoth) -> None:
    """A flipped byte in the search index is found with --verify, and rebuild mends it."""
    quoth("index", ".")
    assert quoth("doctor", "--verify").code == 0
    victim = max((p for p in (folder / ".quoth").rglob("*.store")), key=lambda p: p.stat().st_size)
    body = bytearray(victim.read_bytes())
    body[len(body) // 3] ^= 0xFF
    victim.write_bytes(body)
    found = quoth("doctor", "--verify", "--json")
    assert found.code == 1
    assert any(victim.name in problem for problem in found.json["problems"])
    assert quoth("rebuild").code == 0
    assert quoth("doctor", "--verify").code == 0
    assert quoth("search", "cat").code == 0


def test_rebuild_changes_the_analyzer(folder: Path, quoth) -> None:
    """After a rebuild with another analyzer the same documents answer by its rules."""
    quoth("index", ".")
    assert quoth("search", "barked").code == 0
    assert quoth("rebuild", "--analyzer", "standard", "--quiet").code == 0
    assert quoth("search", "barked").code == 1
    assert quoth("search", "barks").code == 0
    assert quoth("rebuild", "--analyzer", "klingon").code == 2


def test_an_index_that_is_there_keeps_its_analyzer(folder: Path, quoth) -> None:
    """Asking for another analyzer on an existing index is not silently ignored: the note says what changes it."""
    quoth("index", ".")
    done = quoth("index", ".", "--analyzer", "standard")
    assert "keeps its analyzer english; `quoth rebuild --analyzer standard` changes it" in done.err
    assert "keeps" not in quoth("index", ".", "--analyzer", "english").err


def test_a_newer_format_is_refused_untouched(folder: Path, quoth) -> None:
    """An index of a newer version is not opened, not changed, and the line says why."""
    quoth("index", ".")
    catalog = folder / ".quoth" / "catalog.sqlite"
    connection = sqlite3.connect(catalog)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    for command in (("ask", "cat?"), ("index", "."), ("list",)):
        done = quoth(*command)
        assert done.code == 4, (command, done)
        assert "newer" in done.err


def test_what_is_no_index_is_said(quoth, tmp_path: Path) -> None:
    """An empty .quoth, or one with rubbish in it, is exit 2 or 4 with one line."""
    (tmp_path / ".quoth").mkdir()
    (tmp_path / ".quoth" / "catalog.sqlite").write_bytes(b"this is no database, not at all" * 100)
    done = quoth("ask", "cat?")
    assert done.code == 4
    assert len(done.err.splitlines()) == 1


def test_a_second_writer_is_told_who_writes(folder: Path, quoth) -> None:
    """While one process writes, another gets exit 7 and the holder's process id."""
    quoth("index", ".")
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom quoth.retrieve.store import Index\n"
        "with Index.open(Path('.quoth'), write=True):\n print('held', flush=True)\n time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        done = quoth("index", ".")
        assert done.code == 7
        assert str(holder.pid) in done.err
        assert quoth("search", "cat").code == 0
    finally:
        holder.kill()
        holder.communicate()
    assert quoth("index", ".").code == 0


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_index_keeps_what_it_said(folder: Path, quoth, signum: int, code: int) -> None:
    """Ctrl-C and SIGTERM end with their codes, and the index is whole afterwards."""
    many = folder / "many"
    many.mkdir()
    for number in range(3000):
        (many / f"{number}.txt").write_text(
            f"Document {number} tells of the number {number}.\n" * 20, encoding="utf-8"
        )
    running = subprocess.Popen(
        [sys.executable, "-m", "quoth", "index", "."], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (folder / ".quoth" / "catalog.sqlite").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    running.send_signal(signum)
    _, error = running.communicate(timeout=60)
    assert running.returncode in (code, 0), error
    assert "Traceback" not in error
    assert quoth("index", ".").code == 0
    assert quoth("doctor", "--verify").code == 0
    assert quoth("info", "--json").json["documents"] == 3002


def test_watch_follows_changes(folder: Path, quoth) -> None:
    """--watch brings the index up to date when a file is written."""
    pytest.importorskip("watchfiles", reason="the extra `watch` is not installed")
    watching = subprocess.Popen(
        [sys.executable, "-m", "quoth", "index", ".", "--watch"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("2 added")
        (folder / "c.txt").write_text("The heron stands in the pond.\n", encoding="utf-8")
        assert watching.stdout.readline().startswith("1 added")
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=30)
    assert quoth("search", "heron").code == 0


def test_an_unreadable_file_is_reported(folder: Path) -> None:
    """A file without permission is failed with its reason, and the rest goes on."""
    (folder / "a.txt").chmod(0)
    command = [sys.executable, "-m", "quoth", "index", ".", "--json"]
    if os.geteuid() == 0:  # root reads everything, unless it gives that power away
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is not installed, and root reads everything")
        command = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    told = json.loads(done.stdout)
    assert (done.returncode, told["added"], told["failed"]) == (3, 1, 1)
    assert "Permission denied" in next(f["reason"] for f in told["files"] if f["path"] == "a.txt")


def test_config_names_every_origin(folder: Path, quoth, monkeypatch: pytest.MonkeyPatch) -> None:
    """config show prints each setting with its value and where that came from."""
    (folder / "quoth.toml").write_text("k = 7\n", encoding="utf-8")
    monkeypatch.setenv("QUOTH_PROFILE", "fast")
    quoth("index", ".")
    told = quoth("config", "show", "--json").json["settings"]
    assert told.keys() == settings.BY_NAME.keys()
    assert (told["k"]["value"], told["k"]["origin"].endswith("quoth.toml")) == (7, True)
    assert (told["profile"]["value"], told["profile"]["origin"]) == ("fast", "QUOTH_PROFILE")
    assert told["reader"]["origin"] == "default"
    (folder / "quoth.toml").write_text("colour = 7\n", encoding="utf-8")
    assert quoth("ask", "cat?").code == 2


def test_whole_documents_can_be_indexed(folder: Path, quoth) -> None:
    """--split document indexes whole texts, which are cut at question time, with the same answer."""
    long = "\n\n".join(
        f"Paragraph {n} speaks of the weather on day {n} and of little else." for n in range(120)
    )
    (folder / "long.txt").write_text(
        f"{long}\n\nThe keeper of the lighthouse is called Odd Sand.\n", encoding="utf-8"
    )
    assert quoth("index", ".", "--split", "document").code == 0
    reply = quoth("ask", "What is the keeper of the lighthouse called?", "--json").json
    assert reply["answer"]["text"] == "Odd Sand"
    assert reply["answer"]["line"] == 241


def test_moving_the_folder_keeps_the_index(folder: Path, quoth, tmp_path_factory, monkeypatch) -> None:
    """Paths are stored relative to the index's folder, so that both can move together."""
    quoth("index", ".")
    moved = tmp_path_factory.mktemp("moved") / "there"
    shutil.copytree(folder, moved)
    monkeypatch.chdir(moved)
    assert quoth("ask", "Where does the cat sleep?", "--json").json["stale"] == []
    again = quoth("index", ".", "--json").json
    assert again["unchanged"] == 2
