"""From an offset in the stored text to a place in the original."""

from bisect import bisect_right
from operator import attrgetter

from quoth.errors import InputError
from quoth.types import Document, Place


def locate(document: Document, offset: int) -> Place:
    """Return where ``document.text[offset]`` stood in the original.

    The document's segments say it: page, line and character as they count there. Without
    segments the text is its own original: the character is the offset. Lines are counted as
    editors do: LF, CR LF and CR end a line, form feed and U+2028 do not. An offset between two
    segments is placed at the end of the first. Raise ``InputError`` for an offset outside the text.
    """
    text, segments = document.text, document.segments
    if not 0 <= offset <= len(text):
        raise InputError(
            f"Offset {offset} is outside the text of {document.id!r}, which ends at {len(text)}."
        )
    if not segments:
        return Place(None, 1 + _line_breaks(text, 0, offset), offset)
    index = bisect_right(segments, offset, key=attrgetter("start")) - 1
    segment = segments[max(index, 0)]
    if not segment.exact:
        return Place(segment.page, segment.line, segment.original, segment.label)
    inside = min(max(offset, segment.start), segment.end)
    line = None if segment.line is None else segment.line + _line_breaks(text, segment.start, inside)
    return Place(segment.page, line, segment.original + inside - segment.start, segment.label)


def _line_breaks(text: str, start: int, end: int) -> int:
    feeds = text.count("\n", start, end)
    returns = text.count("\r", start, end)
    if returns == 0:
        return feeds
    inside = text[end - 1 : end + 1] == "\r\n" and end > start  # its line ends behind the LF
    return feeds + returns - text.count("\r\n", start, end) - inside
