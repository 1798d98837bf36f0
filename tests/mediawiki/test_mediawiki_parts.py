"""Addresses, sections, the cache, the choice of pieces."""

import json
import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mediawiki_fake import SITE, fake_wiki

from quoth.errors import BackendError, InputError
from quoth.retrieve.mediawiki import Cache, Client, MediaWiki, WikiAddress
from quoth.retrieve.mediawiki.best import content_words, scores, stem
from quoth.retrieve.mediawiki.cache import default_path
from quoth.retrieve.mediawiki.client import check_reply
from quoth.retrieve.mediawiki.pages import hits_in, pages_in, rows_in
from quoth.retrieve.mediawiki.sections import lead, sections, segments
from quoth.types import Query

REPLIES = (
    Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mediawiki" / "wikipedia-api" / "replies"
)


@pytest.mark.parametrize(
    ("address", "api", "mode"),
    [
        ("wikipedia:en", "https://en.wikipedia.org/w/api.php", "sections"),
        ("wikipedia:zh-yue#full", "https://zh-yue.wikipedia.org/w/api.php", "full"),
        ("wikipedia:simple#summary", "https://simple.wikipedia.org/w/api.php", "summary"),
        (
            "mediawiki:http://wiki.example.org:8080/api.php",
            "http://wiki.example.org:8080/api.php",
            "sections",
        ),
    ],
)
def test_addresses_are_read(address: str, api: str, mode: str) -> None:
    """Wikipedia by language, any wiki by the address of its API, the mode behind #."""
    assert WikiAddress.parse(address) == WikiAddress(api, mode)  # type: ignore[arg-type]  # one of the modes


@pytest.mark.parametrize(
    "address",
    [
        "wikipedia:",
        "wikipedia:EN",
        "wikipedia:en.evil.example/x",
        "wikipedia:en#best",
        "mediawiki:wiki.example.org/api.php",
        "mediawiki:ftp://wiki.example.org/api.php",
        "mediawiki:https://wiki.example.org/wiki/Main_Page",
        "mediawiki:https://wiki.example.org/api.php?x=1",
        "mediawiki:https://ann:secret@wiki.example.org/api.php",
        "mediawiki:file:///etc/api.php",
        "nowiki:en",
    ],
)
def test_wrong_addresses_are_mistakes(address: str) -> None:
    """Each is an InputError that says what to write, and no login is shown."""
    with pytest.raises(InputError) as caught:
        WikiAddress.parse(address)
    assert caught.value.hint
    assert "secret" not in caught.value.hint


def test_sections_have_their_headings_above() -> None:
    """A subsection knows its section; one of a higher level ends those below."""
    text = "Lead.\n\n== A ==\na\n=== B ===\nb\n==== C ====\nc\n=== D ===\nd\n== E ==\n"
    assert [(s.label, text[s.body : s.end].strip()) for s in sections(text)] == [
        ("", "Lead."),
        ("A", "a"),
        ("A > B", "b"),
        ("A > B > C", "c"),
        ("A > D", "d"),
        ("E", ""),
    ]
    assert lead(text) == "Lead."
    assert lead("No heading = here ==") == "No heading = here =="
    assert sections("") == ()


@given(st.text(st.sampled_from("= ab\n"), max_size=60))
def test_sections_cover_the_text(text: str) -> None:
    """In order, without gaps, without overlaps, whatever the text."""
    found = sections(text)
    assert "".join(text[s.start : s.end] for s in found) == text
    assert all(s.start <= s.body <= s.end for s in found)
    assert [(s.start, s.end) for s in segments(text)] == [(s.start, s.end) for s in found]


def test_content_words_are_what_a_question_is_about() -> None:
    """Stop words and words that only ask go, unless nothing would be left."""
    assert content_words("What is the wingspan of an albatross, an Albatross?") == ("wingspan", "albatross")
    assert content_words("Who is it?") == ("who", "is", "it")
    assert content_words("Where was Obama's mother born?") == ("obama", "mother", "born")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("sides", "side"),
        ("bodies", "body"),
        ("species", "specy"),
        ("us", "us"),
        ("glass", "glass"),
        ("goes", "goe"),
    ],
)
def test_plurals_lose_their_ending(word: str, expected: str) -> None:
    """The three rules of the S-stemmer, the first that fits."""
    assert stem(word) == expected


def test_pieces_are_scored_as_bm25_scores_them() -> None:
    """Against the formula written out: idf by pieces, length against the mean, a heading's word by half."""
    import math

    pieces = [("Birds", "the wing of an albatross"), ("", "a wing"), ("", "no such thing here")]
    idf_wing = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    idf_bird = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    mean = (5.5 + 2 + 4) / 3

    def part(count: float, length: float) -> float:
        return count / (count + 1.2 * (0.25 + 0.75 * length / mean))

    found = scores(["wings", "bird"], pieces)
    assert found[0] == pytest.approx(idf_wing * part(1, 5.5) + idf_bird * part(0.5, 5.5))
    assert found[1] == pytest.approx(idf_wing * part(1, 2))
    assert found[2] == 0
    assert scores(["x"], []) == []


def test_the_cache_keeps_and_forgets(tmp_path: Path) -> None:
    """By key, by age, and what was used longest ago goes first when it is full."""
    cache = Cache(tmp_path / "c.sqlite", limit=4_000)
    cache.put("a", b"one")
    assert cache.get("a") == b"one"
    assert cache.get("a", max_age=60) == b"one"
    assert cache.get("b") is None
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE replies SET made = made - 100, used = used - 100")
    connection.close()
    assert cache.get("a", max_age=60) is None
    noise = [bytes((i * 7 + j * j * 31 + (j >> 3) * 17) % 251 for j in range(900)) for i in range(8)]
    for i, body in enumerate(noise):
        cache.put(f"n{i}", body)
        cache.get("n0")
    with sqlite3.connect(cache.path) as connection:
        kept = {key for (key,) in connection.execute("SELECT key FROM replies")}
        size = connection.execute("SELECT SUM(size) FROM replies").fetchone()[0]
    connection.close()
    assert {"n0", "n7"} <= kept
    assert "n1" not in kept
    assert size <= 4_000


@pytest.mark.parametrize("damage", [b"", b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_cache_is_no_hindrance(tmp_path: Path, damage: bytes) -> None:
    """It is removed, and what follows works."""
    path = tmp_path / "c.sqlite"
    path.write_bytes(damage)
    cache = Cache(path)
    assert cache.get("a") is None
    cache.put("a", b"one")
    cache.put("a", b"two")
    assert cache.get("a") == b"two"


def test_a_body_that_was_damaged_is_a_miss(tmp_path: Path) -> None:
    """Bits that fell are noticed by the packing's checksum."""
    cache = Cache(tmp_path / "c.sqlite")
    cache.put("a", b"one" * 100)
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE replies SET body = ?", (b"x\x9c\x00\x00",))
    connection.close()
    assert cache.get("a") is None


def test_a_cache_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "file").write_text("x")
    cache = Cache(tmp_path / "file" / "c.sqlite")
    cache.put("a", b"one")
    assert cache.get("a") is None


def test_threads_share_the_cache(tmp_path: Path) -> None:
    """Writers and readers at once lose nothing that was kept."""
    cache = Cache(tmp_path / "c.sqlite")

    def work(n: int) -> None:
        for i in range(10):
            cache.put(f"{n}-{i}", f"{n}-{i}".encode())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [cache.get(f"{n}-{i}") for n in range(4) for i in range(10)]
    assert kept == [f"{n}-{i}".encode() for n in range(4) for i in range(10)]


def test_the_cache_is_where_the_desktop_wants_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """XDG_CACHE_HOME, else ~/.cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_path() == tmp_path / "quoth" / "mediawiki.sqlite"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_path() == tmp_path / "home" / ".cache" / "quoth" / "mediawiki.sqlite"


def recorded(name: str) -> dict[str, object]:
    """Return the body of a recorded reply; skip where the recordings are not at hand."""
    path = REPLIES / name
    if not path.is_file():
        pytest.skip("the recorded replies are not here")
    reply: dict[str, object] = json.loads(
        json.loads(path.read_text(encoding="utf-8"))["response"]["body"]["string"]
    )
    return reply


def test_recorded_searches_are_read() -> None:
    """Every recorded search of the real Wikipedia gives ids and a count, or is empty as recorded."""
    if not REPLIES.is_dir():
        pytest.skip("the recorded replies are not here")
    names = sorted(path.name for path in REPLIES.glob("search-*.json"))
    assert len(names) == 22
    for name in names:
        reply = recorded(name)
        if "error" in reply:  # Wikipedia does not search titles alone; we never ask it to
            with pytest.raises(BackendError, match="search-title-disabled"):
                check_reply(reply, "en.wikipedia.org")
            continue
        ids, total = hits_in(reply)
        assert len(ids) == len(set(ids)) <= 10
        assert all(id > 0 for id in ids)  # files of another wiki are listed under the id 0
        assert total >= len(ids)
    ids, total = hits_in(recorded("search-01.json"))
    assert ids[0] == 23862
    assert total == 6045


def test_recorded_pages_are_read_in_the_older_form() -> None:
    """Pages by id instead of a list; a missing page is left out; a page without revisions is none of ours."""
    (row,) = rows_in(recorded("extracts-01.json"))
    assert row["pageid"] == 23862
    assert pages_in(recorded("info-01.json")) == []
    labels = [s.label for s in sections(row["extract"])]
    assert labels[:2] == ["", "History"]
    assert len(labels) > 20


def test_a_question_is_answered_from_recorded_replies(tmp_path: Path) -> None:
    """The real article on Python, found by the real search's reply, gives the section that answers."""
    extract, search = recorded("extracts-01.json"), recorded("search-01.json")
    page = {
        "pageid": 23862,
        "title": "Python (programming language)",
        "revisions": [{"revid": 1344444444, "timestamp": "2026-03-25T15:46:00Z"}],
    }
    with fake_wiki() as wiki:
        wiki.site = SITE
        wiki.always = {"search": search, "text": extract, "pages": {"query": {"pages": {"23862": page}}}}
        client = Client(WikiAddress(wiki.api), cache=Cache(tmp_path / "c.sqlite"))
        retriever = MediaWiki(client)
        found = retriever.retrieve(Query("Who began working on Python in the late 1980s?"), k=3)
        document = retriever.document(found[0].item.document_id)
    assert any("Guido van Rossum" in s.item.text for s in found)
    assert all(document.text[s.item.start : s.item.end] == s.item.text for s in found)
    assert document.source.endswith("?oldid=1344444444")
