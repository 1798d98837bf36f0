"""The only place where scores become an order."""

from collections.abc import Sequence
from math import isfinite
from typing import TypeVar

from quoth.errors import InputError, ModelError
from quoth.types import Scored

T = TypeVar("T")


def top(items: Sequence[T], scores: Sequence[float], *, k: int | None = None) -> tuple[Scored[T], ...]:
    """Return the *k* best items (None: all), best first; ties keep the order given.

    Raise ``ModelError`` where there is not one finite score for each item, and ``InputError``
    for a negative *k*.
    """
    if k is not None and k < 0:
        raise InputError(f"k is {k}; it must not be negative.")
    if len(scores) != len(items):
        raise ModelError(f"A ranker gave {len(scores)} scores for {len(items)} texts.")
    values = [float(score) for score in scores]
    for index, value in enumerate(values):
        if not isfinite(value):
            raise ModelError(
                f"Score {index} is {value}; a score must be a finite number.",
                hint="The model's files may be damaged, or a weight overflowed in half precision.",
            )
    order = sorted(range(len(values)), key=lambda i: -values[i])
    return tuple(Scored(items[i], values[i]) for i in order[:k])
