"""Addresses, names, filters and questions: what is pure in this room."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.retrieve.opensearch import Address
from quoth.retrieve.opensearch.bulk import CHUNK_ROWS, chunks
from quoth.retrieve.opensearch.layout import (
    FACT_CHARACTERS,
    LANGUAGES,
    document_from,
    document_row,
    fact,
    facts_of,
    pack,
    passage_rows,
    settings,
    source_from,
    source_row,
    unpack,
)
from quoth.retrieve.opensearch.queries import Plan, clauses, condition
from quoth.retrieve.opensearch.question import MOST_WORDS, clean, neighbours, only_stop_words, without_asking
from quoth.text import STOP_WORDS
from quoth.types import Document, Filter, Phrase, Query, Segment, Source, Term

PLAN = Plan("words", "title", 0.1, english=True, bare="words")
ANYTHING = st.text(st.characters(), max_size=40)


def test_an_address_is_read_and_written() -> None:
    """Hosts, ports, login and options are told apart; what is printed has no login in it."""
    address = Address.parse(
        "opensearch://ann:p%40ss@one:9201,[::1],three/docs?tls=1&verify=0&partial=1", environment={}
    )
    assert address.hosts == (("one", 9201), ("::1", 9200), ("three", 9200))
    assert (address.index, address.user, address.password) == ("docs", "ann", "p@ss")
    assert (address.tls, address.verify, address.partial) == (True, False, True)
    assert str(address) == "opensearch://one:9201,[::1]:9200,three:9200/docs?tls=1&verify=0&partial=1"
    assert "p@ss" not in repr(address)


def test_an_address_maps_the_fields_of_an_existing_index() -> None:
    """text, title, id, source and meta.KEY are fields."""
    address = Address.parse("opensearch://h/x?text=body&title=head.line&meta.date=published", environment={})
    assert address.fields == {"text": "body", "title": "head.line", "meta.date": "published"}
    assert Address.parse(str(address), environment={}) == address


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://h/x", "not an OpenSearch address"),
        ("opensearch://h", "names the index ''"),
        ("opensearch://h/Upper", "names the index 'Upper'"),
        ("opensearch://h/a*", "names the index"),
        ("opensearch://h/a,b", "names the index"),
        ("opensearch://h/../x", "names the index"),
        ("opensearch:///x", "no host"),
        ("opensearch://h:0/x", "no host and port"),
        ("opensearch://h:99999/x", "no host and port"),
        ("opensearch://h:port/x", "no host and port"),
        ("opensearch://h, i/x", "no host and port"),
        ("opensearch://h/x?tsl=1", "option 'tsl'"),
        ("opensearch://h/x?tls=perhaps", "must be 1 or 0"),
        ("opensearch://h/x?title=head", "not the text"),
        ("opensearch://h/x?ca=/no/such/file.pem", "does not exist"),
        ("opensearch://ann:secret@h/X", "opensearch://h/X"),
    ],
)
def test_a_wrong_address_says_what_is_wrong(url: str, words: str) -> None:
    """Every mistake in an address is an InputError that names it, and never shows the login."""
    with pytest.raises(InputError) as caught:
        Address.parse(url, environment={})
    assert words in caught.value.message
    assert "secret" not in str(caught.value)


def test_a_login_in_the_address_goes_before_the_environment(tmp_path: Path) -> None:
    """What is nearest counts; a file of authorities comes from either."""
    authority = tmp_path / "ca.pem"
    authority.write_text("x")
    variables = {"QUOTH_OPENSEARCH_API_KEY": "key", "QUOTH_OPENSEARCH_CA": str(authority)}
    address = Address.parse("opensearch://ann:pw@h/x", environment=variables)
    assert (address.user, address.api_key, address.ca) == ("ann", "", str(authority))
    assert Address.parse("opensearch://h/x", environment=variables).headers == {"authorization": "ApiKey key"}


@given(ANYTHING)
def test_any_name_can_be_packed_and_unpacked(name: str) -> None:
    """File names are bytes; what is no character comes back as it was."""
    json.dumps(pack(name)).encode("utf-8")
    pack(name).encode("utf-8")
    assert unpack(pack(name)) == name


@given(ANYTHING, ANYTHING)
def test_packing_keeps_names_apart(one: str, other: str) -> None:
    """Two names never become one."""
    assert (pack(one) == pack(other)) == (one == other)


@given(
    st.builds(
        Document,
        id=ANYTHING,
        text=st.text(max_size=60),
        title=ANYTHING,
        source=ANYTHING,
        sha256=st.just("0" * 64),
        metadata=st.dictionaries(ANYTHING, ANYTHING, max_size=3),
        segments=st.lists(
            st.builds(
                Segment,
                st.integers(0, 9),
                st.integers(9, 20),
                page=st.none() | st.integers(1, 9),
                label=st.text(),
            ),
            max_size=2,
        ).map(tuple),
        notes=st.lists(ANYTHING, max_size=2).map(tuple),
    )
)
def test_a_document_comes_back_as_it_was(document: Document) -> None:
    """Through the record and through JSON."""
    _, row = document_row(document, "a/b.txt", "mark", passages=2)
    assert document_from(json.loads(json.dumps(row))) == document
    assert document_from(json.loads(json.dumps(row))).metadata == document.metadata


@given(
    st.builds(
        Source,
        path=ANYTHING,
        sha256=st.just("1"),
        state=st.sampled_from(["failed", "empty"]),
        reason=ANYTHING,
    )
)
def test_a_source_comes_back_as_it_was(source: Source) -> None:
    """Through the record and through JSON."""
    assert source_from(json.loads(json.dumps(source_row(source, "mark")[1]))) == source


def test_passages_are_slices_and_ids_are_stable() -> None:
    """The same document under the same mark makes the same records, in order, each a slice."""
    document = Document("d", "One.\n\n" + "Two is longer. " * 80 + "\n\nThree.", title="T")
    rows = list(passage_rows(document, "d.txt", "mark", split="passage"))
    assert rows == list(passage_rows(document, "d.txt", "mark", split="passage"))
    assert len({id for id, _ in rows}) == len(rows) > 1
    assert all(document.text[r["start"] : r["end"]] == r["text"] for _, r in rows)
    (whole,) = passage_rows(document, "d.txt", "mark", split="document")
    assert (whole[1]["start"], whole[1]["end"]) == (0, len(document.text))
    assert not list(passage_rows(Document("e", "  \n"), "e.txt", "mark", split="document"))


def test_facts_are_metadata_names_and_folders() -> None:
    """id, title and path can be filtered by, unless metadata has the name; every folder above counts."""
    found = facts_of(Document("d", "x", title="T", metadata={"title": "Other"}), "a/b/c.txt")
    assert fact("title", "Other") in found
    assert fact("title", "T") not in found
    assert fact("id", "d") in found
    folders = [f.split("\u0001")[1] for f in found if "folder" in f]
    assert folders == ["a", "a/b", "a/b/c.txt"]


def test_long_values_stay_apart() -> None:
    """Two long values that begin alike are different terms, and short enough for the engine."""
    one, other = fact("k", "x" * 5000), fact("k", "x" * 4999)
    assert one != other
    assert len(one.encode()) < FACT_CHARACTERS * 4 + 100


@given(st.text(max_size=20), st.sampled_from([">=", "<=", ">", "<"]), st.text(max_size=20))
def test_ranges_compare_as_text(value: str, comparison: str, bound: str) -> None:
    """A range on the terms holds exactly where the values compare so, code point by code point."""
    bounds = condition(Filter("k", comparison, bound))["range"]["facts"]  # type: ignore[arg-type]  # sampled
    term = fact("k", value).encode()
    within = {
        "gte": lambda b: term >= b.encode(),
        "gt": lambda b: term > b.encode(),
        "lte": lambda b: term <= b.encode(),
        "lt": lambda b: term < b.encode(),
    }
    expected = {">=": value >= bound, "<=": value <= bound, ">": value > bound, "<": value < bound}[
        comparison
    ]
    if "\u0004" not in value + bound:
        assert all(within[name](b) for name, b in bounds.items()) == expected


@pytest.mark.parametrize("comparison", [">=", "<=", ">", "<"])
def test_a_folder_can_only_be_named(comparison: str) -> None:
    """An order of folders means nothing."""
    with pytest.raises(InputError, match="folder is a path prefix"):
        condition(Filter("folder", comparison, "a"))  # type: ignore[arg-type]  # parametrized


def test_words_that_only_ask_are_dropped() -> None:
    """The wh-words of a question are not searched; "Doctor Who" and a question of nothing else are left alone."""
    assert without_asking("What does the eagle eat?") == "the the the eagle eat?"
    assert without_asking("Which actors played Doctor Who?") == "the actors played Doctor Who?"
    assert without_asking("Who is it?") == "Who is it?"
    assert only_stop_words("it is the")
    assert not only_stop_words("it is blue")


def test_neighbours_are_stretches_of_the_question() -> None:
    """Two content words with at most two stop words between them, in the question's own form."""
    found = list(neighbours("the siege of Vienna in the year of the great comet", stop=STOP_WORDS))
    assert found == ["siege of Vienna", "Vienna in the year", "year of the great", "great comet"]
    assert list(neighbours("bora bora", stop=STOP_WORDS)) == []
    assert list(neighbours("今日は", stop=STOP_WORDS)) == []
    assert list(neighbours("one as is if four", stop=STOP_WORDS)) == []


@given(st.text(max_size=3000))
def test_a_question_is_bounded_and_encodable(question: str) -> None:
    """No question makes more clauses than an engine takes, nor bytes that are no UTF-8."""
    body = clauses(Query(question), PLAN)
    json.dumps(body, ensure_ascii=False).encode("utf-8")
    assert len(body["should"]) <= 70


def test_a_question_of_very_many_words_is_cut() -> None:
    """Different words beyond the limit are left out."""
    assert len(clean(" ".join(f"w{i}" for i in range(1000))).split()) == MOST_WORDS


def test_expansions_are_clauses_with_their_weights() -> None:
    """A phrase is a phrase clause, a term a weighted match; weight 0 adds nothing, nonsense is refused."""
    query = Query("birds", phrases=(Phrase("hunger games", 2.0),), terms=(Term("gull", 0.5), Term("x", 0.0)))
    should = clauses(query, PLAN)["should"]
    assert {"match_phrase": {"words": {"query": "hunger games", "boost": 2.0}}} in should
    assert {"match": {"words": {"query": "gull", "boost": 0.5}}} in should
    assert {"match": {"title": {"query": "gull", "boost": 0.05}}} in should
    assert '"x"' not in json.dumps(should)
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="weight"):
            clauses(Query("birds", terms=(Term("gull", weight),)), PLAN)


def test_search_replaces_the_question_where_an_expander_says_so() -> None:
    """query.search is what is searched; a question of stop words keeps them."""
    should = clauses(Query("What about birds?", search="birds"), PLAN)["should"]
    assert should[0] == {"match": {"words": {"query": "birds", "boost": 1.0}}}
    bare = clauses(Query("it is the"), PLAN)["should"]
    assert bare[0]["match"]["words"]["analyzer"] == "words"


def test_stop_words_are_the_same_list_as_everywhere() -> None:
    """The English analyzer drops the 33 words of text.STOP_WORDS from questions, and none from texts."""
    made = settings("english", shards=1)["analysis"]
    assert made["filter"]["quoth_stop"]["stopwords"] == sorted(STOP_WORDS)
    assert len(STOP_WORDS) == 33
    assert "quoth_stop" in made["analyzer"]["question"]["filter"]
    assert "quoth_stop" not in made["analyzer"]["words"]["filter"]


def test_an_unknown_analyzer_lists_those_there_are() -> None:
    """Languages are the engine's own."""
    assert settings(LANGUAGES[0], shards=1)["analysis"]["analyzer"]["words"] == {"type": LANGUAGES[0]}
    with pytest.raises(InputError, match=r"no analyzer 'klingon'.*english, standard, arabic"):
        settings("klingon", shards=1)


@given(st.lists(st.integers(0, 40_000), max_size=30))
def test_chunks_hold_every_row_once_in_order(sizes: list[int]) -> None:
    """No row is lost, none doubled, and no chunk is over the limits unless it is one row."""
    rows = [("i", str(n), {"text": "x" * size}) for n, size in enumerate(sizes)]
    made = list(chunks(rows))
    assert [json.loads(row.split(b"\n")[0])["index"]["_id"] for c in made for row in c] == [
        r[1] for r in rows
    ]
    assert all(0 < len(c) <= CHUNK_ROWS for c in made)


def test_a_lone_surrogate_in_a_text_is_refused_by_name() -> None:
    """The engine cannot hold it; the loaders never make one."""
    rows = [("i", "1", {"document_id": "notes.txt", "text": "\ud800"})]
    with pytest.raises(InputError, match=r"'notes\.txt' holds a lone surrogate"):
        list(chunks(rows))
