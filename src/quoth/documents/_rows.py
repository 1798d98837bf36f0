"""Table rows as lines that can be quoted: ``Item: Lamp; Price: 12.50``."""

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[-+]?[\d.,'\u00a0 ]*\d%?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*")
_LONGEST_HEADER = 80


def header_of(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the names of the columns, where the first row holds them; empty otherwise.

    It does where there is another row, and its cells are filled (the last may be empty), differ, are
    short, and none is a number or a date.
    """
    if len(rows) < 2:
        return ()
    names = [clean(cell) for cell in rows[0]]
    while names and not names[-1]:
        names.pop()
    good = (
        len(names) > 1
        and all(names)
        and len(set(names)) == len(names)
        and all(len(name) <= _LONGEST_HEADER and not _NUMBER.fullmatch(name) for name in names)
    )
    return tuple(names) if good else ()


def line_of(cells: Sequence[str], header: Sequence[str]) -> str:
    """Return a row as one line: filled cells, each after its column's name where there are names."""
    parts = []
    for index, cell in enumerate(cells):
        value = clean(cell)
        if value:
            name = header[index] if index < len(header) else ""
            parts.append(f"{name}: {value}" if name else value)
    return "; ".join(parts) if header else "\t".join(parts)


def clean(cell: str) -> str:
    """Return a cell's text on one line."""
    return " ".join(cell.split())
