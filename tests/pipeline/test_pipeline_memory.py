"""Texts at hand, without an index."""

from quoth.retrieve.memory import MemoryRetriever
from quoth.testing import check_retriever
from quoth.types import Document, Filter, Query

DOCUMENTS = [
    Document(
        "a",
        "The rent is due on Monday.\n\nThe cat sleeps.",
        metadata={"folder": "home/rent", "date": "2024-05-01"},
    ),
    Document("b", "The dog sleeps on Monday.", metadata={"folder": "home", "date": "2023-01-01"}),
]


def test_memory_keeps_the_contract() -> None:
    """Texts at hand are found as an index finds them: best first, filtered, sliced exactly."""
    check_retriever(
        MemoryRetriever(DOCUMENTS),
        [
            Query("When is the rent due?"),
            Query("the"),
            Query("zebra"),
            Query("Monday", filters=(Filter("folder", ":", "home"),)),
            Query("Monday", filters=(Filter("date", ">=", "2024"),)),
        ],
    )


def test_memory_filters_narrow() -> None:
    """A folder is a prefix, a date compares as text, and a missing key never matches."""
    retriever = MemoryRetriever(DOCUMENTS)

    def ids(*filters: Filter) -> set[str]:
        return {hit.item.document_id for hit in retriever.retrieve(Query("Monday", filters=filters), k=9)}

    assert ids(Filter("folder", ":", "home")) == {"a", "b"}
    assert ids(Filter("folder", ":", "home/rent")) == {"a"}
    assert ids(Filter("date", "<", "2024")) == {"b"}
    assert ids(Filter("author", ":", "x")) == set()
