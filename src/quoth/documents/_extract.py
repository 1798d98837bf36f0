"""What a loader is told, and what it gives back; both cross a pipe as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quoth.documents._names import storable
from quoth.errors import DocumentError
from quoth.types import Segment

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Job:
    """What a loader may know about a file. ``limit`` is the most bytes that it may unpack."""

    name: str
    encoding: str | None = None
    passwords: tuple[str, ...] = ()
    limit: int = 200 * MEGABYTE
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Extracted:
    """One document as its loader found it. ``key`` tells the documents of one file apart."""

    text: str
    title: str = ""
    id: str = ""
    key: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    segments: tuple[Segment, ...] = ()
    paragraphs: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()


class Writer:
    """Builds a text piece by piece, with the map back to where each piece stood.

    Raises ``DocumentError`` (``too_large_expanded``) when the text outgrows *limit* characters.
    """

    def __init__(self, limit: int) -> None:
        self.length = 0
        self.segments: list[Segment] = []
        self._parts: list[str] = []
        self._limit = limit

    def gap(self, text: str) -> None:
        """Append *text* that stood nowhere in the original (a separator)."""
        self._parts.append(text)
        self.length += len(text)
        if self.length > self._limit:
            raise too_large_expanded(f"its text has more than {self._limit:,} characters", self._limit)

    def add(
        self,
        text: str,
        *,
        page: int | None = None,
        line: int | None = None,
        original: int = 0,
        label: str = "",
        exact: bool = False,
    ) -> tuple[int, int]:
        """Append *text* and the segment that says where it stood; return its span."""
        start = self.length
        self.gap(text)
        if text:
            self.segments.append(Segment(start, self.length, page, line, original, label, exact))
        return start, self.length

    def text(self) -> str:
        """Return all that was appended."""
        return "".join(self._parts)


def too_large_expanded(what: str, limit: int) -> DocumentError:
    """Return the error for a file that grows too much when it is unpacked."""
    return DocumentError(
        f"This file is small but unpacks to too much: {what}.",
        hint=f"The limit is {limit:,} bytes; a larger `max_file_mb` raises it.",
        code="too_large_expanded",
    )


def corrupt(what: str, hint: str = "") -> DocumentError:
    """Return the error for a file that is not what it claims to be."""
    return DocumentError(what, hint=hint or "Open it in its own program and save it again.", code="corrupt")


def to_json(items: Sequence[Extracted]) -> list[dict[str, Any]]:
    """Return *items* as plain JSON values."""
    return [
        {
            "text": storable(item.text),
            "title": storable(item.title),
            "id": item.id,
            "key": item.key,
            "metadata": dict(item.metadata),
            "segments": [
                [s.start, s.end, s.page, s.line, s.original, s.label, s.exact] for s in item.segments
            ],
            "paragraphs": item.paragraphs,
            "notes": item.notes,
        }
        for item in items
    ]


def from_json(values: Sequence[Mapping[str, Any]]) -> list[Extracted]:
    """Return what ``to_json`` was given. Raise ``KeyError``, ``TypeError`` or ``ValueError`` otherwise."""
    return [
        Extracted(
            text=value["text"],
            title=value["title"],
            id=value["id"],
            key=value["key"],
            metadata={str(k): str(v) for k, v in value["metadata"].items()},
            segments=tuple(Segment(*row) for row in value["segments"]),
            paragraphs=tuple((int(a), int(b)) for a, b in value["paragraphs"]),
            notes=tuple(value["notes"]),
        )
        for value in values
    ]
