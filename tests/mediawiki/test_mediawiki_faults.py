"""What a wiki that fails, or holds odd pages, does to a question."""

import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mediawiki_fake import SITE, FakeWiki, Reply, fake_wiki

from quoth.errors import BackendError, InputError, QuothError
from quoth.retrieve.mediawiki import Cache, Client, MediaWiki, Mode, Patience, WikiAddress
from quoth.retrieve.mediawiki.client import user_agent
from quoth.testing import check_retriever
from quoth.types import Filter, Query

ALBATROSS = (
    "The albatross is a seabird.\n\n\n== Size ==\nIts wingspan is 3.5 metres.\n\n\n=== Weight ===\n"
    "It weighs 9 kilograms.\n\n\n== Range ==\nIt crosses the ocean."
)
ASKED = Query("What is the wingspan of an albatross?")
QUICK = Patience(timeout=0.4, tries=3, first=0.01, longest=0.05, total=2.0)


@pytest.fixture
def wiki() -> Iterator[FakeWiki]:
    with fake_wiki() as fake:
        fake.add(1, "Albatross", ALBATROSS)
        yield fake


def on(
    fake: FakeWiki,
    *,
    mode: Mode = "sections",
    cache: Cache | None = None,
    pauses: list[float] | None = None,
    pages: int = 5,
) -> MediaWiki:
    pause = pauses.append if pauses is not None else (lambda seconds: None)
    client = Client(WikiAddress(fake.api, mode), cache=cache, patience=QUICK, pause=pause)
    return MediaWiki(client, mode=mode, pages=pages)


@pytest.mark.parametrize("mode", ["sections", "full", "summary"])
def test_every_mode_keeps_the_contract(wiki: FakeWiki, mode: Mode) -> None:
    """The contract of retrievers, filters and unknown ids included."""
    wiki.add(2, "Sky", "The sky is blue.\n\n== Birds ==\nAn albatross crosses it.")
    queries = [ASKED, Query("sky", filters=(Filter("title", ":", "Sky"),)), Query("albatross sky ocean")]
    check_retriever(on(wiki, mode=mode), queries)


def test_sections_come_best_first_without_their_headings(wiki: FakeWiki) -> None:
    """The piece that answers leads; a passage is a section's own text, its place names the headings."""
    retriever = on(wiki)
    found = retriever.retrieve(ASKED, k=3)
    assert found[0].item.text == "Its wingspan is 3.5 metres."
    document = retriever.document(found[0].item.document_id)
    labels = [s.label for s in document.segments]
    assert labels == ["", "Size", "Size > Weight", "Range"]
    assert "".join(document.text[s.start : s.end] for s in document.segments) == document.text


def test_a_document_names_its_revision(wiki: FakeWiki) -> None:
    """Id, source and metadata say which revision is quoted, and the hash is of its text."""
    document = on(wiki, mode="full").document(f"127.0.0.1:{wiki.port}/1@10")
    assert document.source == f"http://127.0.0.1:{wiki.port}/w/index.php?oldid=10"
    assert (document.metadata["revision"], document.metadata["date"]) == ("10", "2026-01-02")
    assert len(document.sha256) == 64


def test_modes_hand_on_what_they_say(wiki: FakeWiki) -> None:
    """full: the whole article; summary: what the wiki gives as its introduction."""
    (hit,) = on(wiki, mode="full").retrieve(ASKED, k=5)
    assert hit.item.text == ALBATROSS
    on(wiki, mode="summary").retrieve(ASKED, k=5)
    assert wiki.of_kind("text")[-1]["exintro"] == "1"
    assert "exintro" not in wiki.of_kind("text")[0]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_refusal_for_now_is_tried_again(wiki: FakeWiki, status: int) -> None:
    """With the pause that the wiki asks for, within bounds."""
    wiki.queued = [Reply(b"", status, {"Retry-After": "0.04"}), Reply(b"", status, {"Retry-After": "9999"})]
    pauses: list[float] = []
    assert on(wiki, pauses=pauses).retrieve(ASKED, k=1)
    assert pauses == [0.04, 0.05]


def test_maxlag_is_asked_for_and_heeded(wiki: FakeWiki) -> None:
    """Every request offers to be turned away when the wiki is busy, and comes back later."""
    lag = {"error": {"code": "maxlag", "info": "Waiting for db1: 7 seconds lagged", "lag": 0.03}}
    wiki.queued = [Reply(lag)]
    pauses: list[float] = []
    assert on(wiki, pauses=pauses).retrieve(ASKED, k=1)
    assert pauses == [0.03]
    assert {parameters["maxlag"] for parameters in wiki.asked} == {"5"}


def test_a_wiki_that_stays_busy_is_an_error(wiki: FakeWiki) -> None:
    """After the last try: one line with the place and the reason, exit code 6."""
    wiki.always["search"] = {"error": {"code": "ratelimited", "info": "Too many."}}
    with pytest.raises(BackendError, match=r"is busy \(ratelimited: Too many\.\) \(3 tries\)") as caught:
        on(wiki).retrieve(ASKED, k=1)
    assert caught.value.exit_code == 6
    assert len(wiki.of_kind("search")) == 3


def test_a_slow_wiki_is_given_up(wiki: FakeWiki) -> None:
    """A question does not hang."""
    wiki.always["search"] = Reply({}, wait=1.0)
    begun = time.monotonic()
    with pytest.raises(BackendError, match="did not answer in time"):
        on(wiki).retrieve(ASKED, k=1)
    assert time.monotonic() - begun < 3.5


def test_a_wiki_that_is_down_is_said_to_be_down() -> None:
    """Nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    client = Client(
        WikiAddress(f"http://127.0.0.1:{port}/api.php"),
        cache=None,
        patience=QUICK,
        pause=lambda seconds: None,
    )
    with pytest.raises(BackendError, match=r"cannot be reached: .*Connection refused"):
        MediaWiki(client).retrieve(ASKED, k=1)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"{"),
        Reply(b"<html>hello</html>"),
        Reply(b"[1]"),
        Reply(b"\xff\xfe"),
        Reply(b"[" * 100_000),
        Reply({}, short=1),
        Reply(b"x", headers={"Content-Encoding": "gzip"}),
        Reply({}, 404),
        Reply({"error": {"code": "internal_api_error_Exception", "info": "x"}}),
        Reply({"error": "odd"}),
        Reply({}),
        Reply({"query": {}}),
        Reply({"query": []}),
        Reply({"query": {"search": "none"}}),
    ],
)
def test_a_reply_that_makes_no_sense_is_an_error_of_the_backend(wiki: FakeWiki, reply: Reply) -> None:
    """Broken JSON, other pages, errors of the API, missing parts: never a traceback, never an empty result."""
    wiki.always["search"] = reply
    with pytest.raises(BackendError):
        on(wiki).retrieve(ASKED, k=1)


def test_one_broken_reply_is_asked_for_again(wiki: FakeWiki) -> None:
    """A truncated body is noticed."""
    wiki.queued = [Reply(SITE, short=5), Reply(b"{")]
    assert on(wiki).retrieve(ASKED, k=1)


def test_a_private_wiki_says_what_it_needs(wiki: FakeWiki, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint names the variable; with it the token is sent, and only then."""
    wiki.always["search"] = {"error": {"code": "readapidenied", "info": "You need read permission"}}
    with pytest.raises(BackendError, match=r"only its members.*QUOTH_MEDIAWIKI_TOKEN"):
        on(wiki).retrieve(ASKED, k=1)
    wiki.always["search"] = Reply(b"", 401)
    with pytest.raises(BackendError, match="QUOTH_MEDIAWIKI_TOKEN"):
        on(wiki).retrieve(ASKED, k=1)
    assert all("authorization" not in headers for headers in wiki.headers)
    del wiki.always["search"]
    monkeypatch.setenv("QUOTH_MEDIAWIKI_TOKEN", "secret")
    on(wiki).retrieve(ASKED, k=1)
    assert wiki.headers[-1]["authorization"] == "Bearer secret"


def test_we_say_who_we_are(monkeypatch: pytest.MonkeyPatch, wiki: FakeWiki) -> None:
    """The user agent names program, version and, where it is given, whom to write to."""
    on(wiki).retrieve(ASKED, k=1)
    assert all(h["user-agent"].startswith("quoth/") for h in wiki.headers)
    monkeypatch.setenv("QUOTH_MEDIAWIKI_CONTACT", "mail@example.org")
    assert "(mail@example.org)" in user_agent()


def test_gzip_is_unpacked_and_bombs_are_refused(wiki: FakeWiki, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply may be packed; what unpacks to more than the limit is refused."""
    wiki.always["site"] = Reply(SITE, zip=True)
    assert on(wiki).retrieve(ASKED, k=1)
    monkeypatch.setattr("quoth.retrieve.mediawiki.client.MAX_BYTES", 10_000)
    wiki.always["search"] = Reply(b" " * 1_000_000, zip=True)
    with pytest.raises(BackendError, match=r"over 10,000 bytes"):
        on(wiki).retrieve(ASKED, k=1)


def test_another_host_is_not_followed(wiki: FakeWiki) -> None:
    """A redirect to another host is an error that names it; nothing is sent there."""
    wiki.always["search"] = Reply(b"", 302, {"Location": "http://localhost:1/w/api.php"})
    with pytest.raises(BackendError, match="sends us on to http://localhost:1"):
        on(wiki).retrieve(ASKED, k=1)


def test_missing_pages_are_left_out(wiki: FakeWiki) -> None:
    """A page that went away between search and reading is no hit and no error."""
    wiki.found.append(99)
    wiki.always["search"] = {"query": {"search": [{"pageid": 99}, {"pageid": 1}, {"title": "no id"}]}}
    assert {s.item.title for s in on(wiki).retrieve(ASKED, k=5)} == {"Albatross"}


@pytest.mark.parametrize(
    "more",
    [
        {"pageprops": {"disambiguation": ""}},
        {"categories": [{"title": "Category:Disambiguation pages"}]},
        {"title": "Albatross (disambiguation)"},
    ],
)
def test_disambiguation_pages_are_no_answers(wiki: FakeWiki, more: dict[str, object]) -> None:
    """Marked by the wiki, by a category or by the title: what it points to stands in."""
    wiki.pages.clear()
    wiki.found.clear()
    wiki.add(5, "Albatross", "Albatross may refer to:\nAlbatross (bird)\nAlbatross (metaphor)", links=[6, 7])
    wiki.pages[5] |= more
    wiki.add(6, "Albatross (bird)", "The bird's wingspan is 3.5 metres.")
    wiki.add(7, "Burden", "A heavy load.")
    wiki.found[:] = [5]
    found = on(wiki).retrieve(ASKED, k=5)
    assert [s.item.title for s in found] == ["Albatross (bird)"]


def test_a_page_that_lists_meanings_is_no_answer_even_unmarked(wiki: FakeWiki) -> None:
    """A wiki without the extension marks nothing; the text itself tells."""
    wiki.add(5, "Wingspan", "Wingspan may refer to:\n\nthe albatross\n")
    assert {s.item.title for s in on(wiki).retrieve(ASKED, k=9)} == {"Albatross"}


def test_a_redirect_brings_its_target(wiki: FakeWiki) -> None:
    """The reply holds the target under its own id."""
    wiki.always["search"] = {"query": {"search": [{"pageid": 50}]}}
    wiki.always["pages"] = {
        "query": {
            "redirects": [{"from": "Diomedea", "to": "Albatross"}],
            "pages": [{k: v for k, v in wiki.pages[1].items() if k != "extract"}],
        }
    }
    assert on(wiki).retrieve(ASKED, k=1)[0].item.title == "Albatross"


@pytest.mark.parametrize("question", ['"', "insource:/x/ OR -a ~b*", "(" * 1000, "\x00\ud800", "🦅"])
def test_no_question_reaches_the_search_syntax(wiki: FakeWiki, question: str) -> None:
    """Only folded words are sent, without any sign that a search engine gives a meaning."""
    on(wiki).retrieve(Query(question), k=1)
    for parameters in wiki.of_kind("search"):
        assert not set(parameters["srsearch"]) & set('"*~:/()-')
        assert parameters["srsearch"] == parameters["srsearch"].lower()


def test_a_question_without_words_asks_nothing(wiki: FakeWiki) -> None:
    """Signs alone find nothing and cost the wiki nothing."""
    assert on(wiki).retrieve(Query("?! ..."), k=3) == ()
    assert wiki.asked == []


def test_words_are_searched_alone_where_the_engine_does_not_rank(wiki: FakeWiki) -> None:
    """MediaWiki's own search demands all words and ranks nothing: rare words decide."""
    wiki.site = {"query": {**SITE["query"], "extensions": [{"name": "TextExtracts"}]}}
    on(wiki).retrieve(ASKED, k=1)
    assert [p["srsearch"] for p in wiki.of_kind("search")] == ["wingspan albatross", "albatross", "wingspan"]


def test_articles_that_do_not_satisfy_the_filters_are_left_out(wiki: FakeWiki) -> None:
    """Conditions on title, date, revision; no article lies in a folder."""
    for condition, count in (
        (Filter("date", ">=", "2026"), 1),
        (Filter("date", "<", "2026"), 0),
        (Filter("title", ":", "Albatross"), 1),
        (Filter("folder", ":", "a"), 0),
    ):
        found = on(wiki).retrieve(Query(ASKED.question, filters=(condition,)), k=1)
        assert len(found) == count, str(condition)


def test_what_was_asked_before_is_not_asked_again(wiki: FakeWiki, cache: Cache) -> None:
    """A second question of the same words, by another process, sends nothing."""
    first = on(wiki, cache=cache).retrieve(ASKED, k=3)
    sent = len(wiki.asked)
    assert on(wiki, cache=cache).retrieve(ASKED, k=3) == first
    assert len(wiki.asked) == sent


def test_a_changed_page_is_noticed_and_the_cited_revision_stays(wiki: FakeWiki, tmp_path: Path) -> None:
    """A text is kept by its revision: the new one is read, the one that was cited can still be shown."""
    cache = Cache(tmp_path / "c.sqlite")
    client = Client(WikiAddress(wiki.api, "full"), cache=cache, patience=QUICK, pause=lambda seconds: None)
    (old,) = MediaWiki(client, mode="full").retrieve(ASKED, k=1)
    wiki.add(1, "Albatross", "The albatross has grown: its wingspan is 4 metres.")
    wiki.pages[1]["revisions"] = [{"revid": 77, "timestamp": "2026-02-02T00:00:00Z"}]
    with sqlite3.connect(cache.path) as connection:  # an hour goes by
        connection.execute("UPDATE replies SET made = made - 7200")
    connection.close()
    retriever = MediaWiki(client, mode="full")
    (new,) = retriever.retrieve(ASKED, k=1)
    assert new.item.document_id.endswith("@77")
    assert retriever.document(old.item.document_id).text == ALBATROSS
    with pytest.raises(InputError, match="has changed since revision 3"):
        retriever.document(f"127.0.0.1:{wiki.port}/1@3")


@pytest.mark.parametrize(
    "id", ["", "x", "other/1@10", "1@10", "127.0.0.1/1@10#summary", "127.0.0.1:{}/1@x", "127.0.0.1:{}/9@9"]
)
def test_an_id_that_is_none_is_a_mistake(wiki: FakeWiki, id: str) -> None:
    """Ids of other wikis, other modes, pages that are not there."""
    with pytest.raises(InputError):
        on(wiki).document(id.format(wiki.port))


def test_a_wiki_without_textextracts_is_read_from_its_pages(wiki: FakeWiki) -> None:
    """The rendered page becomes text in the same form, and the document says so."""
    wiki.site = {"query": {**SITE["query"], "extensions": []}}
    html = """<div class="mw-parser-output"><p>The <b>albatross</b> is a seabird.<sup class="reference">[1]</sup></p>
        <table class="infobox"><tr><td>Mass</td></tr></table><h2><span class="mw-headline">Size</span>
        <span class="mw-editsection">[edit]</span></h2>
        <ul><li>wingspan: 3.5 metres<ul><li>of old birds</li></ul></li></ul>
        <style>.x{}</style><div><p>It soars.</p>loose words</div></div>"""
    wiki.always["parse"] = {"parse": {"text": html, "revid": 10}}
    retriever = on(wiki, mode="full")
    (hit,) = retriever.retrieve(ASKED, k=1)
    assert hit.item.text == (
        "The albatross is a seabird.\n\n== Size ==\n\nwingspan: 3.5 metres\n\nof old birds\n\nIt soars.\n\nloose words"
    )
    assert "rendered" in retriever.document(hit.item.document_id).notes[0]
    assert wiki.of_kind("parse")[0]["oldid"] == "10"
    wiki.always["parse"] = {"parse": {"text": {"*": html}}}
    (summary,) = on(wiki, mode="summary").retrieve(ASKED, k=1)
    assert summary.item.text == "The albatross is a seabird."
    wiki.always["parse"] = {"parse": {}}
    with pytest.raises(BackendError, match="gave no text for 'Albatross'"):
        on(wiki, mode="full").retrieve(ASKED, k=1)


def test_hostile_html_ends(wiki: FakeWiki) -> None:
    """Deep nesting neither hangs nor overflows."""
    wiki.site = {"query": {**SITE["query"], "extensions": []}}
    wiki.always["parse"] = {"parse": {"text": "<div>" * 5_000 + "albatross" + "</div>" * 5_000}}
    assert on(wiki, mode="full").retrieve(ASKED, k=1) == ()


def test_threads_share_a_wiki(wiki: FakeWiki, cache: Cache) -> None:
    """One object, many threads, one cache."""
    retriever = on(wiki, cache=cache)
    failures: list[QuothError] = []

    def ask(number: int) -> None:
        try:
            for i in range(5):
                assert retriever.retrieve(Query(f"albatross wingspan {number} {i}"), k=2)
        except QuothError as problem:
            failures.append(problem)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
