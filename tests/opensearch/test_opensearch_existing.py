"""Somebody else's index, read as it is, on a real server."""

import json
import uuid
from collections.abc import Iterator

import pytest

from quoth import text
from quoth.errors import BackendError, InputError
from quoth.retrieve.opensearch import Address, ExistingIndex, Fields, OpenSearchStore, open_index
from quoth.retrieve.opensearch.wire import Wire
from quoth.testing import check_retriever
from quoth.types import Filter, Query, Term

pytestmark = pytest.mark.server

MAPPINGS = {
    "properties": {
        "headline": {"type": "text"},
        "content": {"properties": {"body": {"type": "text", "analyzer": "english"}}},
        "author": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
        "number": {"type": "keyword", "ignore_above": 30},
        "published": {"type": "date"},
        "link": {"type": "keyword", "index": False},
        "remark": {"type": "text"},
        "views": {"type": "integer"},
        "score": {"type": "double"},
        "open": {"type": "boolean"},
        "gone": {"type": "integer", "index": False, "doc_values": False},
    }
}
LONG = (
    "The albatross sleeps on the wing. "
    + "It drifts with the wind for hours. " * 200
    + "Its wingspan is 3.5 metres."
)
ROWS = {
    "1": {
        "headline": "Albatrosses",
        "content": {"body": LONG},
        "author": "Ann Lee",
        "number": "n-1",
        "published": "2024-05-01",
        "link": "https://example.org/1",
        "remark": "Read twice.",
        "views": 12,
        "score": 2.5,
        "open": True,
    },
    "2": {
        "headline": "Penguins",
        "content": {"body": ["Penguins swim.", "No albatross here."]},
        "number": "n-2",
    },
    "3": {"headline": "An albatross without a text", "number": "n-3"},
    "4": {
        "headline": "Dots",
        "content.body": "A penguin with a dotted key.",
        "published": "2020-01-01",
        "number": "n-4",
    },
}


@pytest.fixture
def theirs(server: str) -> Iterator[str]:
    """Give the address of an index that was not made by us."""
    address = f"opensearch://{server}/theirs-{uuid.uuid4().hex[:10]}"
    wire = Wire(Address.parse(address))
    name = wire.address.index
    wire.write("PUT", f"/{name}", {"mappings": MAPPINGS, "settings": {"number_of_shards": 2}})
    lines = [json.dumps(line) for id, row in ROWS.items() for line in ({"index": {"_id": id}}, row)]
    wire.write("POST", f"/{name}/_bulk", "\n".join(lines) + "\n", params={"refresh": "true"})
    yield address
    wire.write("DELETE", f"/{name}")
    wire.close()


FIELDS = "?text=content.body&title=headline&source=link&meta.author=author&meta.date=published"


def test_an_existing_index_keeps_the_contract(theirs: str) -> None:
    """The same contract as every retriever, filters included."""
    queries = [
        Query("What is the wingspan of an albatross?"),
        Query("penguins"),
        Query("albatross", filters=(Filter("author", ":", "Ann Lee"),)),
    ]
    check_retriever(_known_keys(theirs), queries)


def _known_keys(address: str) -> ExistingIndex:
    """Return the index with the key that the contract's impossible filter names mapped, too."""
    fields = Fields.of(Address.parse(address + FIELDS).fields)
    more = Fields(
        fields.text,
        title=fields.title,
        metadata={**fields.metadata, "no-document-has-this-key": "number"},
    )
    return ExistingIndex.connect(address, fields=more)


def test_hits_are_whole_documents_that_can_be_cut(theirs: str) -> None:
    """A hit is its document from 0 to the end; the pieces that it is cut into are slices of it."""
    index = open_index(theirs + FIELDS)
    assert isinstance(index, ExistingIndex)
    (hit, *_) = index.retrieve(Query("wingspan of the albatross"), k=3)
    document = index.document(hit.item.document_id)
    assert (hit.item.document_id, hit.item.start, hit.item.end) == ("1", 0, len(LONG))
    assert hit.item.text == document.text == LONG
    assert (document.title, document.source) == ("Albatrosses", "https://example.org/1")
    assert document.metadata == {"author": "Ann Lee", "date": "2024-05-01"}
    pieces = text.cut(hit.item)
    assert len(pieces) > 1
    assert all(document.text[p.start : p.end] == p.text for p in pieces)


def test_several_values_and_dotted_keys_are_read(theirs: str) -> None:
    """An array is paragraphs; a key with a dot in it is found; a document without the text is never a hit."""
    index = open_index(theirs + FIELDS)
    found = {s.item.document_id: s.item.text for s in index.retrieve(Query("albatross penguin"), k=10)}
    assert found["2"] == "Penguins swim.\n\nNo albatross here."
    assert found["4"] == "A penguin with a dotted key."
    assert "3" not in found


def test_an_id_can_be_a_field(theirs: str) -> None:
    """Documents are then known by it."""
    index = ExistingIndex.connect(theirs, fields=Fields("content.body", id="number"))
    (hit, *_) = index.retrieve(Query("dotted key"), k=1)
    assert hit.item.document_id == "n-4"
    assert index.document("n-4").text == "A penguin with a dotted key."
    with pytest.raises(InputError, match="no document 'n-9'"):
        index.document("n-9")


def test_a_document_without_one_id_is_known_by_its_own(theirs: str, caplog: pytest.LogCaptureFixture) -> None:
    """Several values of the id's field, none, or one too long to be indexed are no id: ``_id`` is, and finds it."""
    index = ExistingIndex.connect(theirs, fields=Fields("content.body", id="number"))
    wire = Wire(Address.parse(theirs))
    rows: list[tuple[str, object]] = [
        ("a1", ["hen", "chick"]),
        ("a2", None),
        ("a3", "x" * 40),
        ("a4", ["one"]),
        ("hen", ["n-1", "hen"]),
    ]
    for id, number in rows:
        body = {"content": {"body": f"A hoatzin, {id}."}, "number": number}
        wire.write("PUT", f"/{wire.address.index}/_doc/{id}", body, params={"refresh": "true"})
    found = [hit.item for hit in index.retrieve(Query("hoatzin"), k=9)]
    assert sorted(p.document_id for p in found) == ["a1", "a2", "a3", "hen", "one"]
    for passage in found:
        assert index.document(passage.document_id).text == passage.text
    assert index.document("n-1").text == LONG
    assert not caplog.records
    with pytest.raises(InputError, match="no document 'chick'"):
        index.document("chick")
    taken = {"content": {"body": "A hoatzin, again."}, "number": "a1"}
    wire.write("PUT", f"/{wire.address.index}/_doc/b1", taken, params={"refresh": "true"})
    found = [hit.item for hit in index.retrieve(Query("hoatzin"), k=9)]
    assert sorted(p.document_id for p in found) == ["a1", "a2", "a3", "hen", "one"]
    assert index.document("a1").text == "A hoatzin, again."
    assert "left out, for its _id 'a1'" in caplog.text


def test_an_id_can_be_a_number(theirs: str) -> None:
    """A document without the number is known by its ``_id``, though that is no number."""
    index = ExistingIndex.connect(theirs, fields=Fields("content.body", id="views"))
    wire = Wire(Address.parse(theirs))
    body = {"content": {"body": "An albatross without a number."}}
    wire.write("PUT", f"/{wire.address.index}/_doc/none", body, params={"refresh": "true"})
    found = {hit.item.document_id: hit.item.text for hit in index.retrieve(Query("albatross"), k=9)}
    assert set(found) == {"12", "2", "none"}
    assert all(index.document(id).text == text for id, text in found.items())
    with pytest.raises(InputError, match="no document 'nothing'"):
        index.document("nothing")


def test_dates_are_compared_as_the_engine_compares_them(theirs: str) -> None:
    """Ranges on a typed field are the engine's own; a key that is not mapped is a mistake."""
    index = open_index(theirs + FIELDS)

    def found(*filters: Filter) -> list[str]:
        return sorted(
            s.item.document_id for s in index.retrieve(Query("albatross penguin", filters=filters), k=9)
        )

    assert found(Filter("date", ">=", "2021")) == ["1"]
    assert found(Filter("date", "<", "2021-01-01")) == ["4"]
    with pytest.raises(InputError, match=r"no field is mapped to 'folder'.*author, date"):
        found(Filter("folder", ":", "a"))


def test_it_is_never_written_to(theirs: str) -> None:
    """The class has no way of writing, and a store refuses the index."""
    assert not {"put", "drop", "set_setting"} & set(dir(ExistingIndex))
    with pytest.raises(Exception, match="not made by quoth"):
        OpenSearchStore.connect(theirs, create=True)
    info = open_index(theirs + FIELDS).info()
    assert (info["documents"], info["read_only"]) == (4, True)


def test_an_alias_over_two_indexes_is_read_as_one(theirs: str, server: str) -> None:
    """What a name stands for is the server's business."""
    wire = Wire(Address.parse(theirs))
    second, alias = wire.address.index + "-b", wire.address.index + "-both"
    wire.write("PUT", f"/{second}", {"mappings": MAPPINGS})
    wire.write(
        "PUT", f"/{second}/_doc/9", {"content": {"body": "Another albatross."}}, params={"refresh": "true"}
    )
    for name in (wire.address.index, second):
        wire.write("PUT", f"/{name}/_alias/{alias}")
    try:
        index = ExistingIndex.connect(f"opensearch://{server}/{alias}{FIELDS}")
        assert {s.item.document_id for s in index.retrieve(Query("albatross"), k=9)} == {"1", "2", "9"}
        assert index.document("9").text == "Another albatross."
    finally:
        wire.write("DELETE", f"/{second}")


TYPED = (
    "?text=content.body&meta.views=views&meta.score=score&meta.date=published&meta.flag=open&meta.gone=gone"
)


@pytest.mark.parametrize(
    ("filter", "field", "hint"),
    [
        (Filter("views", ">=", "abc"), "'views' is of type integer", "such as 10"),
        (Filter("views", ":", "99999999999"), "'views' is of type integer", "such as 10"),
        (Filter("score", "<", "much"), "'score' is of type double", "such as 2.5"),
        (Filter("date", ">=", "notadate"), "'published' is of type date", "such as 2024-05-31"),
        (Filter("flag", ":", "yes"), "'open' is of type boolean", "flag:true or flag:false"),
        (Filter("gone", ">=", "3"), "'gone' cannot be filtered: it is not indexed", "keyword, date, number"),
    ],
)
def test_a_filter_that_the_server_cannot_read_is_the_askers_mistake(
    theirs: str, filter: Filter, field: str, hint: str
) -> None:
    """It is an input error in one line, with the filter and its field; the other filters still work."""
    index = open_index(theirs + TYPED)
    good = Filter("views", ">=", "10")
    with pytest.raises(InputError) as problem:
        index.retrieve(Query("albatross", filters=(good, filter)), k=3)
    assert problem.value.message.startswith(f"{filter}: the field ")
    assert field in problem.value.message
    assert hint in problem.value.hint
    assert "\n" not in str(problem.value)
    (hit,) = index.retrieve(Query("albatross", filters=(good, Filter("flag", ":", "true"))), k=3)
    assert hit.item.document_id == "1"


def test_a_refusal_that_no_filter_is_to_blame_for_stays_the_servers(theirs: str) -> None:
    """Good filters do not turn another refusal into a mistake of the one who asks."""
    index = open_index(theirs + TYPED)
    many = tuple(Term(f"word{number}", 1.0, "test") for number in range(1_100))
    with pytest.raises(BackendError, match="answered 400"):
        index.retrieve(Query("albatross", terms=many, filters=(Filter("views", ">=", "10"),)), k=3)


def test_a_key_on_plain_text_is_refused_only_as_a_filter(theirs: str) -> None:
    """The index can be asked and its metadata read; the hint says which kinds of fields can be filtered."""
    index = open_index(theirs + "?text=content.body&meta.raw=remark&meta.gone=gone")
    assert isinstance(index, ExistingIndex)
    (hit, *_) = index.retrieve(Query("wingspan of the albatross"), k=1)
    assert index.document(hit.item.document_id).metadata == {"raw": "Read twice."}
    assert index.info()["documents"] == 4
    with pytest.raises(InputError, match=r"'remark'.*cannot be compared") as problem:
        index.retrieve(Query("albatross", filters=(Filter("raw", ":", "Read twice."),)), k=1)
    assert (
        "keyword, date, number and boolean fields, and on text with a keyword sub-field" in problem.value.hint
    )
    assert "author, gone, link, number, open, published, score, views" in problem.value.hint
