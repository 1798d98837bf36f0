"""Conditions on metadata: exact, all of them, and at no cost in results."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_fixtures import one

from quoth.errors import InputError
from quoth.retrieve.store import Index
from quoth.types import Document, Filter, Query, Source

OPERATORS = {":": str.__eq__, ">=": str.__ge__, "<=": str.__le__, ">": str.__gt__, "<": str.__lt__}


def found(index: Index, *filters: Filter, k: int = 100) -> list[str]:
    return sorted(s.item.document_id for s in index.retrieve(Query("apple", filters=filters), k=k))


@pytest.fixture
def shelf(index: Index) -> Index:
    """Return an index of a few dated documents in folders."""
    index.put(
        [
            one("a", "apple one", path="contracts/2024/a.txt", date="2024-05-01", author="Ann Lee"),
            one("b", "apple two", path="contracts/b.txt", date="2023-12-31", author="Bo"),
            one("c", "apple three", path="contracts-old/c.txt", date="2024", author="ann lee"),
            one("d", "apple four", path="../shared/d.txt", title="Titled"),
            one("e", "pear", path="contracts/e.txt", author="Bo"),
        ]
    )
    return index


def test_conditions_are_exact(shelf: Index) -> None:
    """Equality, order as text, folders as path prefixes; several conditions must all hold."""
    assert found(shelf, Filter("author", ":", "Bo")) == ["b"]
    assert found(shelf, Filter("author", ":", "Ann Lee")) == ["a"]
    assert found(shelf, Filter("author", ":", "Ann")) == []
    assert found(shelf, Filter("date", ">=", "2024")) == ["a", "c"]
    assert found(shelf, Filter("date", ">", "2024")) == ["a"]
    assert found(shelf, Filter("date", "<", "2024")) == ["b"]
    assert found(shelf, Filter("date", "<=", "2024")) == ["b", "c"]
    assert found(shelf, Filter("date", ">=", "2024"), Filter("author", ":", "ann lee")) == ["c"]
    assert found(shelf, Filter("nothing", ":", "x")) == []
    assert found(shelf, Filter("nothing", ">", "")) == []


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("contracts", ["a", "b"]), ("contracts/", ["a", "b"]), ("./contracts", ["a", "b"]),
        ("contracts/2024", ["a"]), ("contract", []), ("contracts/b.txt", ["b"]), ("..", ["d"]),
        ("../shared", ["d"]), (".", ["a", "b", "c", "d"]), ("2024", []),
    ],
)  # fmt: skip
def test_folder_is_a_path_prefix(shelf: Index, folder: str, expected: list[str]) -> None:
    """A folder holds what is below it, whole names only."""
    assert found(shelf, Filter("folder", ":", folder)) == expected


def test_id_title_and_path_can_be_asked_for(shelf: Index) -> None:
    """A document's own id, title and path are conditions, too."""
    assert found(shelf, Filter("title", ":", "Titled")) == ["d"]
    assert found(shelf, Filter("id", ":", "b")) == ["b"]
    assert found(shelf, Filter("path", ":", "contracts/b.txt")) == ["b"]


def test_conditions_that_mean_nothing_are_refused(shelf: Index) -> None:
    """A folder has no order, and a condition has a key."""
    with pytest.raises(InputError, match="folder is a path prefix"):
        found(shelf, Filter("folder", ">=", "a"))
    with pytest.raises(InputError, match="has no key"):
        found(shelf, Filter("", ":", "a"))


def test_scores_do_not_depend_on_conditions(shelf: Index) -> None:
    """A condition chooses, and never changes a score."""
    free = {s.item.document_id: s.score for s in shelf.retrieve(Query("apple one"), k=9)}
    kept = shelf.retrieve(Query("apple one", filters=(Filter("author", ":", "Bo"),)), k=9)
    assert [(s.item.document_id, s.score) for s in kept] == [("b", free["b"])]


def test_a_rare_condition_still_fills_k(index: Index) -> None:
    """The worst three of 3,000 matches are found when they are what the condition leaves."""
    rows = [
        one(f"d{i:04}", "apple " * (1 + i % 7) + "x " * (i % 50), kind="rare" if i % 1000 == 999 else "no")
        for i in range(3000)
    ]
    index.put(rows)
    assert found(index, Filter("kind", ":", "rare"), k=3) == ["d0999", "d1999", "d2999"]


def test_conditions_follow_changes(index: Index) -> None:
    """After metadata change, the old value finds nothing."""
    index.put([one("a", "apple", kind="old")])
    index.put([one("a", "apple", kind="new")])
    assert (found(index, Filter("kind", ":", "old")), found(index, Filter("kind", ":", "new"))) == ([], ["a"])


def test_long_and_odd_values_are_exact(index: Index) -> None:
    """Values longer than an engine's term, and with its separator, compare whole."""
    long = "x" * 70_000
    index.put(
        [one("a", "apple", v=long + "a"), one("b", "apple", v=long + "b"), one("c", "apple", v="\x1fy\nz")]
    )
    assert found(index, Filter("v", ":", long + "a")) == ["a"]
    assert found(index, Filter("v", ":", long)) == []
    assert found(index, Filter("v", ">", long + "a")) == ["b"]
    assert found(index, Filter("v", "<=", long + "a")) == ["a", "c"]
    assert found(index, Filter("v", ":", "\x1fy\nz")) == ["c"]


value = st.text(alphabet="aZ09é\U0001f600\ue000 ", max_size=3)


@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(value, min_size=1, max_size=8), bound=value, comparison=st.sampled_from(sorted(OPERATORS))
)
def test_comparisons_are_those_of_text(tmp_path_factory, values, bound, comparison) -> None:  # type: ignore[no-untyped-def]
    """Every comparison selects exactly what comparing code points selects."""
    with Index.create(tmp_path_factory.mktemp("i") / ".quoth") as index:
        index.put(
            [
                (Source(f"{i}", "s"), [Document(f"{i}", "apple", metadata={"v": v})])
                for i, v in enumerate(values)
            ]
        )
        expected = sorted(f"{i}" for i, v in enumerate(values) if OPERATORS[comparison](v, bound))
        assert found(index, Filter("v", comparison, bound)) == expected  # type: ignore[arg-type]
