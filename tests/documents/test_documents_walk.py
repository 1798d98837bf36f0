"""Walking folders: the order, what is passed over, and why."""

import os
import socket
from pathlib import Path

import pytest

from quoth.documents import walk
from quoth.errors import InputError


def tree(root: Path, *names: str) -> None:
    """Make empty files, and the folders that they need."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")


def listed(root: Path, *paths: Path, follow: bool = False) -> tuple[list[str], dict[str, str], int]:
    """Return what is to be read, what is passed over with its reason, and how many are ignored."""
    found = walk(paths or (root,), follow=follow)
    items = list(found)
    read = [os.path.relpath(i.path, root) for i in items if not i.skipped]
    skipped = {os.path.relpath(i.path, root): i.skipped for i in items if i.skipped}
    return read, skipped, found.ignored


def test_the_order_is_that_of_names(tmp_path: Path) -> None:
    """Files come by the bytes of their names, folders where their name stands."""
    tree(tmp_path, "b/2.txt", "b/1.txt", "a.txt", "c.txt", "B.txt", "é.txt", "b/10.txt")
    expected = ["B.txt", "a.txt", "b/1.txt", "b/10.txt", "b/2.txt", "c.txt", "é.txt"]
    assert listed(tmp_path) == (expected, {}, 0)


def test_hidden_and_ignored_are_only_counted(tmp_path: Path) -> None:
    """Hidden names and what ignore files name are passed over; inner rules win, ``!`` keeps."""
    tree(
        tmp_path,
        ".git/a.txt",
        ".hidden.txt",
        ".quoth/a.txt",
        "keep.txt",
        "drop.log",
        "sub/drop.log",
        "sub/no.txt",
    )
    tree(tmp_path, "sub/deep/no.txt", "build/x.txt", "sub/build/y.txt")
    (tmp_path / ".gitignore").write_text("*.log\n/build/\n# note\n\n", encoding="utf-8")
    (tmp_path / ".quothignore").write_text("no.txt\n", encoding="utf-8")
    (tmp_path / "sub" / ".gitignore").write_text("!drop.log\n!deep/no.txt\n", encoding="utf-8")
    read, skipped, ignored = listed(tmp_path)
    assert read == ["keep.txt", "sub/build/y.txt", "sub/deep/no.txt", "sub/drop.log"]
    assert skipped == {}
    assert (
        ignored == 9
    )  # .git .hidden.txt .quoth .gitignore .quothignore drop.log build sub/.gitignore sub/no.txt


def test_rules_of_the_repository_above_count(tmp_path: Path) -> None:
    """A folder in a repository obeys the ignore files above it, unless they name the folder itself."""
    tree(tmp_path, ".git/HEAD", "docs/a.txt", "docs/b.tmp.txt", "docs/gen/c.txt")
    (tmp_path / ".gitignore").write_text("*.tmp.txt\ngen/\n", encoding="utf-8")
    assert listed(tmp_path / "docs")[0] == ["a.txt"]
    assert listed(tmp_path / "docs" / "gen")[0] == ["c.txt"]


def test_a_named_file_is_always_yielded(tmp_path: Path) -> None:
    """What was asked for by name is neither ignored nor hidden nor of an unknown type."""
    tree(tmp_path, "a.txt", ".b.txt", "c.xyz")
    (tmp_path / ".gitignore").write_text("*\n", encoding="utf-8")
    paths = [tmp_path / name for name in (".b.txt", "a.txt", "c.xyz")]
    assert listed(tmp_path, *paths)[0] == [".b.txt", "a.txt", "c.xyz"]


def test_paths_that_overlap_are_walked_once(tmp_path: Path) -> None:
    """A file below two of the paths comes once, at the first."""
    tree(tmp_path, "sub/a.txt", "sub/b.txt")
    assert listed(tmp_path, tmp_path / "sub" / "b.txt", tmp_path, tmp_path / "sub")[0] == [
        "sub/b.txt",
        "sub/a.txt",
    ]


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    """A path that does not exist is told before anything is read."""
    tree(tmp_path, "a.txt")
    with pytest.raises(InputError, match=r"none\.txt"):
        walk([tmp_path, tmp_path / "none.txt"])


def test_unknown_types_have_a_reason(tmp_path: Path) -> None:
    """What no loader reads is named with its extension; README needs none."""
    tree(tmp_path, "a.xyz", "noext", "README", "ok.TXT", "data.json.gz", "b.tar.gz")
    read, skipped, _ = listed(tmp_path)
    assert read == ["README", "data.json.gz", "ok.TXT"]
    assert skipped == {
        "a.xyz": "no reader for .xyz files",
        "b.tar.gz": "no reader for .gz files",
        "noext": "a file without an extension",
    }


def test_pipes_and_sockets_have_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but regular files is opened."""
    os.mkfifo(tmp_path / "p.txt")
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.txt")
        _, skipped, _ = listed(tmp_path)
    assert skipped == {"p.txt": "a pipe (FIFO)", "s.txt": "a socket"}


def test_links_are_not_followed_by_default(tmp_path: Path) -> None:
    """A link in a folder is named, not read; a link that was named itself is read as its target."""
    tree(tmp_path, "d/a.txt")
    (tmp_path / "l.txt").symlink_to("d/a.txt")
    (tmp_path / "loop").symlink_to(".")
    read, skipped, _ = listed(tmp_path)
    assert read == ["d/a.txt"]
    assert set(skipped) == {"l.txt", "loop"}
    assert listed(tmp_path, tmp_path / "l.txt")[0] == ["d/a.txt"]


def test_followed_links_stay_inside_and_end(tmp_path: Path) -> None:
    """With ``follow``, targets in the folder come once, under their own name; others have a reason."""
    root = tmp_path / "root"
    tree(tmp_path, "root/z/a.txt", "root/.hid/b.txt", "root/.hid/sub/c.txt", "outside/o.txt")
    for name, target in (
        ("a1.txt", "z/a.txt"),
        ("b1.txt", ".hid/b.txt"),
        ("c1", ".hid/sub"),
        ("gone.txt", "nothing"),
        ("loop", "."),
        ("out.txt", "../outside/o.txt"),
        ("outdir", "../outside"),
        ("round.txt", "round.txt"),
    ):
        (root / name).symlink_to(target)
    read, skipped, _ = listed(root, follow=True)
    assert read == ["z/a.txt", ".hid/b.txt", ".hid/sub/c.txt"]
    assert skipped == {
        ".": "a link to a folder that is walked already",
        "gone.txt": "a symbolic link to nothing, or in a loop",
        "out.txt": "a symbolic link out of the folder",
        "outdir": "a symbolic link out of the folder",
        "round.txt": "a symbolic link to nothing, or in a loop",
    }


def test_deep_folders_end_without_a_crash(tmp_path: Path) -> None:
    """Folders deeper than a path may be long are named where the system gives up."""
    top = tmp_path / "deep"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    names = ["d" * 100] * 60
    opened = [here]
    for name in names:
        os.mkdir(name, dir_fd=opened[-1])
        opened.append(os.open(name, os.O_RDONLY, dir_fd=opened[-1]))
    try:
        read, skipped, _ = listed(tmp_path)
        assert read == []
        assert any("too long" in reason for reason in skipped.values())
    finally:
        for parent, name in zip(reversed(opened[:-1]), reversed(names), strict=True):
            os.rmdir(name, dir_fd=parent)
        for descriptor in opened:
            os.close(descriptor)


def test_names_that_are_no_utf8_are_walked_and_read(tmp_path: Path) -> None:
    """A name of any bytes is a path that opens, with an id of its own and a text that can be shown."""
    from quoth.documents import document_id, load

    raw = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    try:
        with open(raw, "w", encoding="utf-8") as file:
            file.write("hello")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (found,) = walk([tmp_path])
    source = found.path.name
    (document,) = load(found.path, source=source)
    assert document.text == "hello"
    assert document.source == document.metadata["name"] == "caf\\xe9.txt"
    assert document.id == document_id(source) != document_id("caf\\xe9.txt")
    document.source.encode("utf-8")


def test_a_walk_is_lazy(tmp_path: Path) -> None:
    """The first file comes before later folders are listed."""
    tree(tmp_path, "a.txt", "b/c.txt")
    found = walk([tmp_path])
    assert next(found).path.name == "a.txt"
    (tmp_path / "b" / "d.txt").write_text("x", encoding="utf-8")
    assert [i.path.name for i in found] == ["c.txt", "d.txt"]
