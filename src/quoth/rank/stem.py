"""Porter's stemmer, for English words."""

import re
from functools import lru_cache


def _table(listed: str) -> dict[str, str]:
    """Return "suffix:replacement" words as a dictionary."""
    return dict(pair.split(":") for pair in listed.split())


_STEP_2 = _table(
    "ational:ate tional:tion enci:ence anci:ance izer:ize abli:able alli:al entli:ent eli:e ousli:ous "
    "ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble"
)
_STEP_3 = _table("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
_STEP_4 = re.compile(
    "(?:ement|[ae]nce|[ai]ble|ment|[ae]nt|(?<=[st])ion|ism|ate|iti|ous|ive|ize|al|er|ic|ou)$"
)
_MEASURE = re.compile(r"v+c+")
_ORDINARY = re.compile(r"[a-z]{3,}")


def _form(word: str) -> str:
    """Return *word* with v for its vowels and c for its consonants; y is a vowel behind a consonant."""
    form = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and form.endswith("c"))
        form += "v" if vowel else "c"
    return form


def _measure(stem: str) -> int:
    return len(_MEASURE.findall(_form(stem)))


def _ends_short(stem: str) -> bool:
    """Say whether *stem* ends consonant, vowel, consonant, the last not w, x or y (Porter's *o)."""
    return _form(stem).endswith("cvc") and stem[-1] not in "wxy"


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word (M. F. Porter, An algorithm for suffix stripping, 1980).

    Words with other characters than a to z, and those of fewer than three letters, are returned as they are.
    """
    if not _ORDINARY.fullmatch(word):
        return word
    return _step_5(_step_4(_replace(_replace(_step_1c(_step_1b(_step_1a(word))), _STEP_2), _STEP_3)))


def _step_1a(word: str) -> str:
    for suffix, by in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word[: len(word) - len(suffix)] + by
    return word


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word[: -len(suffix)]
        if word.endswith(suffix) and "v" in _form(rest):
            break
    else:
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and _form(rest)[-1] == "c" and rest[-1] not in "lsz":
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _ends_short(rest) else rest


def _step_1c(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and "v" in _form(word[:-1]) else word


def _replace(word: str, table: dict[str, str]) -> str:
    """Replace the longest suffix that the table has, where what is left has a measure over 0."""
    for length in range(min(7, len(word)), 1, -1):
        by = table.get(word[-length:])
        if by is not None:
            rest = word[:-length]
            return rest + by if _measure(rest) > 0 else word
    return word


def _step_4(word: str) -> str:
    match = _STEP_4.search(word)
    return word[: match.start()] if match and _measure(word[: match.start()]) > 1 else word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
