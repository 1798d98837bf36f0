"""Every command against real servers: a store on OpenSearch, somebody's own index there, a wiki; and none at all."""

import json
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mediawiki_fake import FakeWiki, fake_wiki

from quoth.models import shipped

Quoth = Callable[..., Any]

needs_readers = pytest.mark.skipif(not shipped(), reason="no reader is shipped in this checkout")

LEASE = "# Lease\n\nThe tenant may end the lease with three months of notice.\n\nThe rent is due on the first day.\n"
HOUSE = "The house was built in 1907 by the guild of masons.\n\nIts roof was renewed in 1988.\n"
THEIRS = {
    "1": {"body": "The lighthouse was built in 1851 by Ann Lee.", "headline": "Lighthouse", "year": "1990",
          "link": "https://example.org/1"},
    "2": {"body": "The harbour freezes every winter.", "headline": "Harbour", "year": "2020",
          "link": "https://example.org/2"},
}  # fmt: skip
ASKING = (("search", "x"), ("ask", "What is x?"), ("info",), ("doctor",))
FIELDS = "?text=body&title=headline&source=link&meta.year=year"


@pytest.fixture
def papers(quoth: Quoth, tmp_path: Path) -> Path:
    """Return a folder of two documents below the current one."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "lease.md").write_text(LEASE, encoding="utf-8")
    (folder / "house.txt").write_text(HOUSE, encoding="utf-8")
    return folder


@pytest.fixture
def address(opensearch_place: str) -> Iterator[str]:
    """Return the address of an index that is not there yet; what is made under it is removed."""
    from quoth.retrieve.opensearch import Address
    from quoth.retrieve.opensearch.admin import delete
    from quoth.retrieve.opensearch.wire import Wire

    given = f"opensearch://{opensearch_place}/cli-{uuid.uuid4().hex[:12]}"
    yield given
    wire = Wire(Address.parse(given))
    delete(wire)
    wire.close()


@pytest.fixture
def theirs(opensearch_place: str) -> Iterator[str]:
    """Return the address of an index that others made, with its fields mapped."""
    from quoth.retrieve.opensearch import Address
    from quoth.retrieve.opensearch.wire import Wire

    name = f"theirs-{uuid.uuid4().hex[:12]}"
    given = f"opensearch://{opensearch_place}/{name}"
    wire = Wire(Address.parse(given))
    keyword = {"type": "keyword"}
    text = {"type": "text", "analyzer": "english"}
    fields = {"body": text, "headline": text, "year": keyword, "link": keyword}
    wire.write("PUT", f"/{name}", {"mappings": {"properties": fields}})
    lines = [json.dumps(line) for id, row in THEIRS.items() for line in ({"index": {"_id": id}}, row)]
    wire.write("POST", f"/{name}/_bulk", "\n".join(lines) + "\n", params={"refresh": "true"})
    yield given + FIELDS
    wire.write("DELETE", f"/{name}")
    wire.close()


@pytest.fixture
def nowhere() -> str:
    """Return host and port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


# -- a store of ours on a server


@pytest.mark.server
def test_an_index_on_a_server_is_kept_as_one_in_a_folder(quoth: Quoth, papers: Path, address: str) -> None:
    """Index, list, show, search, update, info, doctor and remove, each with the same keys and counts."""
    at = ("--index", address)
    first = quoth("index", "papers", *at, "--json")
    assert (first.code, first.json["added"]) == (0, 2), first.err
    assert quoth("index", "papers", *at, "--json").json["unchanged"] == 2
    listed = quoth("list", *at, "--json").json["documents"]
    assert [d["source"] for d in listed] == ["papers/house.txt", "papers/lease.md"]
    shown = quoth("show", "papers/house.txt", *at)
    assert "guild of masons" in shown.out
    found = quoth("search", "Who built the house?", *at, "--json").json["hits"]
    assert "guild of masons" in found[0]["text"]
    assert "built" in found[0]["matched"]
    (papers / "house.txt").write_text("The barn was built in 1920.\n", encoding="utf-8")
    assert quoth("index", "papers", *at, "--json").json["updated"] == 1
    info = quoth("info", *at, "--json").json
    assert (info["documents"], info["analyzer"]) == (2, "english")
    health = quoth("doctor", *at, "--verify", "--json")
    assert (health.code, health.json["ok"]) == (0, True), health.out
    assert quoth("remove", "papers/house.txt", *at, "--json").json["removed"] == 1
    assert quoth("search", "barn", *at, "--json").json["hits"] == []
    (papers / "lease.md").unlink()
    pruned = quoth("index", "papers", *at, "--prune", "--json").json
    assert (pruned["added"], pruned["removed"]) == (1, 1)
    assert [d["source"] for d in quoth("list", *at, "--json").json["documents"]] == ["papers/house.txt"]


@pytest.mark.server
@needs_readers
def test_a_question_is_answered_from_a_server(quoth: Quoth, papers: Path, address: str) -> None:
    """The same answer, from the same place, as from the folder's own index."""
    asked = ("ask", "How much notice must the tenant give?", "--profile", "fast", "--json")
    assert quoth("index", "papers").code == 0
    assert quoth("index", "papers", "--index", address).code == 0
    here, there = quoth(*asked), quoth(*asked, "--index", address)
    assert there.code == 0, there.err
    assert "three months" in there.json["answer"]["text"]
    for key in ("text", "source", "line", "document_sha256"):
        assert there.json["answer"][key] == here.json["answer"][key]


@pytest.mark.server
def test_an_index_that_is_not_there_says_how_it_is_made(quoth: Quoth, address: str) -> None:
    """Exit 2, with the command that makes it."""
    missing = quoth("search", "anything", "--index", address, "--json")
    assert (missing.code, missing.json["error"]["code"]) == (2, "no_index")
    assert "quoth index PATH" in missing.json["error"]["hint"]


# -- somebody's own index


@pytest.mark.server
@needs_readers
def test_an_index_of_others_is_asked_as_it_is(quoth: Quoth, theirs: str) -> None:
    """With its fields mapped: found, narrowed by its metadata, quoted with its own link."""
    found = quoth("search", "lighthouse harbour", "--index", theirs, "--json").json["hits"]
    assert {p["title"] for p in found} == {"Lighthouse", "Harbour"}
    narrowed = quoth(
        "search", "lighthouse harbour", "--index", theirs, "--where", "year>=2000", "--json"
    ).json
    assert [p["title"] for p in narrowed["hits"]] == ["Harbour"]
    asked = quoth("ask", "When was the lighthouse built?", "--index", theirs, "--profile", "fast", "--json")
    assert asked.code == 0, asked.err
    assert "1851" in asked.json["answer"]["text"]
    assert asked.json["answer"]["source"] == "https://example.org/1"
    assert quoth("info", "--index", theirs).code == 0


@pytest.mark.server
@pytest.mark.parametrize("command", [("index", "papers"), ("list",), ("remove", "x")])
def test_an_index_of_others_is_never_written_to(
    quoth: Quoth, papers: Path, theirs: str, command: tuple[str, ...]
) -> None:
    """What would write, or needs our list of documents, is a mistake with its reason."""
    done = quoth(*command, "--index", theirs, "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "read_only"), done.out


# -- a wiki


@pytest.mark.server
@needs_readers
def test_a_wiki_answers_with_page_and_revision(quoth: Quoth, wiki_api: str) -> None:
    """The citation names article, section, and the revision that the answer stands in."""
    wiki = f"mediawiki:{wiki_api}"
    asked = quoth(
        "ask", "How many sides does a pentagon have?", "--index", wiki, "--profile", "fast", "--json"
    )
    assert asked.code == 0, asked.err
    answer = asked.json["answer"]
    assert answer["text"].split()[0] == "five"
    assert answer["title"] == "Pentagon"
    assert "oldid=" in answer["source"]
    born = quoth("ask", "Where was Barack Obama born?", "--index", f"{wiki}#full", "--profile", "fast")
    assert "Honolulu" in born.out
    assert "Early life" in born.out
    found = quoth("search", "wandering albatross", "--index", wiki, "--json").json["hits"]
    assert found[0]["title"] == "Wandering albatross"
    assert quoth("info", "--index", wiki, "--json").json["wiki"] == "Test wiki"
    assert quoth("list", "--index", wiki, "--json").json["error"]["code"] == "read_only"


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeWiki]:
    """Return a wiki of two articles that this process serves."""
    with fake_wiki() as wiki:
        wiki.add(1, "Albatross", "The albatross is a seabird.\n\n\n== Size ==\nIts wingspan is 3.5 metres.")
        wiki.add(2, "Sky", "The sky is blue because air scatters blue light.")
        yield wiki


@needs_readers
def test_a_wiki_is_asked_with_no_server_installed(quoth: Quoth, fake: FakeWiki) -> None:
    """The commands are the same on a served double: quoted, with the section; asked again, from the cache."""
    wiki = f"mediawiki:{fake.api}"
    asked = ("ask", "What is the wingspan of an albatross?", "--index", wiki, "--profile", "fast", "--json")
    first = quoth(*asked)
    assert first.code == 0, first.err
    assert "3.5 metres" in first.json["answer"]["text"]
    assert first.json["answer"]["label"] == "Size"
    again = quoth(*asked)
    assert again.json["answer"] == first.json["answer"]
    refused = quoth("index", ".", "--index", wiki, "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "read_only")


# -- no server


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        *(("opensearch://{}/books", c) for c in (*ASKING, ("list",), ("index", "."), ("remove", "x"))),
        *(("mediawiki:http://{}/api.php", c) for c in ASKING),
    ],
)
def test_a_server_that_is_down_is_one_line(
    quoth: Quoth, nowhere: str, kind: str, command: tuple[str, ...]
) -> None:
    """Exit 6, one line that names the server; with --json the same as an object. No traceback."""
    plain = quoth(*command, "--index", kind.format(nowhere))
    assert plain.code == 6, plain.err
    assert plain.out == ""
    first, *rest = plain.err.strip().splitlines()
    assert nowhere in first
    assert len(rest) <= 1
    body = quoth(*command, "--index", kind.format(nowhere), "--json")
    assert body.code == 6
    assert nowhere in body.json["error"]["message"]
