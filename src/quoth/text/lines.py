"""The structure that plain text shows: blocks between blank lines, and lines that stand alone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from quoth.text.words import STOP_WORDS

LINE_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Every character that ``str.splitlines`` breaks at; CR LF counts as one break."""

_BREAK = re.compile(rf"\r\n|[{LINE_BREAKS}]")
_LIST = re.compile(
    r"(?:[-*+•‣◦▪●○·–]|\(?\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3}){1,5}\.?|\([A-Za-z]\)|[A-Za-z]\)|[a-z]\."
    r"|\(?[ivx]{1,5}[.)]|[①-⑳]|第[0-9一二三四五六七八九十百]{1,4}[条章節节])[ \t\u00a0\u3000]+(?=\S)"
)
_ATX = re.compile(r"#{1,6}[ \t]+\S")
_UNDERLINE = re.compile(r"(?:={2,}|-{2,}|~{2,})\s*\Z")
_NAMED = re.compile(
    r"(?:chapter|section|part|article|appendix|annex|schedule|figure|table|kapitel|abschnitt|chapitre)\b",
    re.I,
)
_ROW = re.compile(r"\||[^|]*\|[^|]*\||[^\t]*\S\t+\S")
_NOT_HEADING_END = tuple(".!?,;。！？、，；…")

_LONGEST_HEADING = 100
_MOST_HEADING_WORDS = 14
_LONG_LINE = 160
_NARROW = 40


@dataclass(frozen=True, slots=True)
class Block:
    """A run of lines without a blank one, from its first to behind its last visible character.

    ``heading`` says that it introduces what follows (a heading, or a text that ends in a colon).
    """

    start: int
    end: int
    heading: bool


def lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span of every line of ``text[start:end]``, without its break."""
    position = start
    for match in _BREAK.finditer(text, start, end):
        yield position, match.start()
        position = match.end()
    if position < end:
        yield position, end


def strip(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without the white space at its ends; it is empty where there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of *text*: they are cut at blank lines, U+2029, and form feeds.

    A form feed between pages does not cut where the text plainly runs on: no full stop
    before it, and a lower-case letter behind it.
    """
    first = last = -1
    previous = 0
    for begin, finish in lines(text, 0, len(text)):
        start, end = strip(text, begin, finish)
        if first >= 0 and (start == end or _parts(text, last, previous, begin, start)):
            yield Block(first, last, _introduces(text, first, last))
            first = -1
        if start < end:
            first, last = (start if first < 0 else first), end
        previous = finish
    if first >= 0:
        yield Block(first, last, _introduces(text, first, last))


def _parts(text: str, last: int, previous: int, begin: int, start: int) -> bool:
    """Say whether the break before the line at *begin* ends a paragraph by itself."""
    mark = text[previous:begin]
    if mark == "\u2029":
        return True
    return mark == "\f" and not (text[start].islower() and text[last - 1] not in ".!?:")


def _introduces(text: str, start: int, end: int) -> bool:
    if end - start > _LONGEST_HEADING:
        return text[end - 1] in ":："
    body = text[start:end]
    rows = body.splitlines()
    if len(rows) == 2 and _UNDERLINE.fullmatch(rows[1].strip()):
        return True
    return len(rows) == 1 and (is_heading(body) or body[-1] in ":：" or _short(body))


def _short(line: str) -> bool:
    return (
        not line.endswith(_NOT_HEADING_END)
        and len(line.split()) <= _MOST_HEADING_WORDS
        and not _ROW.match(line)
        and any(c.isalpha() for c in line)
    )


def is_heading(line: str) -> bool:
    """Say whether a line is a heading by its own mark: ``## Scope``, ``2.1 Scope``, ``Chapter 2``."""
    if _ATX.match(line):
        return True
    if len(line) > _LONGEST_HEADING or line.endswith(_NOT_HEADING_END):
        return False
    if _NAMED.match(line):
        return len(line.split()) <= 8
    return bool(_LIST.match(line)) and line[0].isdigit() and "." in line.split()[0][1:-1]


def marker(text: str, start: int, end: int) -> int:
    """Return the length of the list marker (``- ``, ``2) ``, ``3.1 ``) at *start*; 0 without one."""
    match = _LIST.match(text, start, min(end, start + 40))
    return match.end() - start if match else 0


def units(text: str, block: Block) -> Iterator[tuple[int, int, bool]]:
    """Yield the spans of a block that no sentence crosses: items, headings, rows, hard-broken lines.

    The third value says that the unit is a table row. Lines of running text that were wrapped
    are joined. A line break counts as hard where the line is much shorter than the block is
    wide, where all lines are narrow and begin with capitals, or where lines are so
    long that nobody wrapped them; never before a lower-case letter, nor behind
    a comma, a dash or a stop word.
    """
    if not _BREAK.search(text, block.start, block.end):
        yield block.start, block.end, bool(_ROW.match(text, block.start, min(block.end, block.start + 400)))
        return
    rows = [strip(text, a, b) for a, b in lines(text, block.start, block.end)]
    rows = [row for row in rows if row[0] < row[1]]
    width = max(b - a for a, b in rows)
    capitals = not any(text[a].islower() for a, _ in rows)
    start, end = rows[0]
    alone = row = False
    for index, (a, b) in enumerate(rows):
        head = text[a : min(b, a + 400)]
        new_row = bool(_ROW.match(head))
        new_alone = new_row or is_heading(text[a:b] if b - a <= _LONGEST_HEADING else head)
        if index and not _UNDERLINE.fullmatch(head):
            opens = alone or new_alone or bool(_LIST.match(head))
            if opens or _hard(text, (start, end, rows[index - 1][0]), (a, b), width, capitals):
                yield start, end, row
                start = a
        end = b
        alone, row = new_alone, new_row
    yield start, end, row


def _hard(
    text: str, before: tuple[int, int, int], after: tuple[int, int], width: int, capitals: bool
) -> bool:
    _, end, start = before
    first = text[after[0]]
    if first.islower() or _runs_on(text, end):
        return False
    length = end - start
    if length > _LONG_LINE or after[1] - after[0] > _LONG_LINE or length < 0.6 * width:
        return True
    if width >= _NARROW or not (first.isupper() or first.isdigit()):
        return False
    word = len(text[after[0] : min(after[1], after[0] + _NARROW)].split()[0])
    return capitals or length + 1 + word <= width


def _runs_on(text: str, end: int) -> bool:
    """Say whether a line that ends here cannot be the end of anything: a comma, a dash, "the", "of"."""
    return text[end - 1] in ",-–—&(" or text[max(0, end - 8) : end].split()[-1] in STOP_WORDS
