"""Batches for engines that want them: sorted by length, few shapes, a bounded number of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quoth.protocols import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Which windows, and the length that they are padded to."""

    members: tuple[int, ...]
    length: int


@dataclass(frozen=True, slots=True)
class Padded:
    """A batch's arrays, all (windows, length); the mask is 1 on tokens and 0 on padding."""

    ids: "Ints"
    types: "Ints"
    mask: "Ints"


def plan(lengths: Sequence[int], *, budget: int, multiple: int, longest: int) -> list[Batch]:
    """Return batches that hold every window once, longest first, of at most *budget* tokens with padding.

    Lengths are rounded up to a *multiple*, but not beyond *longest*. A batch holds windows of one
    rounded length only, so that few shapes arise; one window may exceed the budget.
    """
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        rounded = max(length, min(longest, -(-length // multiple) * multiple))
        groups.setdefault(rounded, []).append(index)
    batches = []
    for length, members in sorted(groups.items(), reverse=True):
        size = max(1, budget // length)
        batches += [Batch(tuple(members[i : i + size]), length) for i in range(0, len(members), size)]
    return batches


def pad(
    windows: Sequence[Window], batch: Batch, *, pad_id: int, pad_type: int = 0, left: bool = False
) -> Padded:
    """Return the arrays of a batch, padded on the right (or on the left)."""
    shape = (len(batch.members), batch.length)
    padded = Padded(
        np.full(shape, pad_id, np.int64), np.full(shape, pad_type, np.int64), np.zeros(shape, np.int64)
    )
    for row, member in enumerate(batch.members):
        place = span(len(windows[member].ids), batch.length, left=left)
        padded.ids[row, place] = windows[member].ids
        padded.types[row, place] = windows[member].types
        padded.mask[row, place] = 1
    return padded


def span(length: int, padded: int, *, left: bool) -> slice:
    """Return where a window of *length* tokens lies in its padded row."""
    return slice(padded - length, padded) if left else slice(0, length)
