"""Filters print as they are written, and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.retrieve.where import parse_where
from quoth.types import Filter

KEYS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
VALUES = st.text(
    st.characters(categories=["L", "N", "P", "Zs"], exclude_characters='"'), min_size=1, max_size=12
)


@given(st.lists(st.builds(Filter, KEYS, st.sampled_from([":", ">=", "<=", ">", "<"]), VALUES), max_size=4))
def test_what_is_written_reads_back(filters: list[Filter]) -> None:
    """Any conditions, printed with spaces between, are read as the same conditions."""
    written = " ".join(f'{f.key}{f.comparison}"{f.value}"' for f in filters)
    assert list(parse_where(written)) == filters


def test_the_documented_example() -> None:
    """The example of the help text means what it says."""
    assert parse_where('folder:contracts date>=2024 author:"A. Smith"') == (
        Filter("folder", ":", "contracts"),
        Filter("date", ">=", "2024"),
        Filter("author", ":", "A. Smith"),
    )


@pytest.mark.parametrize("text", ["contracts", "date>=", ":x", 'a:"open', "a:b c"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    """Anything else is one clear error, never a guess."""
    with pytest.raises(InputError, match="not a condition"):
        parse_where(text)
