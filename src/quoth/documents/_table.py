"""CSV and TSV to text: a line for every row, with the names of its columns."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from quoth.documents._decode import decode
from quoth.documents._extract import Extracted, Job, Writer, corrupt
from quoth.documents._rows import header_of, line_of

_DELIMITERS = ",;\t|"
_PREVIEW = 20
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LONGEST_CELL = 1 << 28


def extract(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the rows of a table: each a paragraph, ``line`` the line that it begins at."""
    decoded = decode(data, job.encoding)
    writer = Writer(job.limit)
    paragraphs: list[tuple[int, int]] = []
    csv.field_size_limit(_LONGEST_CELL)  # of this process, which is a child
    rows = _rows(decoded.text, _delimiter(decoded.text, job.name))
    try:
        first = list(islice(rows, _PREVIEW))
        header = header_of([cells for _, cells in first])
        for number, (line, cells) in enumerate(chain(first[1:] if header else first, rows), 1):
            text = line_of(cells, header)
            if not text:
                continue
            if writer.length:
                writer.gap("\n\n")
            paragraphs.append(writer.add(text, line=line, label=f"row {number}"))
    except csv.Error as problem:
        raise corrupt(f"It is no table: {problem}.") from problem
    return [
        Extracted(
            writer.text(),
            segments=tuple(writer.segments),
            paragraphs=tuple(paragraphs),
            notes=decoded.notes,
        )
    ]


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line of its start, cells) for every row."""
    reader = csv.reader(_lines(text), delimiter=delimiter)
    line = 1
    for cells in reader:
        if any(cells):
            yield line, cells
        line = reader.line_num + 1


def _lines(text: str) -> Iterator[str]:
    """Yield the lines with their ends: without the copy, four times as large, that a StringIO makes."""
    return (match[0] for match in _LINE.finditer(text))


def _delimiter(text: str, name: str) -> str:
    """Return the sign between cells: the one that every one of the first lines has most of."""
    if name.lower().endswith(".tsv"):
        return "\t"
    head = text[: 1 << 16]
    best, most = ",", 0
    for sign in _DELIMITERS:
        try:
            rows = list(islice(csv.reader(_lines(head), delimiter=sign), _PREVIEW))
        except csv.Error:
            continue
        widths = [len(row) for row in rows[:-1] or rows if row]
        cells = min(widths, default=0)
        if cells > 1 and cells * 100 + (len(set(widths)) == 1) > most:
            best, most = sign, cells * 100 + (len(set(widths)) == 1)
    return best
