"""Conditions on metadata: found through the engine's terms, then checked against the catalog.

Each passage carries its document's facts as terms ``key SEPARATOR value``, cut to ``LONGEST``
characters. A condition becomes a set of terms that may hold a little too much (long values), and
what is found is looked at again by ``holds``. Values compare as text, code point by code point.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from quoth.errors import InputError
from quoth.retrieve.store.engine import View
from quoth.retrieve.store.records import Row
from quoth.types import Filter

SEPARATOR = "\x1f"
FOLDER = "\x1ffolder"
LONGEST = 1_000


def facts(metadata: Mapping[str, str], *, id: str, title: str, path: str) -> list[str]:
    """Return the terms that a passage carries for its document."""
    values = values_of(metadata, id=id, title=title, path=path)
    return [_term(key, value) for key, value in values.items()] + [_term(FOLDER, f) for f in _folders(path)]


def values_of(metadata: Mapping[str, str], *, id: str, title: str, path: str) -> dict[str, str]:
    """Return what conditions are about: the metadata, and id, title and path where it has none of that name."""
    return {"id": id, "title": title, "path": path, **metadata}


def check(filters: Sequence[Filter]) -> None:
    """Raise ``InputError`` for a condition that means nothing."""
    for condition in filters:
        if not condition.key:
            raise InputError(f"The condition {str(condition)!r} has no key.")
        if condition.key == "folder" and condition.comparison != ":":
            raise InputError(
                f"{condition} means nothing: folder is a path prefix.", hint="Write folder:PATH."
            )


def holds(condition: Filter, row: Row) -> bool:
    """Return whether a passage's document satisfies *condition*."""
    if condition.key == "folder":
        folder = _plain(condition.value)
        return not folder or folder in _folders(row.path)
    values = values_of(row.values(), id=row.id, title=row.title, path=row.path)
    value = values.get(condition.key)
    return value is not None and _compare(value, condition.comparison, condition.value)


def query(view: View, conditions: Sequence[Filter]) -> list[Any] | None:
    """Return engine queries that must all match, without a score; None where nothing can satisfy them."""
    from tantivy import Query

    queries: list[Any] = []
    for condition in conditions:
        terms = _terms(view, condition)
        if terms is None:
            continue
        if not terms:
            return None
        if len(terms) == 1:
            found = Query.term_query(view.schema, "facts", terms[0], "basic")
        else:
            found = Query.term_set_query(view.schema, "facts", terms)
        queries.append(Query.const_score_query(found, 0.0))
    return queries


def _terms(view: View, condition: Filter) -> list[str] | None:
    if condition.key == "folder":
        folder = _plain(condition.value)
        return [_term(FOLDER, folder)] if folder else None
    if condition.comparison == ":":
        return [_term(condition.key, condition.value)]
    start = condition.key + SEPARATOR
    loose = {">": ">=", "<": "<="}.get(condition.comparison, condition.comparison)
    bound = condition.value[:LONGEST]
    return [t for t in view.values(start) if _compare(t[len(start) :], loose, bound)]


def _compare(value: str, comparison: str, bound: str) -> bool:
    return {
        ":": value == bound,
        ">": value > bound,
        ">=": value >= bound,
        "<": value < bound,
        "<=": value <= bound,
    }[comparison]


def _term(key: str, value: str) -> str:
    return f"{key}{SEPARATOR}{value[:LONGEST]}".encode("utf-8", "replace").decode()


def _plain(folder: str) -> str:
    parts = [part for part in folder.replace("\\", "/").split("/") if part not in ("", ".")]
    return "/".join(parts)


def _folders(path: str) -> list[str]:
    """Return every folder that holds *path*, and the path itself."""
    parts = _plain(path).split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts) + 1)]
