"""Plain text and Markdown: stored as they are, to the last space."""

import re
from collections.abc import Iterator, Sequence

from quoth.documents._dates import iso_date
from quoth.documents._decode import decode
from quoth.documents._extract import Extracted, Job
from quoth.types import Segment

_LONGEST_TITLE = 100
_HEAD = 20_000
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+([^\r\n]{1,300})", re.M)
_UNDERLINED = re.compile(r"^(?=\S)([^\r\n]{1,200})\r?\n(?:=+|-{2,})[ \t]*\r?$", re.M)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\r\n]*)", re.M)
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.{0,20000}?)^(?:---|\.\.\.)[ \t]*\r?$", re.M | re.S)
_FRONT_LINE = re.compile(r"^(title|author|date):([^\r\n]{1,300})", re.M | re.I)
_LINE_END = re.compile(r"\r\n|\r|\n")


def extract_text(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the whole text as it is; a short first line that stands alone is its title."""
    decoded = decode(data, job.encoding)
    text = decoded.text
    segments = (Segment(0, len(text), line=1),) if text else ()
    return [Extracted(text, title=_first_line(text), segments=segments, notes=decoded.notes)]


def extract_markdown(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the source as it is, with a segment for each section; the first heading is the title."""
    decoded = decode(data, job.encoding)
    text = decoded.text
    headings = list(_headings(text))
    metadata = _front_matter(text)
    title = metadata.pop("title", "") or (headings[0][1] if headings else "")
    return [
        Extracted(
            text,
            title=title[:_LONGEST_TITLE],
            metadata=metadata,
            segments=tuple(_sections(text, headings)),
            notes=decoded.notes,
        )
    ]


def _first_line(text: str) -> str:
    lines = text[:_HEAD].lstrip("\ufeff").lstrip().splitlines()
    if len(lines) < 2 or (lines[1].strip() and set(lines[1].strip()) - set("=-~*_")):
        return ""
    line = lines[0].strip()
    good = len(line) <= _LONGEST_TITLE and any(c.isalpha() for c in line) and line[-1] not in ".,;:!?"
    return line if good else ""


def _headings(text: str) -> Iterator[tuple[int, str]]:
    """Yield (start, words) of every heading that is in no code block, in order."""
    found = [(m.start(), m[1].rstrip("# \t").strip()) for m in _HEADING.finditer(text)]
    found += [(m.start(), m[1].strip()) for m in _UNDERLINED.finditer(text)]
    front = _FRONT.match(text)
    blocks = [(0, front.end())] if front else []
    opened: tuple[int, str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence.start(), fence[1]
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            blocks.append((opened[0], fence.end()))
            opened = None
    if opened is not None:
        blocks.append((opened[0], len(text)))
    index = 0
    for start, words in sorted(found):
        while index < len(blocks) and blocks[index][1] <= start:
            index += 1
        if words and not (index < len(blocks) and blocks[index][0] <= start):
            yield start, words


def _sections(text: str, headings: Sequence[tuple[int, str]]) -> Iterator[Segment]:
    """Yield contiguous segments that cover *text*, each with its first line and its heading."""
    starts = [(0, "")] if not headings or headings[0][0] > 0 else []
    marks = [*starts, *headings]
    line = 1
    for index, (start, label) in enumerate(marks):
        end = marks[index + 1][0] if index + 1 < len(marks) else len(text)
        if end > start:
            yield Segment(start, end, line=line, original=start, label=label[:_LONGEST_TITLE])
            line += sum(1 for _ in _LINE_END.finditer(text, start, end))


def _front_matter(text: str) -> dict[str, str]:
    """Return the title, author and date of a block between ``---`` lines at the top."""
    block = _FRONT.match(text)
    if block is None:
        return {}
    found = {m[1].lower(): m[2].strip(" \t\"'") for m in _FRONT_LINE.finditer(block[1])}
    if "date" in found:
        found["date"] = iso_date(found["date"])
    return {key: value for key, value in found.items() if value}
