"""What a command line names: an index by its address, files from the current folder, an encoder, a model."""

from pathlib import Path
from typing import Any

import pytest

from quoth import assemble
from quoth.cli.index import _say_what_stays
from quoth.errors import InputError


@pytest.fixture
def docs(quoth, tmp_path: Path) -> Path:
    """Return a folder with one document, below the current one."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.txt").write_text("Paid time off is granted in spring.\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9200/trial",
        "HTTPS://me:secret@host/trial",
        "elasticsearch://host/trial",
        "es://host/x",
    ],
)
@pytest.mark.parametrize("command", [("index", "docs"), ("search", "leave"), ("rebuild",), ("info",)])
def test_an_address_of_another_kind_is_no_folder(
    docs: Path, quoth, command: tuple[str, ...], address: str
) -> None:
    """A scheme that is not ours is exit 2 and one line with the form to write, and no folder is made."""
    done = quoth(*command, "--index", address)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1), done
    assert "opensearch://HOST:PORT/NAME" in done.err
    assert "secret" not in done.err
    assert [path.name for path in docs.parent.iterdir()] == ["docs"]


@pytest.mark.parametrize(
    ("given", "kind", "value"),
    [
        ("Opensearch://host/x", "opensearch", "opensearch://host/x"),
        ("mediawiki:http://host/w/api.php", "mediawiki", "mediawiki:http://host/w/api.php"),
        ("MediaWiki:https://host/api.php#Full", "mediawiki", "mediawiki:https://host/api.php#Full"),
        ("Wikipedia:en", "wikipedia", "wikipedia:en"),
    ],
)
def test_a_scheme_counts_in_any_case(given: str, kind: str, value: str) -> None:
    """What stands before the colon may be written with capitals; what follows is kept as it is."""
    assert assemble.address_of(given) == assemble.Address(kind, value)  # type: ignore[arg-type]  # of the table


@pytest.mark.parametrize("given", ["C://papers", "C:\\papers", "papers", "./http:/x", "./http://x"])
def test_a_drive_and_a_path_are_folders(given: str) -> None:
    """A letter before a colon is a drive of Windows, and a path that begins as one stays one."""
    assert assemble.address_of(given).kind == "folder"


class Told:
    """An index that was made with the analyzer english."""

    def info(self) -> dict[str, Any]:
        return {"analyzer": "english"}


def test_a_server_is_not_told_to_rebuild(capsys: pytest.CaptureFixture[str]) -> None:
    """The note on what an index keeps names a way that exists: rebuild for a folder, another name for a server."""
    for given, way in (("v", "`quoth rebuild --analyzer"), ("opensearch://host/x", "under another name")):
        address = assemble.address_of(given)
        _say_what_stays(Told(), address, {"analyzer": "standard"}, quiet=False)  # type: ignore[arg-type]  # says all it needs
        assert way in capsys.readouterr().err


def test_rebuild_of_a_server_says_what_to_do(quoth) -> None:
    """rebuild on a server is exit 2, names another name as the way, and keeps the login to itself."""
    done = quoth("rebuild", "--index", "opensearch://me:secret@host/trial")
    assert (done.code, "indexing under another name" in done.err, "secret" in done.err) == (2, True, False)


def test_a_wiki_is_not_written_to() -> None:
    """What can only be asked says so, without a login."""
    address = assemble.address_of("mediawiki:http://me:secret@host/api.php")
    with pytest.raises(InputError, match=r"mediawiki:http://host/api\.php can be asked, not written to"):
        assemble.open_store(address, assemble.settings_for(address))


@pytest.mark.parametrize("origin", ["option", "environment"])
@pytest.mark.parametrize("name", ["ours.txt", "list:ours.txt"])
def test_a_typed_list_is_beside_the_person(
    docs: Path, quoth, monkeypatch: pytest.MonkeyPatch, name: str, origin: str
) -> None:
    """--expand FILE and QUOTH_EXPAND start in the current folder, wherever the index is."""
    Path("ours.txt").write_text("PTO = paid time off\n", encoding="utf-8")
    assert quoth("index", "docs", "--index", "elsewhere/v").code == 0
    given: tuple[str, ...] = ("--expand", name)
    if origin == "environment":
        monkeypatch.setenv("QUOTH_EXPAND", name)
        given = ()
    found = quoth("search", "PTO", "--index", "elsewhere/v", *given)
    assert (found.code, "leave.txt" in found.out) == (0, True), found


def test_a_list_of_the_project_is_beside_its_settings(
    docs: Path, quoth, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path in quoth.toml starts in that file's folder, wherever one asks from."""
    (docs / "ours.txt").write_text("PTO = paid time off\n", encoding="utf-8")
    (docs / "quoth.toml").write_text('expand = "ours.txt"\n', encoding="utf-8")
    monkeypatch.chdir(docs)
    assert quoth("index", "leave.txt").code == 0
    (docs / "below").mkdir()
    monkeypatch.chdir(docs / "below")
    assert quoth("search", "PTO").code == 0


def test_a_missing_list_is_named_with_its_whole_path(docs: Path, quoth) -> None:
    """The line says where a list was looked for."""
    quoth("index", "docs", "--index", "v")
    done = quoth("search", "PTO", "--expand", "ours.txt", "--index", "v")
    assert (done.code, f"no file {Path.cwd() / 'ours.txt'}." in done.err) == (2, True)


@pytest.mark.parametrize("name", ["foo", "docs", "small", "no such thing"])
def test_an_encoder_that_is_not_there_is_refused_before_any_work(docs: Path, quoth, name: str) -> None:
    """No index is made for --vectors with a wrong name, and the line says what there is instead."""
    done = quoth("index", "docs", "--vectors", name)
    assert (done.code, done.out, len(done.err.splitlines())) == (5, "", 1), done
    assert f"There is no encoder {name!r}: installed are " in done.err
    assert "folder of a sentence-transformers model works too" in done.err
    assert not Path(".quoth").exists()


def test_the_line_on_encoders_lists_those_installed(docs: Path, quoth) -> None:
    """What is installed is named, and not offered for installing."""
    pytest.importorskip("quoth_encoder_e5_small", reason="the extra `dense` is not installed")
    done = quoth("index", "docs", "--vectors", "foo")
    assert "installed are e5-small" in done.err
    assert "pip install" not in done.err


def test_a_model_for_masks_that_is_not_there_is_called_so(docs: Path, quoth) -> None:
    """--expand mlm:MODEL is told that no such masked language model is here; readers are not its matter."""
    quoth("index", "docs")
    done = quoth("search", "leave", "--expand", "mlm:bla")
    assert (done.code, len(done.err.splitlines())) == (5, 1)
    assert "There is no masked language model 'bla': no folder " in done.err
    assert "reader" not in done.err


@pytest.mark.parametrize(
    ("slip", "quoted"),
    [
        ("date>>2024", 'date>">2024"'),
        ("date:>2024", 'date:">2024"'),
        ("date>==2024", 'date>="=2024"'),
        ("title::x", 'title:":x"'),
    ],
)
def test_a_doubled_comparison_is_a_slip(docs: Path, quoth, slip: str, quoted: str) -> None:
    """A value that begins with a sign of comparison is exit 2 and one line; quoted, it finds nothing here."""
    quoth("index", "docs")
    done = quoth("search", "leave", "--where", slip)
    assert (done.code, len(done.err.splitlines()), "begins with a sign of comparison" in done.err) == (
        2,
        1,
        True,
    )
    assert quoth("search", "leave", "--where", quoted).code == 1


def test_folders_beside_the_index_are_found(docs: Path, quoth) -> None:
    """folder: is relative to what holds .quoth, so that files elsewhere are below `..`."""
    quoth("index", "docs", "--index", "elsewhere")
    assert quoth("search", "spring", "--index", "elsewhere", "--where", "folder:../docs").code == 0
    assert quoth("search", "spring", "--index", "elsewhere", "--where", "folder:docs").code == 1
