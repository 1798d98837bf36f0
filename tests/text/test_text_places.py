"""Places in the original."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.text import locate
from quoth.types import Document, Place, Segment


@given(st.text(alphabet="ab\r\n\u2028\f", max_size=60), st.data())
def test_lines_are_counted_as_editors_do(text: str, data: st.DataObject) -> None:
    """Without segments the line is 1 more than the LF, CR LF and CR before, and the character is the offset."""
    offset = data.draw(st.integers(0, len(text)))
    before = text[:offset]
    if before.endswith("\r") and text[offset : offset + 1] == "\n":
        before = before[:-1]
    breaks = before.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    assert locate(Document("d", text), offset) == Place(None, 1 + breaks, offset)


def test_segments_say_page_line_and_character() -> None:
    """An exact segment is linear; another gives its own place; a gap belongs to what precedes it."""
    text = "page one\nmore\n\npage two\n\ncell"
    document = Document(
        "d",
        text,
        segments=(
            Segment(0, 13, page=1, line=3, original=100),
            Segment(15, 23, page=2, original=7),
            Segment(25, 29, line=9, original=40, label="B2", exact=False),
        ),
    )
    assert locate(document, 0) == Place(1, 3, 100)
    assert locate(document, 10) == Place(1, 4, 110)
    assert locate(document, 14) == Place(1, 4, 113)
    assert locate(document, 20) == Place(2, None, 12)
    assert locate(document, 27) == Place(None, 9, 40, "B2")
    assert locate(document, 29) == Place(None, 9, 40, "B2")


def test_offset_before_the_first_segment_is_at_its_start() -> None:
    """Text that stands before all segments is placed where the first begins."""
    document = Document("d", "xxabc", segments=(Segment(2, 5, page=4, original=9),))
    assert locate(document, 0) == Place(4, None, 9)


@pytest.mark.parametrize("offset", [-1, 4])
def test_offset_outside_is_refused(offset: int) -> None:
    """An offset outside the text is an error that names both numbers."""
    with pytest.raises(InputError, match=rf"{offset} is outside.*3"):
        locate(Document("d", "abc"), offset)


def test_many_segments_are_searched_by_halving() -> None:
    """Ten thousand look-ups among a hundred thousand segments take less than two seconds."""
    import time

    segments = tuple(Segment(i * 10, i * 10 + 9, page=i + 1) for i in range(100_000))
    document = Document("d", "x" * 1_000_000, segments=segments)
    begun = time.perf_counter()
    assert all(locate(document, i * 100).page == i * 10 + 1 for i in range(10_000))
    assert time.perf_counter() - begun < 2
