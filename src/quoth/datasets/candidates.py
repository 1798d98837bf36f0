"""Build a question's candidates, with neighbours where the sentences are in document order."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quoth.datasets.records import SelectionCandidate


class Row(NamedTuple):
    """One sentence as a file has it."""

    id: str
    text: str
    label: int
    grade: int = 0


def candidates_of(rows: Iterable[Row], *, ordered: bool) -> tuple[SelectionCandidate, ...]:
    """Return candidates in the order given; ``previous`` and ``next`` are set where they are *ordered*."""
    listed = list(rows)
    if not ordered:
        return tuple(SelectionCandidate(row.id, row.text, row.label, grade=row.grade) for row in listed)
    texts = ["", *(row.text for row in listed), ""]
    return tuple(
        SelectionCandidate(row.id, row.text, row.label, texts[at], texts[at + 2], row.grade)
        for at, row in enumerate(listed)
    )


def document_of(texts: Sequence[str]) -> str:
    """Return the text that consecutive sentences were cut from: joined by one space, empty ones left out."""
    return " ".join(text for text in texts if text)
