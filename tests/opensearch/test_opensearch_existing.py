"""Somebody else's index, read as it is, on a real server."""

import json
import uuid
from collections.abc import Iterator

import pytest

from quoth import text
from quoth.errors import InputError
from quoth.retrieve.opensearch import Address, ExistingIndex, Fields, OpenSearchStore, open_index
from quoth.retrieve.opensearch.wire import Wire
from quoth.testing import check_retriever
from quoth.types import Filter, Query

pytestmark = pytest.mark.server

MAPPINGS = {
    "properties": {
        "headline": {"type": "text"},
        "content": {"properties": {"body": {"type": "text", "analyzer": "english"}}},
        "author": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
        "number": {"type": "keyword"},
        "published": {"type": "date"},
        "link": {"type": "keyword", "index": False},
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
