"""A real MediaWiki, from Debian's packages, filled with pages of our own."""

from pathlib import Path

import pytest
from mediawiki_server import running

from quoth.retrieve.mediawiki import Cache, MediaWiki
from quoth.testing import check_retriever
from quoth.types import Filter, Phrase, Query, Term

pytestmark = pytest.mark.server

QUESTIONS = [
    ("What is the wingspan of an albatross?", "between 2.5 and 3.5 metres", "Wandering albatross"),
    ("Why is the sky blue?", "Rayleigh scattering", "Blue of the sky"),
    ("How many sides does a pentagon have?", "five sides", "Pentagon"),
    ("Where was Barack Obama born?", "Honolulu, Hawaii", "Barack Obama"),
    ("At how many degrees does the metal mercury freeze?", "minus 38.83 degrees", "Mercury (element)"),
    ("How hot is it by day on the planet Mercury?", "430 degrees", "Mercury (planet)"),
    ("how long did whalers work at grytviken", "until 1966", "South Georgia"),
]


@pytest.mark.parametrize(("question", "answer", "title"), QUESTIONS)
def test_the_article_with_the_answer_is_found(
    api: str, cache: Cache, question: str, answer: str, title: str
) -> None:
    """The wiki's own search, questions in plain words, the piece with the answer among the first three."""
    found = MediaWiki.connect(f"mediawiki:{api}", cache=cache).retrieve(Query(question), k=3)
    assert any(answer in s.item.text and s.item.title == title for s in found)


@pytest.mark.parametrize("mode", ["sections", "full", "summary"])
def test_a_real_wiki_keeps_the_contract(api: str, cache: Cache, mode: str) -> None:
    """In every mode."""
    wiki = MediaWiki.connect(f"mediawiki:{api}#{mode}", cache=cache)
    queries = [Query(question) for question, _, _ in QUESTIONS[:3]]
    check_retriever(wiki, [*queries, Query("pentagon", filters=(Filter("title", ":", "The Pentagon"),))])


def test_disambiguation_pages_and_redirects_are_resolved(api: str, cache: Cache) -> None:
    """A page of meanings is never handed on, a redirect's own stub neither."""
    wiki = MediaWiki.connect(f"mediawiki:{api}#full", cache=cache)
    titles = {
        s.item.title
        for q in ("mercury", "pentagon", "obama", "diomedea exulans")
        for s in wiki.retrieve(Query(q), k=9)
    }
    assert titles == {
        *(
            "Mercury (planet)",
            "Mercury (element)",
            "Pentagon",
            "The Pentagon",
            "Barack Obama",
            "Wandering albatross",
        )
    }


def test_text_notes_and_tables_are_as_the_extension_gives_them(api: str, cache: Cache) -> None:
    """Sections are kept; notes and tables are not text."""
    wiki = MediaWiki.connect(f"mediawiki:{api}#full", cache=cache)
    (hit,) = wiki.retrieve(Query("wandering albatross"), k=1)
    document = wiki.document(hit.item.document_id)
    assert [s.label for s in document.segments] == ["", "Size", "Flight", "Flight > Range", "Breeding"]
    assert "Weights vary" not in document.text
    assert "107 to 135" not in document.text
    assert document.source.startswith(api.removesuffix("api.php"))
    assert f"oldid={document.metadata['revision']}" in document.source


@pytest.mark.parametrize(
    "question", ['"', "AND OR NOT", "intitle:x -y *", "[[Pentagon]]", "x" * 2000, "\x00"]
)
def test_odd_questions_are_only_words(api: str, cache: Cache, question: str) -> None:
    """No question is an error."""
    MediaWiki.connect(f"mediawiki:{api}", cache=cache).retrieve(Query(question), k=2)


def test_phrases_and_terms_are_searched_too(api: str, cache: Cache) -> None:
    """What an expander adds can bring an article that the question alone would not."""
    wiki = MediaWiki.connect(f"mediawiki:{api}#full", cache=cache)
    assert wiki.retrieve(Query("zzz"), k=1) == ()
    (hit,) = wiki.retrieve(Query("zzz", phrases=(Phrase("golden ratio"),)), k=1)
    assert hit.item.title == "Pentagon"
    (hit,) = wiki.retrieve(Query("zzz", terms=(Term("grytviken"),)), k=1)
    assert hit.item.title == "South Georgia"


def test_the_wiki_says_what_it_is(api: str, cache: Cache) -> None:
    """Name, language, number of articles."""
    info = MediaWiki.connect(f"mediawiki:{api}", cache=cache).info()
    assert (info["wiki"], info["language"], info["text_extracts"]) == ("Test wiki", "en", True)


def test_a_wiki_without_textextracts_gives_the_same_answers(api: str, home: Path, cache: Cache) -> None:
    """The same pages, rendered: the same sections, the pieces with the answers found as well."""
    if not (home / "filled").is_file():
        pytest.skip("the wiki that is used was not started here")
    with running(home, extracts=False) as plain:
        wiki = MediaWiki.connect(f"mediawiki:{plain}", cache=cache)
        assert wiki.info()["text_extracts"] is False
        for question, answer, title in QUESTIONS:
            found = wiki.retrieve(Query(question), k=3)
            assert any(answer in s.item.text and s.item.title == title for s in found), question
        document = wiki.document(wiki.retrieve(Query("wandering albatross"), k=1)[0].item.document_id)
    assert [s.label for s in document.segments] == ["", "Size", "Flight", "Flight > Range", "Breeding"]
    assert "Weights vary" not in document.text
    assert document.notes
