"""Token windows: from a question and passages to the inputs of a network. Pure functions.

The convention of *stride* is run_squad's ``doc_stride``: the next window begins *stride* tokens
further on. (Others call the overlap "stride"; here it is what is left: room less stride.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quoth.errors import InputError
from quoth.protocols import Layout, Tokens, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Text:
    """Tokens that are read as one text: those of a passage, or of several passages joined.

    Arrays of shape (n,): token ids, the index of the passage that owns the token, and the
    token's half-open code point offsets into that passage.
    """

    ids: "Ints"
    owners: "Ints"
    starts: "Ints"
    ends: "Ints"


@dataclass(frozen=True, slots=True)
class Placed:
    """A window, and what stands where in it.

    Positions ``at`` to ``at + length`` hold the tokens ``first`` to ``first + length`` of the
    text with index ``text``; everything else is question, title or special. ``null`` is the
    position whose logits score "no answer".
    """

    window: Window
    text: int
    first: int
    at: int
    length: int
    null: int


def of_passage(tokens: Tokens, owner: int) -> Text:
    """Return the text of one passage; *owner* is its index."""
    offsets = tokens.offsets.reshape(-1, 2)
    return Text(tokens.ids, np.full(len(tokens.ids), owner, dtype=np.int64), offsets[:, 0], offsets[:, 1])


def chain(texts: Sequence[Text]) -> Text:
    """Return several texts as one, end to end."""
    if not texts:
        nothing = np.zeros(0, dtype=np.int64)
        return Text(nothing, nothing, nothing, nothing)
    return Text(
        np.concatenate([t.ids for t in texts]),
        np.concatenate([t.owners for t in texts]),
        np.concatenate([t.starts for t in texts]),
        np.concatenate([t.ends for t in texts]),
    )


def room(layout: Layout, *, window: int, question: int, prefix: int = 0) -> int:
    """Return how many tokens of a text fit a window of *window* tokens behind the rest.

    Raises ``InputError`` where not even one does.
    """
    special = len(layout.before) + len(layout.between) + len(layout.after)
    free = window - special - question - prefix
    if free < 1:
        raise InputError(
            f"A window of {window} tokens has no room for text: {special} are special and "
            f"{question + prefix} hold the question.",
            hint="Use a longer window, or fewer question tokens.",
        )
    return free


def cuts(count: int, *, room: int, stride: int) -> list[tuple[int, int]]:
    """Return (first, length) for every window over *count* tokens; each token is in at least one.

    A stride longer than the room is cut to it, so that nothing falls between two windows.
    """
    step = min(stride, room)
    if step < 1:
        raise InputError(f"The stride is {stride}; it must be at least 1 token.")
    found: list[tuple[int, int]] = []
    first = 0
    while first < count:
        length = min(room, count - first)
        found.append((first, length))
        if first + length == count:
            break
        first += step
    return found


def place(
    texts: Sequence[Text],
    question: "Ints",
    layout: Layout,
    *,
    window: int,
    stride: int,
    prefixes: Sequence["Ints"] = (),
) -> list[Placed]:
    """Return the windows over *texts*, in order, each unpadded and at most *window* tokens long.

    *question* holds the question's token ids, already cut to its budget. ``prefixes[i]``
    (a title, say) is put before every window of ``texts[i]`` and is never part of an answer.
    """
    nothing = np.zeros(0, dtype=np.int64)
    placed: list[Placed] = []
    for index, text in enumerate(texts):
        prefix = prefixes[index] if prefixes else nothing
        free = room(layout, window=window, question=len(question), prefix=len(prefix))
        for first, length in cuts(len(text.ids), room=free, stride=stride):
            chunk = np.concatenate([prefix, text.ids[first : first + length]])
            built, at = _assemble(question, chunk, layout)
            null = len(built.ids) - 1 if layout.null_last else 0
            placed.append(Placed(built, index, first, at + len(prefix), length, null))
    return placed


def _assemble(question: "Ints", chunk: "Ints", layout: Layout) -> tuple[Window, int]:
    """Return a window, and the position in it where *chunk* begins."""
    if layout.passage_first:
        one, two = chunk, question
        one_type, two_type = layout.passage_type, layout.question_type
    else:
        one, two = question, chunk
        one_type, two_type = layout.question_type, layout.passage_type
    ids = np.concatenate([layout.before, one, layout.between, two, layout.after]).astype(np.int64)
    head = len(layout.before) + len(one) + len(layout.between)
    types = np.full(len(ids), two_type, dtype=np.int64)
    types[:head] = one_type
    if layout.cls_type is not None:
        types[-1 if layout.null_last else 0] = layout.cls_type
    return Window(ids, types), len(layout.before) if layout.passage_first else head
