"""Sentences, as exact spans."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

from quoth.text.lines import Block, blocks, marker, strip, units
from quoth.text.words import word_set
from quoth.types import Passage, Sentence

LONGEST = 2000
"""No sentence has more characters than this: a longer one is cut at a word."""

_CAP = 400  # a longer "sentence" may hide several in quotation marks or parentheses
_CHUNK = 8192
_AROUND = 8192

_END = re.compile(
    r"""(?P<wide>[。！？｡]+[」』”’）)】》]*)
      | (?P<mark>[.!?…؟۔।॥።]+)(?:["'”’»)\]]|\[\d{1,3}\])*(?=\s|\Z)""",
    re.VERBOSE,
)
_REMARK = re.compile(r"\([^()]*[.!?]\)\s+(?=[^\W\d_a-z]|[\"“(])")
_PLAIN = dict.fromkeys(map(ord, "\r\x0b\x0c\x1c\x1d\x1e\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"), " ")
_PLAIN |= dict.fromkeys([*range(0x2000, 0x200B), *range(0xD800, 0xE000)], " ")
_BEFORE_NUMBERS = word_set("approx ca no nos fig figs vol vols p pp sec ch art abs nr para cl reg tab eq")
_ABBREVIATIONS = word_set(
    "mr mrs ms dr prof rev gen col lt sgt capt st jr sr hon messrs mt ft vs etc al eg ie cf viz "
    "approx dept est fig figs inc ltd co corp no nos vol vols pp ed eds ch sec art ca jan feb mar apr "
    "jun jul aug sep sept oct nov dec u.s u.k u.n e.g i.e a.m p.m ph.d b.c a.d bzw usw z.b d.h nr abs "
    "art mme mlle sra srta"
)


class _Segmenter(Protocol):
    def __call__(self, language: str, text: str) -> list[str]: ...


def sentences(text: str, *, language: str = "en") -> tuple[tuple[int, int], ...]:
    """Return the spans of the sentences of *text*, in order, without white space at their ends.

    Together they hold every visible character. List items, headings, table rows and
    hard-broken lines are sentences of their own; none has over 2,000 characters.
    *language* is an ISO 639-1 code and chooses the list of abbreviations.
    """
    return tuple(span for block in blocks(text) for span in sentences_in(text, block, language=language))


def sentences_of(passage: Passage, *, language: str = "en") -> tuple[Sentence, ...]:
    """Return the sentences of *passage*, with offsets into its document."""
    text, base = passage.text, passage.start
    spans = sentences(text, language=language)
    return tuple(Sentence(passage.document_id, base + a, base + b, text[a:b]) for a, b in spans)


def sentence_at(text: str, start: int, end: int, *, language: str = "en") -> tuple[int, int]:
    """Return the span of the sentence that holds ``text[start:end]``, of several where it crosses them.

    A span of white space gets the sentence behind it (at the end of the text: the last one);
    a text without sentences gives the span back. Only the paragraphs around the span are looked at.
    """
    low, high = _around(text, start, end)
    spans = [(low + a, low + b) for a, b in sentences(text[low:high], language=language)]
    if not spans:
        return start, end
    touched = [s for s in spans if s[0] < max(end, start + 1) and s[1] > start]
    if not touched:
        touched = [next((s for s in spans if s[0] >= start), spans[-1])]
    return min(start, touched[0][0]) if text[start:end].strip() else touched[0][0], touched[-1][1]


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of the blank lines around a span, or what is 8,192 characters away."""
    floor, ceiling = max(0, start - _AROUND), min(len(text), end + _AROUND)
    before = [text.rfind(mark, floor, start) for mark in ("\n\n", "\r\n\r\n")]
    after = [i for i in (text.find(mark, end, ceiling) for mark in ("\n\n", "\r\n\r\n")) if i >= 0]
    low = max(before)
    return (low if low >= 0 else _safe_cut(text, floor, floor)), min(after, default=ceiling)


def sentences_in(text: str, block: Block, *, language: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences of one block."""
    for start, end, row in units(text, block):
        if row and end - start <= _CAP:
            yield start, end
            continue
        skip = marker(text, start, end)
        first = True
        for a, b in _unit(text, start + skip, end, language):
            yield from shorten(text, start if first else a, b)
            first = False


def _unit(text: str, start: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    """Yield the trimmed sentences of a unit; one without letters or digits joins the one before it."""
    held: tuple[int, int] | None = None
    for low, high in _chunks(text, start, end):
        for a, b in _split(text, low, high, language):
            a, b = strip(text, a, b)
            if a == b:
                continue
            if held is None:
                held = (a, b)
            elif _continues(text, held, a, b):
                held = (held[0], b)
            else:
                yield held
                held = (a, b)
    if held is not None:
        yield held


def _continues(text: str, held: tuple[int, int], start: int, end: int) -> bool:
    """Say whether ``text[start:end]`` belongs to the sentence before it."""
    if held[1] - held[0] >= LONGEST:
        return False
    if end - start < 80 and not any(c.isalnum() for c in text[start:end]):
        return True
    last, first = text[held[1] - 1], text[start]
    if last in "」』" and first == "と":
        return True
    return last == "." and first.isdigit() and _last_word(text, held[1] - 1) in _BEFORE_NUMBERS


def _chunks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield pieces of at most 8,192 characters that end with a sentence, or at least with a word."""
    while end - start > _CHUNK:
        stop = start + _CHUNK
        cut = -1
        for match in _END.finditer(text, stop - _CHUNK // 4, stop):
            if match.end() < stop and _ends(text, match):
                cut = match.end()
        if cut < 0:
            cut = _word_cut(text, start, stop)
        yield start, cut
        start = cut
    yield start, end


def _split(text: str, start: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    position = start
    for length in _lengths(text[start:end], language):
        stop = position + length
        if length > _CAP:
            yield from _by_rule(text, position, stop)
        elif remark := _REMARK.match(text, position, stop):
            yield position, remark.end()
            yield remark.end(), stop
        else:
            yield position, stop
        position = stop
    if position < end:
        yield from _by_rule(text, position, end)


def _lengths(piece: str, language: str) -> list[int]:
    """Return the lengths of the sentences of *piece*; none where the segmenter fails on it.

    Only lengths are taken from the segmenter, so that it can be given spaces for what it
    panics at: line breaks and white space that are not ASCII (behind an initial), lone surrogates.
    """
    try:
        parts = _segmenter()(language, piece.translate(_PLAIN))
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":  # Rust's; it can be told by its name alone
            raise
        return []
    return [len(part) for part in parts] if sum(map(len, parts)) == len(piece) else []


@lru_cache(maxsize=1)
def _segmenter() -> _Segmenter:
    from sentencex import segment

    return segment  # type: ignore[no-any-return]


def _by_rule(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut at every full stop that is not an abbreviation's, in quotation marks and parentheses too."""
    position = start
    for match in _END.finditer(text, start, end):
        if match.end() < end and _ends(text, match):
            yield position, match.end()
            position = match.end()
    if position < end:
        yield position, end


def _ends(text: str, match: re.Match[str]) -> bool:
    if match["wide"]:
        return True
    following = match.end()
    while following < len(text) and following < match.end() + 8 and text[following].isspace():
        following += 1
    behind = text[following : following + 1]
    if behind.islower():
        return False
    if match["mark"] != ".":
        return True
    last = _last_word(text, match.start())
    return last not in _ABBREVIATIONS and not (len(last) == 1 and last.isalpha())


def _last_word(text: str, end: int) -> str:
    word = text[max(0, end - 12) : end].split()[-1:] or [""]
    return word[0].lstrip("(\"'“‘[").casefold()


def shorten(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span in pieces of at most 2,000 characters, cut at words, trimmed."""
    while end - start > LONGEST:
        cut = _word_cut(text, start, start + LONGEST)
        a, b = strip(text, start, cut)
        if a < b:
            yield a, b
        start = strip(text, cut, end)[0]
    if start < end:
        yield start, end


def _word_cut(text: str, start: int, limit: int) -> int:
    """Return where to cut ``text[start:limit]``: at its last space, else before a grapheme."""
    for position in range(limit, start + (limit - start) // 2, -1):
        if text[position - 1].isspace():
            return position
    return _safe_cut(text, start, limit)


def _safe_cut(text: str, floor: int, limit: int) -> int:
    """Move *limit* back (by 64 characters at most) to where no grapheme cluster is cut.

    A cluster begins at *floor*, so that the flags behind it can be counted in pairs.
    """
    for position in range(limit, max(floor, limit - 64), -1):
        if position >= len(text) or not _joined(text, floor, position):
            return position
    return limit


def _joined(text: str, floor: int, position: int) -> bool:
    before, after = text[position - 1], text[position]
    if _is_flag(after) and _is_flag(before):
        first = position - 1
        while first > floor and _is_flag(text[first - 1]):
            first -= 1
        return (position - first) % 2 == 1
    return (
        before == "\u200d"
        or after in "\u200c\u200d"
        or unicodedata.category(after)[0] == "M"
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # tags
        or "\u1160" <= after <= "\u11ff"  # the rest of a Hangul syllable
        or "\udc00" <= after <= "\udfff"
        or (before, after) == ("\r", "\n")
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
