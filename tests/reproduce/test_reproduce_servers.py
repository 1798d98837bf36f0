"""The recipes that have a server beside the embedded engine: with it, without it, and over a wiki."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from quoth import settings
from quoth.errors import BackendError, InputError
from quoth.models import shipped
from quoth.reproduce import Inputs, Outcome, recipe
from quoth.reproduce import cranfield as cranfield_room
from quoth.reproduce.corpus import DEV, TRAIN
from quoth.reproduce.engines import index_address, server_address
from quoth.reproduce.wikipedia import wiki_address
from quoth.types import Document

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SUBJECTS = ("wing", "nozzle", "shell", "jet", "plate", "cone")

needs_readers = pytest.mark.skipif(not shipped(), reason="no reader is shipped in this checkout")


@pytest.fixture
def at(tmp_path: Path) -> Inputs:
    """Return inputs over a folder of small data sets in their published forms."""
    data = tmp_path / "data"
    (data / "cranfield").mkdir(parents=True)
    (data / "squad").mkdir()
    documents, topics, judged = [], [], []
    for number, subject in enumerate(SUBJECTS, start=1):
        documents.append(
            f".I {number}\n.T\non the {subject} .\n.A\nsmith .\n.B\nj. 1958\n.W\n"
            f"on the {subject} . the flow past a {subject} was measured at high speed .\n"
        )
        topics.append(
            f"<top>\n<num> {number}</num>\n<title>\nwhat is known of the flow past a {subject} .\n</title>\n</top>\n"
        )
        judged.append(f"{number} 0 {number} 1\n{number} 0 {number % len(SUBJECTS) + 1} 0\n")
    (data / "cranfield/cran.all.1400").write_text("".join(documents), encoding="utf-8")
    (data / "cranfield/cran.qry.xml").write_text("<xml>\n" + "".join(topics) + "</xml>\n", encoding="utf-8")
    (data / "cranfield/cranqrel.trec.txt").write_text("".join(judged), encoding="utf-8")
    for name, towns in ((TRAIN, ("Turin", "Oslo")), (DEV, ("Lima", "Quito", "Accra"))):
        articles = []
        for town in towns:
            text = f"The tower of {town} was built in 15{len(town)}7 by masons."
            answer = {"text": f"15{len(town)}7", "answer_start": text.index("15")}
            asked = f"When was the tower of {town} built?"
            qas = [{"id": town, "question": asked, "answers": [answer], "is_impossible": False}]
            articles.append({"title": town, "paragraphs": [{"context": text, "qas": qas}]})
        (data / name).write_text(json.dumps({"version": "v2.0", "data": articles}), encoding="utf-8")
    (tmp_path / "work").mkdir()
    return Inputs(data, tmp_path / "work", settings.load(environment={}))


def measured(outcome: Outcome) -> dict[str, float | None]:
    """Return the figures by name."""
    return {row.name: row.measured for row in outcome.rows}


# -- without a server


@pytest.mark.parametrize("name", ["cranfield", "engines"])
def test_without_a_server_its_figures_are_missing_with_a_reason(
    at: Inputs, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Our own figures stand; the server's are named and empty, and what to do is said."""
    monkeypatch.delenv("QUOTH_OPENSEARCH_URL", raising=False)
    outcome = recipe(name).run(at)
    theirs = [row for row in outcome.rows if row.name.startswith(("OpenSearch", "Lucene"))]
    assert theirs
    assert all(row.measured is None and "QUOTH_OPENSEARCH_URL" in row.how for row in theirs)
    assert any("ci/opensearch.sh" in said for said in outcome.differences)
    ours = {n: v for n, v in measured(outcome).items() if n.startswith("embedded index, english: ")}
    best = (
        "embedded index, english: nDCG@10"
        if name == "cranfield"
        else "embedded index, english: recall@1/answer"
    )
    assert ours[best] == 1


def test_a_server_that_is_named_and_down_is_an_error(at: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """No figure is left out in silence where a server was asked for."""
    monkeypatch.setenv("QUOTH_OPENSEARCH_URL", "http://127.0.0.1:9")
    with pytest.raises(BackendError):
        recipe("engines").run(at)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("", None),
        ("http://127.0.0.1:9200/", "opensearch://127.0.0.1:9200"),
        ("localhost:9200", "opensearch://localhost:9200"),
        ("opensearch://a:1", "opensearch://a:1"),
        ("https://a:1", "opensearch://a:1?tls=1"),
    ],
)
def test_servers_are_named_as_people_name_them(
    monkeypatch: pytest.MonkeyPatch, given: str, found: str | None
) -> None:
    """A URL or a bare place is an address of ours; TLS is kept behind the index's name."""
    monkeypatch.setenv("QUOTH_OPENSEARCH_URL", given)
    assert server_address() == found
    if found:
        assert index_address(found, "x").startswith(found.partition("?")[0] + "/x")
        assert index_address(found, "x").endswith("?tls=1") == ("tls" in found)


@pytest.mark.parametrize("given", ["ftp://a", "http://a/b", "http://"])
def test_what_is_no_server_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """With the value and the way out."""
    monkeypatch.setenv("QUOTH_OPENSEARCH_URL", given)
    with pytest.raises(InputError, match="must be a server's address"):
        server_address()


# -- with a server


@pytest.mark.server
def test_cranfield_has_lucene_beside_it(
    at: Inputs, monkeypatch: pytest.MonkeyPatch, opensearch_place: str
) -> None:
    """Both engines and Lucene's plain query, with and without what we do to a question, paired by topic."""
    monkeypatch.setenv("QUOTH_OPENSEARCH_URL", opensearch_place)
    found = measured(recipe("cranfield").run(at))
    for name in ("english", "standard"):
        for who in (f"embedded index, {name}", f"OpenSearch, {name}", f"Lucene, {name}"):
            assert found[f"{who}: MAP"] == 1, who
            assert found[f"{who}: P@5"] == pytest.approx(1 / 5)
        assert found[f"embedded index, {name} - Lucene, {name}: nDCG@10"] == 0
        assert f"embedded index, {name}, words alone: nDCG@10" in found


@pytest.mark.server
def test_lucenes_own_figure_is_lucenes(opensearch_place: str) -> None:
    """The plain query gives BM25 with Lucene's idf, ln(1 + (N - n + 0.5) / (n + 0.5)), k1 1.2 and b 0.75.

    The server multiplies by k1 + 1, as Lucene did before version 8; that changes no order.
    """
    documents = [
        Document("a", "wing", title="wing"),
        Document("b", "wing flow flow", title="wing"),
        Document("c", "jet", title="jet"),
    ]
    with cranfield_room.plain_lucene(
        f"opensearch://{opensearch_place}", documents, analyzer="standard"
    ) as ask:
        found = ask("flow")
    assert set(found) == {"b"}
    average = (2 + 4 + 2) / 3
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    assert found["b"] == pytest.approx(2.2 * idf * 2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 4 / average)), rel=1e-5)


@pytest.mark.server
def test_both_engines_are_asked_the_same(
    at: Inputs, monkeypatch: pytest.MonkeyPatch, opensearch_place: str
) -> None:
    """Recall, time and what they have in common; nothing is left on the server."""
    from quoth.retrieve.opensearch.address import Address
    from quoth.retrieve.opensearch.wire import Wire

    monkeypatch.setenv("QUOTH_OPENSEARCH_URL", opensearch_place)
    outcome = recipe("engines").run(replace(at, limit=2))
    found = measured(outcome)
    for name in ("english", "standard"):
        assert (
            found[f"OpenSearch, {name}: recall@1/answer"]
            == found[f"embedded index, {name}: recall@1/answer"]
            == 1
        )
        assert (found[f"OpenSearch, {name}: p95 ms a question"] or 0) > 0
        assert found[f"both, {name}: first three passages in common"] == 1
    assert any("2 answerable dev questions" in said for said in outcome.differences)
    wire = Wire(Address.parse(f"opensearch://{opensearch_place}/x"))
    left = [name for name in wire.get("/_mapping") if name.startswith("quoth-reproduce-")]
    wire.close()
    assert left == []


def test_the_real_collection_is_ranked_well(at: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """On forty topics of the real collection the figures are those of a working engine."""
    if not (DATA / "cranfield").is_dir():
        pytest.skip("the Cranfield collection is not beside the checkout")
    monkeypatch.delenv("QUOTH_OPENSEARCH_URL", raising=False)
    outcome = recipe("cranfield").run(replace(at, data=DATA, limit=40))
    found = measured(outcome)
    assert "n=40" in outcome.rows[0].how
    assert 0.3 < (found["embedded index, english: nDCG@10"] or 0) < 0.5
    assert (found["embedded index, english: MAP"] or 0) > 0.22


# -- a wiki


def test_a_wiki_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one the recipe says how one is had; addresses of any kind are taken."""
    monkeypatch.delenv("QUOTH_MEDIAWIKI_URL", raising=False)
    with pytest.raises(InputError) as caught:
        wiki_address()
    assert "ci/mediawiki.sh" in caught.value.hint
    for given, found in (
        ("http://a/api.php", "mediawiki:http://a/api.php"),
        ("mediawiki:http://a/api.php#full", "mediawiki:http://a/api.php"),
        ("wikipedia:en", "wikipedia:en"),
    ):
        monkeypatch.setenv("QUOTH_MEDIAWIKI_URL", given)
        assert wiki_address() == found


@pytest.mark.server
@needs_readers
def test_the_blogs_questions_are_answered_over_a_wiki(
    at: Inputs, monkeypatch: pytest.MonkeyPatch, wiki_api: str, tmp_path: Path
) -> None:
    """All four rightly from the best sections, with page, section and revision; what the live one would be is said."""
    monkeypatch.setenv("QUOTH_MEDIAWIKI_URL", wiki_api)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outcome = recipe("wikipedia").run(at)
    assert measured(outcome)["best sections: answered rightly"] == 1
    assert measured(outcome)["whole articles: answered wrongly"] == 0
    shown = outcome.examples[0]
    for part in ("Honolulu", "page Barack Obama, section Early life, revision ", "oldid=", "five"):
        assert part in shown
    assert any("wikipedia:en" in said for said in outcome.differences)
