"""The names that an index knows: its titles, and its headings where it is small enough to read them."""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from quoth.protocols import Retriever
from quoth.retrieve.expand.lexicon import CALENDAR, CLOSED, bare
from quoth.text import fold, word_spans, words
from quoth.text.lines import blocks

LONGEST_NAME = 8
"""Words; longer titles are sentences, and are not names."""

MOST_READ = 4_000_000
"""Characters of an index whose documents are read for headings; of a larger one only titles are known."""

_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]")
_MARKS = re.compile(r"^[#=\s]+|[#=\s:]+$")


class Gazetteer:
    """A set of names that finds the longest one at each place of a question, whatever its case."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names: set[tuple[str, ...]] = set()
        self._longest: dict[str, int] = {}
        for raw in names:
            name = raw.replace("_", " ")
            self._add(tuple(folded_words(name)))
            if "(" in name or "[" in name:
                self._add(tuple(folded_words(_BRACKETS.sub("", name))))

    def _add(self, name: tuple[str, ...]) -> None:
        if not 1 <= len(name) <= LONGEST_NAME or not any(_telling(word) for word in name):
            return
        self._names.add(name)
        self._longest[name[0]] = max(len(name), self._longest.get(name[0], 0))

    def __len__(self) -> int:
        return len(self._names)

    def knows(self, name: str) -> bool:
        """Say whether *name* is one of the names."""
        return tuple(folded_words(name)) in self._names

    def find(self, question: str) -> list[tuple[int, int]]:
        """Return the spans of *question* that are names: the longest from the left, none overlapping."""
        spans = word_spans(question)
        folded = [bare(fold(question[a:b])) for a, b in spans]
        found: list[tuple[int, int]] = []
        at = 0
        while at < len(spans):
            length = self._match(folded, at)
            if length:
                start, last = spans[at][0], spans[at + length - 1]
                found.append((start, last[0] + len(bare(question[last[0] : last[1]]))))
            at += max(length, 1)
        return found

    def _match(self, folded: Sequence[str], at: int) -> int:
        """Return how many words from *at* on are the longest name there; 0 for none."""
        for length in range(min(self._longest.get(folded[at], 0), len(folded) - at), 0, -1):
            if tuple(folded[at : at + length]) in self._names:
                return length
        return 0


class IndexNames:
    """The gazetteer of an index, made at the first question and again when the index has changed.

    Only an index that lists its documents has one; any other has no names.
    """

    def __init__(self, retriever: Retriever) -> None:
        self._retriever: Any = retriever
        self._guard = threading.Lock()
        self._made: tuple[object, Gazetteer] | None = None

    def __call__(self) -> Gazetteer:
        """Return the names of the index as it is now."""
        if not hasattr(self._retriever, "entries"):
            return Gazetteer(())
        with self._guard:
            state = self._state()
            if self._made is None or self._made[0] != state:
                self._made = (state, Gazetteer(names_of(self._retriever)))
            return self._made[1]

    def _state(self) -> object:
        """Return what changes when the index does, where it can tell cheaply."""
        if not hasattr(self._retriever, "snapshot"):
            return None
        with self._retriever.snapshot() as now:
            return now.view.state


def names_of(store: Any) -> Iterator[str]:
    """Yield the titles of an index; its headings too, where all its documents have at most 4 million characters."""
    entries = list(store.entries())
    yield from (entry.title for entry in entries if entry.title)
    if sum(entry.characters for entry in entries) > MOST_READ:
        return
    for entry in entries:
        document = store.document(entry.id)
        yield from {segment.label for segment in document.segments if not segment.label.isdigit()}
        for block in blocks(document.text):
            if block.heading:
                yield _MARKS.sub("", document.text[block.start : block.end])


def folded_words(name: str) -> list[str]:
    """Return the words of *name* as names are compared: folded, without possessive endings."""
    return [bare(word) for word in words(name)]


def _telling(word: str) -> bool:
    return len(word) > 1 and not word.isdigit() and word not in CLOSED and word not in CALENDAR
