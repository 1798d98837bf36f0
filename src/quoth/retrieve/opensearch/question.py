"""What of a question is searched: the same words and neighbours as in the embedded index."""

import re
from collections.abc import Iterator
from itertools import pairwise

from quoth import text

NEAR = 3
"""Two content words are neighbours with at most two dropped words between them."""

MOST_WORDS = 200
"""Different words of one question that are searched; an engine refuses over 1,024 clauses in all."""

MOST_PAIRS = 60

_SURROGATE = re.compile("[\ud800-\udfff\x00]")


def clean(raw: str) -> str:
    """Return *raw* as JSON can carry it, without repeated words where there are very many."""
    plain = _SURROGATE.sub("\ufffd", raw)
    words = text.words(plain) if len(plain) > MOST_WORDS else []
    return " ".join(list(dict.fromkeys(words))[:MOST_WORDS]) if len(words) > MOST_WORDS else plain


def without_asking(raw: str) -> str:
    """Return an English question with the words that only ask made stop words; "Doctor Who" stays.

    Where nothing but stop words would be left, it stays as it is.
    """
    found = text.without_asking(raw)
    return raw if only_stop_words(found) else found


def only_stop_words(raw: str) -> bool:
    """Say whether an English text has no other words than stop words."""
    return text.STOP_WORDS.issuperset(text.words(raw))


def neighbours(raw: str, *, stop: frozenset[str]) -> Iterator[str]:
    """Yield each stretch of *raw* from one word that is no stop word to the next one, where they are near."""
    kept = [
        (place, a, b) for place, (a, b) in enumerate(text.word_spans(raw)) if text.fold(raw[a:b]) not in stop
    ]
    count = 0
    for (left, a, b), (right, c, d) in pairwise(kept):
        together = b - a == d - c == 1 and not raw[a:b].isascii()  # one script without spaces: pairs as it is
        if (
            right - left <= NEAR
            and text.fold(raw[a:b]) != text.fold(raw[c:d])
            and not together
            and count < MOST_PAIRS
        ):
            count += 1
            yield raw[a:d]
