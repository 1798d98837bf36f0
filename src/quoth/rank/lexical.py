"""Rankers that count words: the floors under every neural ranker, and the passage ranker of long documents.

All but ``ConstantRanker`` and ``WordCountRanker`` are fitted to the candidates that they are given: a
candidate's score depends on which others there are (never on their order).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

from quoth.errors import InputError
from quoth.rank.stem import stem as stem_of
from quoth.text import STOP_WORDS, words
from quoth.types import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a text becomes terms: folded words, without *stop_words*, stemmed (Porter) where *stem* says so."""

    stop_words: frozenset[str] = STOP_WORDS
    stem: bool = True

    def of(self, text: str) -> list[str]:
        """Return the terms of *text*, in order."""
        kept = [word for word in words(text) if word not in self.stop_words]
        return [stem_of(word) for word in kept] if self.stem else kept


class ConstantRanker:
    """Scores every text 0: what an order says that nobody made. The lowest floor."""

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """Return a 0 for each candidate."""
        return [0.0] * len(candidates)


class WordCountRanker:
    """Counts the distinct terms of the question that a text has (Word Cnt of Yang, Yih and Meek, WikiQA, 2015)."""

    def __init__(self, *, terms: Terms | None = None) -> None:
        self._terms = terms or Terms()

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """Return how many terms of the question each candidate has."""
        wanted = set(self._terms.of(question))
        return [float(len(wanted.intersection(self._terms.of(c.text)))) for c in candidates]


class IdfCountRanker:
    """Counts as ``WordCountRanker`` does, each term by its rarity (Wgt Word Cnt of Yang, Yih and Meek, 2015).

    The weight is ln((1 + n) / (1 + df)) + 1 over the n candidates, so that scores depend on the set.
    """

    def __init__(self, *, terms: Terms | None = None) -> None:
        self._terms = terms or Terms()

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """Return the summed weights of the question's terms that each candidate has."""
        wanted = set(self._terms.of(question))
        found = [wanted.intersection(self._terms.of(c.text)) for c in candidates]
        frequency = Counter(term for terms in found for term in terms)
        weight = {t: log((1 + len(found)) / (1 + df)) + 1 for t, df in frequency.items()}
        return [sum(weight[t] for t in sorted(terms)) for terms in found]


class Bm25Ranker:
    """BM25 over the candidates, as Lucene has it (Robertson and Zaragoza, 2009, eq. 3.15, without the factor k1 + 1).

    A term of the question adds idf * tf / (tf + k1 * (1 - b + b * length / mean length)), with
    idf = ln(1 + (n - df + 0.5) / (df + 0.5)); a term asked twice counts twice. n, df and the mean length
    are of the candidates, so that scores depend on the set.
    """

    def __init__(self, *, k1: float = 1.2, b: float = 0.75, terms: Terms | None = None) -> None:
        if k1 < 0 or not 0 <= b <= 1:
            raise InputError(f"k1 is {k1} and b is {b}; k1 must be at least 0, and b from 0 to 1.")
        self._k1, self._b = k1, b
        self._terms = terms or Terms()

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """Return the BM25 score of each candidate."""
        asked = Counter(self._terms.of(question))
        texts = [self._terms.of(c.text) for c in candidates]
        counts = [Counter(t for t in text if t in asked) for text in texts]
        frequency = Counter(t for count in counts for t in count)
        n = len(texts)
        mean = sum(map(len, texts)) / n if n else 0.0
        weight = {
            t: times * log(1 + (n - frequency[t] + 0.5) / (frequency[t] + 0.5)) for t, times in asked.items()
        }
        scores = []
        for text, count in zip(texts, counts, strict=True):
            norm = self._k1 * (1 - self._b + self._b * len(text) / mean) if text else 0.0
            scores.append(sum(weight[t] * count[t] / (count[t] + norm) for t in asked if count[t]))
        return scores


class TfidfRanker:
    """Cosine of TF-IDF vectors over word n-grams: the passage ranker for the paragraphs of retrieved documents.

    The weights are scikit-learn's defaults: raw counts times ln((1 + n) / (1 + df)) + 1, over the n
    candidates, each vector of length 1. n-grams of the question that no candidate has do not count.
    Scores are from 0 to 1 and depend on the set. Stop words (*terms*) are taken out before n-grams are formed.
    """

    def __init__(self, *, ngrams: tuple[int, int] = (1, 3), terms: Terms | None = None) -> None:
        if not 1 <= ngrams[0] <= ngrams[1]:
            raise InputError(f"ngrams is {ngrams}; it must be (shortest, longest), the shortest at least 1.")
        self._shortest, self._longest = ngrams
        self._terms = terms or Terms()

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """Return the cosine of each candidate and the question."""
        n = len(candidates)
        if not n:
            return []
        texts = [self._terms.of(question), *(self._terms.of(c.text) for c in candidates)]
        owners = np.repeat(np.arange(n + 1), [len(text) for text in texts])
        numbers: dict[str, int] = {}
        ids = np.array([numbers.setdefault(t, len(numbers)) for text in texts for t in text], dtype=np.int64)
        dots, squares = np.zeros(n + 1), np.zeros(n + 1)
        starts = np.arange(len(ids))
        keys = ids
        for length in range(1, self._longest + 1):
            if length > 1:
                starts, keys = _longer(ids, owners, starts, keys, length, len(numbers))
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1)
            if length >= self._shortest and len(keys):
                _add(dots, squares, owners[starts], keys)
        norms = np.sqrt(squares * squares[0])
        cosines = np.divide(dots, norms, out=np.zeros(n + 1), where=norms > 0)
        return [float(value) for value in cosines[1:]]


def _longer(
    ids: "Ints", owners: "Ints", starts: "Ints", keys: "Ints", length: int, vocabulary: int
) -> tuple["Ints", "Ints"]:
    """Return where the n-grams of *length* start, and a number for each, from those one word shorter."""
    ends = starts + length - 1
    fits = ends < len(ids)
    fits[fits] = owners[starts[fits]] == owners[ends[fits]]
    return starts[fits], keys[fits] * vocabulary + ids[ends[fits]]


def _add(dots: "Floats", squares: "Floats", owners: "Ints", keys: "Ints") -> None:
    """Add what the n-grams of one length give: products with text 0 (the question), and squared lengths."""
    n, size = len(dots) - 1, int(keys.max()) + 1
    pairs, counts = np.unique(owners * size + keys, return_counts=True)
    owner, gram = pairs // size, pairs % size
    frequency = np.bincount(gram[owner > 0], minlength=size)
    known = frequency[gram] > 0
    owner, gram = owner[known], gram[known]
    weights = counts[known] * (np.log((1 + n) / (1 + frequency[gram])) + 1)
    asked = np.zeros(size)
    asked[gram[owner == 0]] = weights[owner == 0]
    squares += np.bincount(owner, weights=weights**2, minlength=n + 1)
    dots += np.bincount(owner, weights=weights * asked[gram], minlength=n + 1)
