"""Questions: how they are cut, what they find, and that nothing in them is syntax."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_fixtures import one

from quoth.errors import InputError
from quoth.retrieve.store import Index
from quoth.retrieve.store.analysis import TABLE, analyzer, groups
from quoth.retrieve.store.clauses import clauses
from quoth.types import Phrase, Query, Term


def ids(index: Index, query: Query | str, k: int = 10) -> list[str]:
    asked = query if isinstance(query, Query) else Query(query)
    return [s.item.document_id for s in index.retrieve(asked, k=k)]


def terms(name: str, question: str) -> list[tuple[str, int]]:
    return [(t.text, t.position) for t in analyzer(name).question_terms(question)]


def test_english_drops_stop_words_and_stems() -> None:
    """Stop words go, their places stay, words are stemmed, and what only asks is dropped."""
    assert terms("english", "the towers of London's bridges") == [
        ("tower", 1), ("london", 3), ("s", 4), ("bridg", 5)
    ]  # fmt: skip
    assert terms("english", "When did Rome fall?") == [("rome", 2), ("fall", 3)]
    assert terms("standard", "When did the towers fall?") == [
        ("when", 0), ("did", 1), ("the", 2), ("towers", 3), ("fall", 4)
    ]  # fmt: skip


def test_names_that_look_like_question_words_stay() -> None:
    """A capital inside the question is a name: Doctor Who is not "Doctor"."""
    assert terms("english", "Who played Doctor Who?") == [("play", 1), ("doctor", 2), ("who", 3)]
    assert terms("english", "WHO PLAYED HAMLET?") == [("play", 1), ("hamlet", 2)]


def test_a_question_of_stop_words_is_searched_as_it_is(index: Index) -> None:
    """Where nothing else is left, stop words count: they are in the index."""
    index.put([one("a", "To be, or not to be, that is the question."), one("b", "The Who are a band.")])
    assert ids(index, "to be or not to be")[0] == "a"
    assert ids(index, "Who are they who?")[0] == "b"
    assert ids(index, "who") == ["b"]


@pytest.mark.parametrize("question", ["", "  ", "?!", "😀", "…", "\0", "\ud800"])
def test_a_question_without_words_finds_nothing(index: Index, question: str) -> None:
    """Punctuation, emoji and emptiness match nothing, quietly."""
    index.put([one("a", "Some words? Yes!")])
    assert ids(index, question) == []


HOSTILE = [
    'AND OR ( " *', "NOT", "-apple", "+apple", "apple~2", "apple*", "title:apple", "text:[a TO z]", "a^3",
    "c++", "\\", "(" * 5000, "NOT " * 5000, '"' * 999, "apple AND (", "{apple}", "/app.*/", "<=apple", "a" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
def test_query_syntax_is_only_text(index: Index, question: str) -> None:
    """No character of a question is an operator: the same words without it find the same."""
    index.put([one("a", "An apple is a fruit, not a C compiler."), one("b", "A pear.")])
    assert set(ids(index, question)) <= {"a", "b"}
    if "apple" in question:
        assert ids(index, question)[0] == "a"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_can_be_indexed_and_asked(text: str, question: str) -> None:
    """No text and no question makes the analyzers fail, and a text's own words are found in it by equality."""
    for name in ("english", "standard", "french"):
        words = analyzer(name)
        assert [t.text for t in words.terms(text)] == words.engine.analyze(words.prepare(text))
        clauses(Query(question), words)


def test_folding_finds_what_looks_the_same(index: Index) -> None:
    """Case, accents, composition, ligatures and full width do not matter to the search."""
    index.put([one("a", "Cafe\u0301 Beyoncé office ＦＵＬＬ Straße Łódź"), one("b", "something else")])
    for question in ("café", "CAFE", "beyonce", "oﬃce", "full", "strasse", "lodz", "caf\u00e9"):
        assert ids(index, question) == ["a"], question


def test_scripts_without_spaces_are_found_by_neighbours(index: Index) -> None:
    """Chinese, Japanese and Thai are found by pairs of characters, not by any shared character."""
    index.put(
        [one("a", "東京タワーは日本の塔です。"), one("b", "京東はちがう。"), one("c", "ประเทศไทยสวยงาม")]
    )
    assert ids(index, "東京")[0] == "a"
    assert ids(index, "東京") == ["a"]
    assert ids(index, "ไทย") == ["c"]
    assert ids(index, "塔") == ["a"]
    assert [tuple(t.text for t in g) for g in groups(analyzer("english").terms("Tokyo 東京都 x"))] == [
        ("東", "京"), ("京", "都"), ("tokyo",), ("x",)
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_analyzer_finds_its_own_words(make_index, name: str) -> None:  # type: ignore[no-untyped-def]
    """Each row of the table builds an index in which a document's words find it, accents or none."""
    index = make_index(name, analyzer=name)
    index.put([one("a", "Zürich naïve café 1529 Quellen"), one("b", "other things")])
    assert ids(index, "zurich 1529") == ["a"]
    assert ids(index, "Zürich Quellen") == ["a"]


def test_languages_stem_and_stop() -> None:
    """A language's row uses its stemmer and stop list, before accents are folded."""
    assert [t for t, _ in terms("german", "die Häuser und das Haus")] == ["haus", "haus"]
    assert [t for t, _ in terms("french", "les chevaux et la maison")] == ["cheval", "maison"]
    assert [t for t, _ in terms("russian", "красивые дома")] == ["красив", "дом"]


def test_phrases_cross_stop_words(index: Index) -> None:
    """A phrase keeps the distance of a dropped stop word: tower of London, not tower London."""
    index.put([one("a", "the tower of london"), one("b", "tower london"), one("c", "london and a tower")])
    query = Query("x", phrases=(Phrase("Tower of London"),))
    assert ids(index, query) == ["a"]
    assert set(ids(index, Query("x", phrases=(Phrase("the tower"), Phrase("?!"))))) == {"a", "b", "c"}


def test_weights_count(index: Index) -> None:
    """Terms and phrases count by their weight; 0 is nothing; what is no weight is refused."""
    index.put([one("a", "apple pie"), one("b", "banana split")])
    assert ids(index, Query("apple", terms=(Term("banana", 5.0),))) == ["b", "a"]
    assert ids(index, Query("apple", terms=(Term("banana", 0.1),))) == ["a", "b"]
    assert ids(index, Query("apple", terms=(Term("banana", 0.0),))) == ["a"]
    assert ids(index, Query("x", phrases=(Phrase("banana split", 3.0), Phrase("apple pie", 1.0)))) == [
        "b",
        "a",
    ]
    for weight in (math.nan, math.inf, -1.0):
        with pytest.raises(InputError, match="The weight of 'banana'"):
            ids(index, Query("apple", terms=(Term("banana", weight),)))


def test_search_replaces_the_words(index: Index) -> None:
    """Where an expander left a search text, the question's own words are not searched."""
    index.put([one("a", "apple"), one("b", "banana")])
    assert ids(index, Query("apple", search="banana")) == ["b"]


def test_titles_count(index: Index) -> None:
    """A word of the title finds every passage of its document, and counts a little more than one of the text."""
    index.put([one("a", "It is red.", title="Vienna"), one("b", "It is Vienna.", title="Red")])
    assert set(ids(index, "vienna")) == {"a", "b"}
    assert ids(index, "vienna")[0] == "a"


def test_neighbours_in_the_question_count(index: Index) -> None:
    """Of two texts with the same words, the one in which they stand as in the question is better."""
    index.put([one("a", "house white the saw dog"), one("b", "dog saw the white house")])
    assert ids(index, "Who saw the white house?") == ["b", "a"]


def test_a_huge_question_is_answered(index: Index) -> None:
    """Ten thousand different words are cut to what the engine can do, and still find."""
    index.put([one("a", "word17 here"), one("b", "nothing")])
    assert ids(index, " ".join(f"word{i}" for i in range(10_000))) == ["a"]


def test_equal_words_are_one_clause() -> None:
    """A word that is asked twice is one clause with both weights."""
    found = {
        (c.field, c.terms): c.weight
        for c in clauses(Query("rome and rome", terms=(Term("Rome", 0.5),)), analyzer("english"))
    }
    assert found["text", ("rome",)] == 2.5
