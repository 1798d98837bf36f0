"""From logits to spans: the n-best list and the null score. Pure functions.

A span's score is the sum of its start and its end logit, and "no answer" has the score of the
null position, the smallest over all windows (Devlin et al. 2019, section 4.3, and run_squad).
The n-best list is exact: every start and end of a window is looked at, not the best few of each.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quoth.reading.windows import Placed, Text
from quoth.types import Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]
    Logits = Sequence[tuple[Floats, Floats]]

Snap = Callable[[int, int, int], tuple[int, int]]

# Scripts written without spaces: a character is a word there.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x30FF),  # CJK radicals and punctuation, kana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x20000, 0x3FFFF),
)


_BREAK = re.compile(r"(?:\r\n|[\r\n])[^\S\r\n\f]*(?:\r\n|[\r\n])|\f")


@dataclass(frozen=True, slots=True)
class Stack:
    """Every text position of every window, end to end; arrays of shape (positions,).

    ``start`` and ``end`` are logits, ``owner`` the passage, ``begin`` and ``finish`` the token's
    offsets into the document, ``group`` a number for the document, and ``stop`` the last position
    where a span that starts here may end: that of its paragraph in its window.
    """

    start: "Floats"
    end: "Floats"
    owner: "Ints"
    begin: "Ints"
    finish: "Ints"
    group: "Ints"
    stop: "Ints"


@dataclass(frozen=True, slots=True)
class Found:
    """A span: the index of its passage, offsets into the document, and its score."""

    passage: int
    start: int
    end: int
    score: float


def null_scores(placed: Sequence[Placed], logits: "Logits") -> "Floats":
    """Return the null score of each window, of shape (windows,)."""
    pairs = zip(placed, logits, strict=True)
    return np.array([s[p.null] + e[p.null] for p, (s, e) in pairs], dtype=np.float32)


def stack(
    placed: Sequence[Placed],
    logits: "Logits",
    texts: Sequence[Text],
    *,
    bases: "Ints",
    groups: "Ints",
    breaks: Sequence["Ints"] = (),
    shifts: Sequence[float] = (),
) -> Stack:
    """Lay the text positions of all windows end to end.

    ``bases[i]`` is where passage *i* begins in its document and ``groups[i]`` numbers that
    document; no span crosses an offset of ``breaks[i]`` into that passage, in order;
    ``shifts[j]`` is taken from all span scores of window *j* (none given: 0).
    """
    starts, ends, cut = [], [], []
    for index, (p, (s, e)) in enumerate(zip(placed, logits, strict=True)):
        shift = shifts[index] if shifts else 0.0
        starts.append(s[p.at : p.at + p.length] - np.float32(shift))
        ends.append(e[p.at : p.at + p.length])
        cut.append(slice(p.first, p.first + p.length))

    def gather(pick: Callable[[Text], "Ints"]) -> "Ints":
        return np.concatenate([pick(texts[p.text])[c] for p, c in zip(placed, cut, strict=True)])

    owner = gather(lambda text: text.owners)
    window = np.repeat(np.arange(len(placed)), [p.length for p in placed])
    begin = gather(lambda text: text.starts)
    paragraph = _paragraphs(owner, begin, breaks)
    changes = np.flatnonzero((np.diff(owner) != 0) | (np.diff(window) != 0) | (np.diff(paragraph) != 0))
    last = np.append(changes, len(owner) - 1)
    stop = np.repeat(last, np.diff(last, prepend=-1))
    base = bases[owner]
    return Stack(
        np.concatenate(starts),
        np.concatenate(ends),
        owner,
        base + begin,
        base + gather(lambda text: text.ends),
        groups[owner],
        stop,
    )


def paragraph_breaks(text: str) -> "Ints":
    """Return where the paragraphs of *text* end: the offsets of its blank lines and page ends."""
    if "\n" not in text and "\r" not in text and "\f" not in text:
        return np.zeros(0, dtype=np.int64)
    return np.array([match.start() for match in _BREAK.finditer(text)], dtype=np.int64)


def _paragraphs(owner: "Ints", begin: "Ints", breaks: Sequence["Ints"]) -> "Ints":
    """Return for each position how many breaks of its passage lie before it."""
    number = np.zeros(len(owner), dtype=np.int64)
    for passage, cuts in enumerate(breaks):
        if len(cuts):
            here = owner == passage
            number[here] = np.searchsorted(cuts, begin[here])
    return number


def n_best(all: Stack, *, n: int, max_tokens: int, snap: Snap) -> list[Found]:
    """Return the best span, then the best that does not overlap it, and so on: *n* at most.

    A span ends where it starts or later, has at most *max_tokens* tokens, and lies within one
    paragraph of one passage and one window. *snap* (passage, start, end) widens it to whole words and trims
    it; a span of spaces only comes back empty and is passed over. A span that several windows
    (or several passages of one document) show is listed once, with its best score. Equal
    scores are in the order of the stack.
    """
    rows = _Rows(all, max_tokens)
    found: list[Found] = []
    while len(found) < n:
        position = int(rows.best.argmax())
        score = float(rows.best[position])
        if score == -np.inf:
            break
        last = position + int(rows.reach[position])
        passage, group = int(all.owner[position]), int(all.group[position])
        start, end = snap(passage, int(all.begin[position]), int(all.finish[last]))
        taken = np.flatnonzero((all.begin < end) & (all.finish > start) & (all.group == group))
        if start >= end or not len(taken):
            rows.blank(position, last)
            continue
        found.append(Found(passage, start, end, score))
        rows.close(taken)
    return found


class _Rows:
    """For every start position the best end within reach; what is taken is closed off.

    ``band[i, c]`` is the end logit of position i + c, or -inf where no span may go from i to there.
    """

    def __init__(self, all: Stack, max_tokens: int) -> None:
        size = len(all.start)
        self.width = max(1, min(max_tokens, size))
        columns = np.arange(self.width)
        ends = np.full(size + self.width - 1, -np.inf, dtype=np.float32)
        ends[:size] = all.end
        ahead = (all.stop - np.arange(size))[:, None]
        self.band = np.where(
            columns <= ahead, np.lib.stride_tricks.sliding_window_view(ends, self.width), np.float32(-np.inf)
        )
        # For the positions width - 1 to 1 before a closed one: which columns reach it, or beyond.
        self.corner = columns >= columns[:0:-1, None]
        self.start = all.start.astype(np.float32)
        self.reach = self.band.argmax(axis=1)
        self.best = self.start + np.take_along_axis(self.band, self.reach[:, None], axis=1)[:, 0]

    def _refresh(self, low: int, high: int) -> None:
        """Work out the rows *low* to *high* (half-open) anew."""
        rows = self.band[low:high]
        self.reach[low:high] = rows.argmax(axis=1)
        self.best[low:high] = self.start[low:high] + rows.max(axis=1)

    def blank(self, first: int, last: int) -> None:
        """Let no span lie wholly from *first* to *last* (both included): nothing but spaces is there."""
        for row in range(first, last + 1):
            self.band[row, : last + 1 - row] = -np.inf
        self._refresh(first, last + 1)

    def close(self, where: "Ints") -> None:
        """Let no span touch the positions *where* (in order), nor reach across them."""
        self.start[where] = -np.inf
        self.best[where] = -np.inf
        if where[-1] - where[0] + 1 == len(where):
            firsts = [int(where[0])]
        else:
            firsts = where[np.diff(where, prepend=-2) > 1].tolist()
        for first in firsts:
            low = max(0, first - self.width + 1)
            if low < first:
                self.band[low:first][self.corner[self.width - 1 - (first - low) :]] = -np.inf
                self._refresh(low, first)


@dataclass(frozen=True, slots=True)
class Group:
    """Spans that say the same: indices into ``Reading.spans``, the best first."""

    text: str
    members: tuple[int, ...]


def merge(reading: Reading) -> tuple[Group, ...]:
    """Return the spans of *reading* grouped by what they say, best group first; none is lost.

    Two spans say the same where they differ in case, spaces and outer punctuation at most.
    A group ranks by its best member, so the first span is always in the first group.
    """
    members: dict[str, list[int]] = {}
    for index, span in enumerate(reading.spans):
        members.setdefault(same(span.item.text), []).append(index)
    return tuple(Group(reading.spans[m[0]].item.text, tuple(m)) for m in members.values())


def same(text: str) -> str:
    """Return *text* as it is compared: case folded, spaces squeezed, outer punctuation taken off."""
    squeezed = " ".join(text.casefold().split())
    start, end = 0, len(squeezed)
    while start < end and _outer(squeezed[start]):
        start += 1
    while end > start and _outer(squeezed[end - 1]):
        end -= 1
    return squeezed[start:end] or squeezed


def _outer(character: str) -> bool:
    return character == " " or unicodedata.category(character)[0] == "P"


def whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return *start* and *end* moved to the ends of the words they cut, and without outer spaces.

    A word is a run of letters, digits and marks; a point or comma between digits belongs to
    their number. Signs, currency, per cent, hyphens and apostrophes are never drawn in, nor
    taken off. In scripts without spaces every character is a word. All spaces: an empty span.
    """
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        return start, start
    while start > 0 and _joined(text, start):
        start -= 1
    while end < len(text) and _joined(text, end):
        end += 1
    return start, end


def _joined(text: str, index: int) -> bool:
    """Say whether the characters on both sides of *index* belong to one word."""
    left, right = text[index - 1], text[index]
    if unicodedata.category(right)[0] == "M":
        return not left.isspace()
    if right.isdigit() and left in ".,":
        return index > 1 and text[index - 2].isdigit()
    if left.isdigit() and right in ".,":
        return index + 1 < len(text) and text[index + 1].isdigit()
    return _wordy(left) and _wordy(right)


def _wordy(character: str) -> bool:
    if not (character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"):
        return False
    code = ord(character)
    return code < 0x0E00 or not any(low <= code <= high for low, high in _UNSPACED)
