"""Filters on metadata as a person writes them: ``folder:contracts date>=2024 author:"A. Smith"``."""

import re
from collections.abc import Mapping

from quoth.errors import InputError
from quoth.types import Comparison, Filter

_TERM = re.compile(
    r'\s*(?P<key>[^\s:<>="]+)(?P<comparison>>=|<=|:|>|<)(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s":<>=][^\s"]*))(?=\s|$)'
)


def parse_where(text: str) -> tuple[Filter, ...]:
    """Return the conditions of *text*; all of them must hold. Raise ``InputError`` on what cannot be read.

    A value that begins with ``:``, ``<``, ``>`` or ``=`` needs quotes: without them it is a slip (``date>>2024``).
    """
    filters: list[Filter] = []
    position = 0
    while text[position:].strip():
        match = _TERM.match(text, position)
        if match is None:
            raise InputError(
                f"--where: {text[position:].strip()[:60]!r} is not a condition.",
                hint='Write key:value, key>=value or key<value, with "quotes" around a value that has spaces '
                "or begins with a sign of comparison.",
            )
        comparison: Comparison = match["comparison"]  # type: ignore[assignment]  # the pattern allows no other
        value = match["quoted"] if match["quoted"] is not None else match["plain"]
        filters.append(Filter(match["key"], comparison, value))
        position = match.end()
    return tuple(filters)


def satisfies(condition: Filter, metadata: Mapping[str, str]) -> bool:
    """Return whether a document's metadata satisfy *condition*; a key that is not there never does.

    Values compare as text, code point by code point; ``folder:`` is a path prefix, in whole folders.
    """
    value = metadata.get(condition.key)
    if value is None:
        return False
    wanted = condition.value
    if condition.key == "folder" and condition.comparison == ":":
        return f"{value}/".startswith(f"{wanted.rstrip('/')}/") or not wanted.strip("/")
    return {
        ":": value == wanted,
        ">": value > wanted,
        ">=": value >= wanted,
        "<": value < wanted,
        "<=": value <= wanted,
    }[condition.comparison]
