"""Which pieces of a few articles suit a question best: BM25 over the pieces themselves."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from quoth import text

K1, B = 1.2, 0.75
HEADING = 0.5
"""What a word in the title or a heading counts beside one in the text."""

QUESTION_WORDS = frozenset(
    {
        *(
            "who",
            "whom",
            "whose",
            "what",
            "which",
            "when",
            "where",
            "why",
            "how",
            "did",
            "does",
            "do",
            "has",
            "have",
        ),
        *(
            "had",
            "were",
            "been",
            "can",
            "could",
            "would",
            "should",
            "many",
            "much",
            "tell",
            "me",
            "about",
            "give",
        ),
    }
)
_POSSESSIVE = "'s"


def content_words(question: str) -> tuple[str, ...]:
    """Return the folded words of *question* that say what it is about, each once; all of them where none does."""
    every = [w.removesuffix(_POSSESSIVE) for w in text.words(question)]
    left = [w for w in every if w not in text.STOP_WORDS and w not in QUESTION_WORDS]
    return tuple(dict.fromkeys(left or every))


def stem(word: str) -> str:
    """Return *word* without a plural's ending (the S-stemmer of Harman, 1991)."""
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def stems(words: Iterable[str]) -> list[str]:
    """Return the stems of folded words."""
    return [stem(w.removesuffix(_POSSESSIVE)) for w in words]


def scores(question: Sequence[str], pieces: Sequence[tuple[str, str]]) -> list[float]:
    """Return BM25 (Robertson and Walker, with Lucene's idf) of each piece, a pair of its headings and its text.

    A piece's score depends on the others: they are the collection that the statistics are of.
    """
    bags: list[dict[str, float]] = [dict(Counter(stems(text.words(body)))) for _, body in pieces]
    for bag, (headings, _) in zip(bags, pieces, strict=True):
        for word in set(stems(text.words(headings))):
            bag[word] = bag.get(word, 0.0) + HEADING
    mean = sum(sum(bag.values()) for bag in bags) / max(1, len(bags)) or 1.0
    wanted = list(dict.fromkeys(stems(question)))
    idf = {}
    for word in wanted:
        holding = sum(word in bag for bag in bags)
        idf[word] = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
    found = []
    for bag in bags:
        norm = K1 * (1 - B + B * sum(bag.values()) / mean)
        found.append(sum(idf[w] * bag[w] / (bag[w] + norm) for w in wanted if w in bag))
    return found
