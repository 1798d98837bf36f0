"""Dates as documents write them, as ``2024-05-01``: dates compare as text."""

import re
from datetime import UTC, date, datetime
from typing import Any

_PDF = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?")
_ISO = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")

_TEMPLATES = ("2013-12-23", "2013-01-27")


def iso_date(value: str | date | None) -> str:
    """Return the date that *value* begins with (ISO or PDF), as ``YYYY-MM-DD``; empty for none."""
    if value is None:
        return ""
    if isinstance(value, date):
        return value.strftime("%Y-%m-%d") if value.year >= 1000 else ""
    text = value.strip()
    match = _ISO.match(text) or _PDF.match(text)
    if match is None:
        return ""
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1)).isoformat()
    except ValueError:
        return ""


def office_date(properties: Any) -> str:
    """Return the day that an Office file was changed, or made, by its own word.

    The days of the empty files that python-docx and python-pptx start from say nothing.
    """
    found = (iso_date(properties.modified), iso_date(properties.created))
    return next((day for day in found if day and day not in _TEMPLATES), "")


def file_date(mtime_ns: int) -> str:
    """Return a file's modification time as a date in UTC; empty where it is beyond the calendar."""
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, tz=UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
