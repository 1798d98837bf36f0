"""Where a text says something of the kind that a question asks for: by shape alone, no model, English."""

import re

from quoth.text.words import STOP_WORDS, word_set

TYPED = ("person", "place", "organization", "date", "number", "money", "duration")
"""The answer types that have a shape; the others (entity, description, yes-no, other) can be anything."""

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
_SPELT = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    r"eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?|"
    r"billions?|trillions?|dozens?|half|twice|once|quarter|zero|none)"
)
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_LARGE = r"(?:hundred|thousand|million|billion|trillion)"
_NUMBER = rf"(?:(?:{_DIGITS})(?:\s+{_LARGE})?|{_SPELT}(?:[\s-]+(?:and\s+)?{_SPELT})*)"
_TIME_UNIT = (
    r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|decades?|centuries|century|millennia)"
)
_CURRENCY = r"(?:dollars?|euros?|pounds?|cents?|yen|yuan|francs?|rupees?|marks?|USD|EUR|GBP)"

_PATTERNS = {
    "date": re.compile(
        rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}})?"
        rf"|{_MONTH}\s+\d{{4}}\b|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?"
        r"|\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{2,4}"
        r"|(?:early\s+|mid-?\s*|late\s+)?(?:\d{1,2}(?:st|nd|rd|th)|[a-z]+(?:st|nd|rd|th))\s+centur(?:y|ies)"
        r"|(?:1\d|20)\d{2}(?:s|[–-](?:\d{4}|\d{2}))?(?![\d,.]*\d)|\d+\s*(?:BCE?|B\.C\.|AD|CE)"
        rf"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:in|by|since|until|during)\s+(?P<month>{_MONTH}))"
    ),
    "money": re.compile(
        rf"(?:[$€£¥]|US\$)\s?(?:{_DIGITS})(?:\s?(?:hundred|thousand|million|billion|trillion|[mbk])\b)?|\b{_NUMBER}\s+{_CURRENCY}\b",
        re.IGNORECASE,
    ),
    "duration": re.compile(
        rf"\b{_NUMBER}(?:\s+(?:to|or|and)\s+{_NUMBER})?[\s-]+(?:\w+\s+)?{_TIME_UNIT}\b", re.IGNORECASE
    ),
    "number": re.compile(rf"(?<![\w.,]){_NUMBER}(?:\s?%|\s+per\s?cent\b)?(?![\w])", re.IGNORECASE),
}  # fmt: skip
_NAME_WORD = r"(?:[^\W\d_a-zß-öø-ÿ](?:(?!['’]s\b)[\w’'-])*\.?)"
_NAME = re.compile(
    rf"{_NAME_WORD}(?:\s+(?:(?:of|the|de|la|von|van|der|den|du|del|di|da|and|for|al|bin|ibn|&)\s+){{0,2}}{_NAME_WORD}|\s+[IVX]+\b)*"
)
_ENDS = re.compile(r"(?:^|[.!?:;\n]\s*|[\"“(]\s*)$")
_NO_NAMES = STOP_WORDS | word_set(
    "he she we you i his her its our my your who what when where why how which after before during while since "
    "although though however also many most some several each all both one two three four five six seven eight "
    "nine ten january february march april may june july august september october november december monday "
    "tuesday wednesday thursday friday saturday sunday because from under over between among until unless despite "
    "according other another more such those first second third later early today about"
)


def mentions(text: str, kind: str) -> list[tuple[int, int]]:
    """Return the spans of *text* that have the shape of this kind of answer, from left to right.

    *kind* is an answer type. Dates, numbers, money and durations have patterns. Persons, places and
    organisations are whatever is capitalised: one word at the start of a sentence does not count unless it
    occurs so elsewhere, too. Any other kind has no shape, and no mentions.
    """
    if kind in _PATTERNS:
        found = []
        for match in _PATTERNS[kind].finditer(text):
            group = "month" if kind == "date" and match["month"] else 0
            found.append(match.span(group))
        return found
    return names(text) if kind in TYPED else []


def names(text: str) -> list[tuple[int, int]]:
    """Return the spans of *text* that are written as names are in English."""
    found = []
    for match in _NAME.finditer(text):
        start, end = _trimmed(text, *match.span())
        if start >= end:
            continue
        word = text[start:end]
        opens = _ENDS.search(text, max(0, start - 4), start) is not None
        if opens and word.isalpha() and not _elsewhere(text, word, start):
            continue
        found.append((start, end))
    return found


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without words at its edges that are capitalised for another reason than being a name."""
    words = [(m.start(), m.end()) for m in re.finditer(r"\S+", text[start:end])]
    kept = [(start + a, start + b) for a, b in words]
    while kept and text[slice(*kept[0])].lower().strip(".,'’") in _NO_NAMES:
        kept = kept[1:]
    while kept and text[slice(*kept[-1])].lower().strip(".,'’") in _NO_NAMES:
        kept = kept[:-1]
    if not kept:
        return start, start
    first, last = kept[0][0], kept[-1][1]
    if text[first:last].endswith(".") and text[first:last].count(".") == 1:
        last -= 1
    return first, last


def _elsewhere(text: str, word: str, start: int) -> bool:
    """Say whether *word* stands somewhere else behind a small word or a comma, so that its capital means something."""
    return any(
        m.start() != start and _ENDS.search(text, max(0, m.start() - 4), m.start()) is None
        for m in re.finditer(rf"\b{re.escape(word)}\b", text)
    )
