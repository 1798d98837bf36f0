"""Passages: what is indexed, retrieved and read."""

from collections.abc import Iterator
from dataclasses import dataclass

from quoth.text.lines import blocks
from quoth.text.sentence import sentences_in
from quoth.text.words import estimate_tokens
from quoth.types import Document, Passage

TARGET = 180
"""The size of a passage, in estimated tokens."""


def passages(document: Document, *, target: int = TARGET) -> tuple[Passage, ...]:
    """Return the passages of *document*: whole paragraphs, packed to about *target* tokens.

    Where the document came with paragraphs, those are the passages, as they are. Else paragraphs
    are what blank lines separate; a heading stays with what follows it, and one that is met
    when half of the target is reached opens a passage. A paragraph over the target is cut
    between sentences (list items and table rows are sentences), never inside one. Passages are
    in order, do not overlap and together hold every visible character. Tokens are estimated
    (``estimate_tokens``). A passage exceeds the target only by what it must not be parted from.
    """
    if document.paragraphs:
        spans: Iterator[tuple[int, int]] = (
            (a, b) for a, b in document.paragraphs if not document.text[a:b].isspace() and a < b
        )
    else:
        spans = _pack(document.text, target)
    text, title = document.text, document.title
    return tuple(Passage(document.id, a, b, text[a:b], title) for a, b in spans)


def cut(passage: Passage, *, target: int = TARGET) -> tuple[Passage, ...]:
    """Return *passage* in pieces of about *target* tokens, by the rules of ``passages``."""
    text, base = passage.text, passage.start
    return tuple(
        Passage(passage.document_id, base + a, base + b, text[a:b], passage.title)
        for a, b in _pack(text, target)
    )


@dataclass(frozen=True, slots=True)
class _Unit:
    start: int
    end: int
    tokens: int
    heading: bool = False


def _units(text: str, target: int) -> Iterator[_Unit]:
    """Yield what must not be cut: paragraphs, or the sentences of one that is over the target."""
    for block in blocks(text):
        tokens = target + 1
        if block.end - block.start <= 16 * target:
            tokens = estimate_tokens(text[block.start : block.end])
        if tokens <= target:
            yield _Unit(block.start, block.end, tokens, block.heading)
            continue
        for a, b in sentences_in(text, block, language="en"):
            yield _Unit(a, b, estimate_tokens(text[a:b]))


def _pack(text: str, target: int) -> Iterator[tuple[int, int]]:
    held: list[_Unit] = []
    size = 0
    for unit in _units(text, target):
        opens = unit.heading and size >= target // 2
        if held and ((opens and not held[-1].heading) or size + unit.tokens > target):
            kept = _headings(held, target)
            if len(kept) < len(held):
                yield held[0].start, held[len(held) - len(kept) - 1].end
                held = kept
                size = sum(u.tokens for u in held)
        held.append(unit)
        size += unit.tokens
    if held:
        yield held[0].start, held[-1].end


def _headings(held: list[_Unit], target: int) -> list[_Unit]:
    """Return the headings at the end of *held*, that go with what follows; none when they are too many."""
    first = len(held)
    while first and held[first - 1].heading:
        first -= 1
    kept = held[first:]
    return kept if sum(u.tokens for u in kept) <= target // 2 else []
