"""How a check says what is wrong."""

from math import isfinite

from quoth.errors import CheckError


def require(condition: bool, part: object, rule: str, seen: object = "") -> None:
    """Raise ``CheckError`` with the rule and what was seen, unless *condition* holds."""
    if not condition:
        found = f" Seen: {seen!r:.300}." if seen != "" else ""
        raise CheckError(f"{type(part).__name__} breaks the contract: {rule}{found}", code="contract")


def finite(value: object) -> bool:
    """Return whether *value* is a finite number."""
    try:
        return isfinite(float(value))  # type: ignore[arg-type]  # that is what is asked
    except (TypeError, ValueError):
        return False
