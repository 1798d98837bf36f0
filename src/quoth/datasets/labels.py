"""Check labels, and repair them where the repair is certain; never stop at a bad example."""

import re
from collections.abc import Iterator

from quoth.datasets.records import GoldAnswer, Problem

_NEAR = 40
_WORD = re.compile(r"\S+")


class Ledger:
    """Collects problems, and keeps ids apart. One for each file that is read."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._ids: set[str] = set()

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(self._problems)

    def note(self, id: str, kind: str, detail: str, *, repaired: bool) -> None:
        """Record one problem."""
        self._problems.append(Problem(id, kind, detail, repaired))

    def unique(self, id: str, *, fallback: str) -> str:
        """Return *id*, or *fallback* where it is empty; a second use gets ``#2``, a third ``#3`` ..."""
        wanted = id or fallback
        if not id:
            self.note(wanted, "missing_id", f"no id; called {wanted}", repaired=True)
        chosen, count = wanted, 1
        while chosen in self._ids:
            count += 1
            chosen = f"{wanted}#{count}"
        if chosen != wanted:
            self.note(
                wanted, "duplicate_id", f"the id is used again; this one is called {chosen}", repaired=True
            )
        self._ids.add(chosen)
        return chosen


def place_answer(context: str, text: str, start: int) -> tuple[GoldAnswer | None, Problem | None]:
    """Find *text* in *context*, at or near the offset *start* that the file states.

    Returns the answer (None where it is nowhere) and what was wrong (None where the offset
    holds; its ``id`` is empty). A repair is certain where the text occurs once, or where one
    occurrence is strictly the nearest and within 40 code points. Texts that differ in white
    space only (CRLF, no-break spaces, doubled spaces) are replaced by the context's own.
    """
    if start >= 0 and context.startswith(text, start):
        return GoldAnswer(text, start), None
    spots = [(at, at + len(text)) for at in _occurrences(context, text)]
    kind = "offset"
    if not spots:
        kind = "whitespace"
        pattern = r"\s+".join(re.escape(word) for word in _WORD.findall(text))
        spots = [found.span() for found in re.finditer(pattern, context)] if pattern else []
    if not spots:
        return None, Problem("", "answer_missing", f"{text[:60]!r} is not in the context", False)
    spots.sort(key=lambda spot: (abs(spot[0] - start), spot[0]))
    begin, end = spots[0]
    distance = abs(begin - start)
    strict = len(spots) == 1 or abs(spots[1][0] - start) > distance
    certain = len(spots) == 1 or (strict and distance <= _NEAR)
    detail = f"{text[:60]!r} said to start at {start}, found at {begin}"
    if not certain:
        kind, detail = "offset_ambiguous", f"{detail}, one of {len(spots)} places"
    return GoldAnswer(context[begin:end], begin), Problem("", kind, detail, certain)


def _occurrences(context: str, text: str) -> Iterator[int]:
    """Yield where *text* stands in *context*, overlapping ones too."""
    at = context.find(text) if text else -1
    while at >= 0:
        yield at
        at = context.find(text, at + 1)
