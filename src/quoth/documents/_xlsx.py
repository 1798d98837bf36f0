"""XLSX to text: a line for every row, with the names of its columns."""

import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import chain, islice
from typing import Any

from quoth.documents._dates import office_date
from quoth.documents._extract import Extracted, Job, Writer, corrupt
from quoth.documents._rows import header_of, line_of
from quoth.documents._zip import open_checked

_PREVIEW = 3


def extract(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the text of a workbook: each row a paragraph, ``page`` the sheet, ``line`` the row.

    Values are those that were last computed; a date is written ``2024-05-01``, a share as ``19%``.
    """
    open_checked(data, job.limit).close()
    writer = Writer(job.limit)
    paragraphs: list[tuple[int, int]] = []
    book = _open(data)
    try:
        for number, sheet in enumerate(book.worksheets, 1):
            for row, text in _lines(sheet):
                if writer.length:
                    writer.gap("\n\n")
                paragraphs.append(writer.add(text, page=number, line=row, label=sheet.title))
        properties = book.properties
        metadata = {
            "author": (properties.creator or "").strip(),
            "date": office_date(properties),
        }
        title = (properties.title or "").strip()
    finally:
        book.close()
    if metadata["author"] == "openpyxl":  # the library's own mark, nobody's name
        metadata["author"] = ""
    return [
        Extracted(
            writer.text(),
            title=title,
            metadata={key: value for key, value in metadata.items() if value},
            segments=tuple(writer.segments),
            paragraphs=tuple(paragraphs),
        )
    ]


def _open(data: bytes) -> Any:
    import openpyxl

    try:
        return openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    except MemoryError:
        raise
    except Exception as problem:  # expat, zipfile and the library itself, each with its own classes
        raise corrupt(f"It is a damaged XLSX file ({type(problem).__name__}: {problem}).") from problem


def _lines(sheet: Any) -> Iterator[tuple[int, str]]:
    """Yield (row number, text) for every row that is not empty; the row of column names names them."""
    rows = _rows(sheet)
    first = list(islice(rows, _PREVIEW))
    titles: list[tuple[int, list[str]]] = []
    while len(first) > 1 and sum(1 for cell in first[0][1] if cell) == 1:  # a title above the table
        titles.append(first.pop(0))
        first += islice(rows, 1)
    header = header_of([cells for _, cells in first])
    for number, cells in titles:
        yield number, line_of(cells, ())
    body = first[1:] if header else first
    for number, cells in chain(body, rows):
        text = line_of(cells, header)
        if text:
            yield number, text


def _rows(sheet: Any) -> Iterator[tuple[int, list[str]]]:
    sheet.reset_dimensions()  # what the file claims of its size is not believed
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [_value(cell) for cell in row]
        if any(cells):
            yield number, cells


def _value(cell: Any) -> str:
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return value.isoformat("minutes")
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, int | float):
        return _number(value, str(getattr(cell, "number_format", "") or ""))
    return str(value)


def _number(value: int | float, form: str) -> str:
    if "%" in form:
        decimals = len(form.split("%")[0].partition(".")[2].rstrip("# "))
        return f"{value * 100:.{min(decimals, 6)}f}%"
    places = form.split(";")[0].partition(".")[2]
    if places.startswith("00") and not places.startswith("000") and abs(value) < 1e15:
        return f"{value:.2f}"  # an amount of money
    return str(value) if isinstance(value, int) else format(value, ".15g")
