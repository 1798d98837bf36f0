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
