"""Pseudo-relevance feedback: words of the first hits are searched for, too (RM3).

Lavrenko and Croft, Relevance-Based Language Models, SIGIR 2001 (RM1, estimate of equation 9, here with
document weights in proportion to the retrieval scores); mixed with the question as Abdul-Jaleel et al.,
UMass at TREC 2004, do: P'(w) = original * P(w | question) + (1 - original) * P(w | hits).
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from quoth.errors import InputError
from quoth.protocols import Retriever
from quoth.retrieve.expand.lexicon import CLOSED, bare, stem
from quoth.text import words
from quoth.types import Passage, Query, Scored, Term

ORIGINAL = 0.5
"""The question's share of the weight, as is usual. On the questions measured here it hurts; 0.9 does not."""

BEGINNING = 5_000
"""Characters of a hit that are looked at: of a whole article its beginning tells most, and costs least."""


class Rm3Expander:
    """Adds the words that tell the first hits of a first search apart from the language at large, weighted.

    It searches once before the search. What earlier expanders added takes part in that.
    """

    def __init__(
        self, retriever: Retriever, *, docs: int = 10, terms: int = 10, original: float = ORIGINAL
    ) -> None:
        """*docs* hits give *terms* words; *original* (above 0, at most 1) is the question's share of the weight."""
        if docs < 1 or terms < 1 or not 0 < original <= 1:
            raise InputError(
                f"docs is {docs}, terms is {terms} and original is {original}; "
                "docs and terms must be at least 1, original above 0 and at most 1."
            )
        self._retriever = retriever
        self._docs = docs
        self._terms = terms
        self._original = original

    def expand(self, query: Query) -> Query:
        """Return *query* with at most *terms* terms, each with the origin ``rm3: in N of M hits``."""
        hits = self._retriever.retrieve(query, k=self._docs)
        chosen = relevance_model(hits, n=self._terms)
        asked = {stem(w) for w in _content(query.search or query.question)}
        total = sum(probability for _, probability, _ in chosen)
        if not chosen or not asked or total <= 0 or self._original == 1:
            return query
        scale = len(asked) * (1 - self._original) / self._original / total
        added = [
            Term(word, probability * scale, f"rm3: in {held} of {len(hits)} hits")
            for word, probability, held in chosen
        ]
        return replace(query, terms=(*query.terms, *added))


def relevance_model(hits: Sequence[Scored[Passage]], *, n: int) -> list[tuple[str, float, int]]:
    """Return the *n* likeliest (word, P(w | hits), hits that hold it); a stem's commonest form stands for it.

    P(w | hits) = sum over hits of (score / sum of scores) * (count of w / length), over words that are not
    closed-class; hits without a score above 0 count alike.
    """
    scores = [max(hit.score, 0.0) for hit in hits]
    if not sum(scores):
        scores = [1.0] * len(hits)
    found = [Counter(_content(f"{hit.item.title} {hit.item.text[:BEGINNING]}")) for hit in hits]
    shares: dict[str, float] = defaultdict(float)
    for counts, score in zip(found, scores, strict=True):
        unit = score / sum(scores) / max(counts.total(), 1)
        for word, count in counts.items():
            shares[word] += unit * count
    forms: dict[str, list[str]] = defaultdict(list)
    for word in shares:
        forms[stem(word)].append(word)
    model = {term: sum(shares[word] for word in words) for term, words in forms.items()}
    best = heapq.nsmallest(n, model, key=lambda term: (-model[term], term))
    return [
        (
            min(forms[term], key=lambda word: (-shares[word], word)),
            model[term],
            sum(any(word in counts for word in forms[term]) for counts in found),
        )
        for term in best
    ]


def _content(text: str) -> list[str]:
    return [w for w in map(bare, words(text)) if len(w) > 1 and w not in CLOSED]
