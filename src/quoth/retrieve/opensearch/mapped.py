"""What the fields of somebody's index can serve for, by its mapping."""

from collections.abc import Iterable, Mapping
from typing import Any

from quoth.errors import InputError
from quoth.retrieve.opensearch.layout import Json
from quoth.types import Filter

ANALYSED = frozenset({"text", "match_only_text"})
_WHOLE = frozenset({"long", "integer", "short", "byte", "unsigned_long"})
_REAL = frozenset({"double", "float", "half_float", "scaled_float"})
_DATES = frozenset({"date", "date_nanos"})
_STRINGS = frozenset({"keyword", "constant_keyword", "wildcard"})
COMPARABLE = _STRINGS | _WHOLE | _REAL | _DATES | {"boolean", "ip", "alias"}
"""Types whose values can be compared as they are."""

_KINDS = "Filters work on keyword, date, number and boolean fields, and on text with a keyword sub-field"


def fields_of(reply: Json) -> dict[str, Json]:
    """Return every field's mapping by its dotted name, over all indexes that the name stands for."""
    found: dict[str, Json] = {}

    def walk(properties: Mapping[str, Any], prefix: str) -> None:
        for name, mapping in properties.items():
            found[prefix + name] = mapping
            walk(mapping.get("properties", {}), f"{prefix}{name}.")
            walk(mapping.get("fields", {}), f"{prefix}{name}.")

    for index in reply.values():
        walk(index.get("mappings", {}).get("properties", {}), "")
    return found


def check_text(mapped: Mapping[str, Json], name: str, index: str) -> None:
    """Raise ``InputError`` where no words can be searched in the field *name*."""
    kind = _kind(mapped, name, index)
    if kind not in ANALYSED:
        raise InputError(
            f"The field {name!r} of {index!r} is of type {kind}; words are searched in fields of type text.",
            hint=f"Fields of that type: {_list(n for n in mapped if _type(mapped, n) == 'text')}.",
        )


def check_there(mapped: Mapping[str, Json], name: str, index: str) -> None:
    """Raise ``InputError`` where there is no field *name*."""
    _kind(mapped, name, index)


def exact(mapped: Mapping[str, Json], name: str, index: str) -> str:
    """Return the field whose values can be compared: *name*, or its keyword sub-field.

    Raise ``InputError`` where there is no such field, or where it is of a type that cannot be compared.
    """
    kind = _kind(mapped, name, index)
    found = _compared(mapped, name)
    if found:
        return found
    what = "analysed text without a keyword sub-field" if kind in ANALYSED else f"of type {kind}"
    some = _list(n for n in mapped if _compared(mapped, n) and not _is_sub_field(mapped, n))
    raise InputError(
        f"The field {name!r} of {index!r} is {what}; it cannot be compared.", hint=f"{_KINDS}: {some}."
    )


def refusal(filter: Filter, name: str, mapped: Mapping[str, Json], *, why: str) -> InputError:
    """Return the error for a *filter* on the field *name* that the server does not take; *why* is its own reason."""
    kind = _type(mapped, name)
    if "not indexed" in why:
        return InputError(
            f"{filter}: the field {name!r} cannot be filtered: it is not indexed.", hint=f"{_KINDS}."
        )
    return InputError(
        f"{filter}: the field {name!r} is of type {kind}; it cannot be compared with {filter.value!r}.",
        hint=_example(filter, kind, mapped[name]),
        code="bad_filter",
    )


def _example(filter: Filter, kind: str, mapping: Json) -> str:
    start = f"Write {filter.key}{filter.comparison}"
    if kind in _WHOLE:
        return f"{start}NUMBER with a whole number that a field of type {kind} can hold, such as 10."
    if kind in _REAL:
        return f"{start}NUMBER with a number, such as 2.5."
    if kind in _DATES:
        own = mapping.get("format")
        return f"{start}DATE, " + (f"in the field's format {own}." if own else "such as 2024-05-31 or 2024.")
    if kind == "boolean":
        return f"Write {filter.key}:true or {filter.key}:false."
    if kind == "ip":
        return f"{start}ADDRESS, such as 192.0.2.1."
    return f"Does a field of type {kind} hold such values?"


def _compared(mapped: Mapping[str, Json], name: str) -> str:
    """Return the field that compares for *name*; empty where there is none."""
    kind = _type(mapped, name)
    if kind in COMPARABLE:
        return name
    subs = (
        f"{name}.{sub}" for sub, m in mapped[name].get("fields", {}).items() if m.get("type") == "keyword"
    )
    return next(subs, "") if kind in ANALYSED else ""


def _is_sub_field(mapped: Mapping[str, Json], name: str) -> bool:
    above, _, last = name.rpartition(".")
    return last in mapped.get(above, {}).get("fields", {})


def _kind(mapped: Mapping[str, Json], name: str, index: str) -> str:
    if name not in mapped:
        raise InputError(f"{index!r} has no field {name!r}.", hint=f"It has: {_list(mapped)}.")
    return _type(mapped, name)


def _type(mapped: Mapping[str, Json], name: str) -> str:
    return str(mapped[name].get("type", "object"))


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:40]) or "none"
