"""Question processing before the search: stop and asking words out, n-grams as phrases, the focus set apart."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from quoth.errors import InputError
from quoth.retrieve.expand.lexicon import CLOSED, COMMANDS, bare, checked_weight
from quoth.text import fold, word_spans, words
from quoth.types import Phrase, Query, Term

NGRAM_WEIGHT = 0.1
"""The weight of an n-gram's phrase clause: from 0.05 to 0.2 it changes next to nothing, above that it hurts."""

FOCUS_WEIGHT = 0.1
"""The weight that the focus gets on top: 0.1 changes nothing, 0.5 hurts (docs/expansion.md)."""

_ASKED = re.compile(r"\b(?:what|which|how\s+many|how\s+much|whose)\b", re.IGNORECASE)
_OPENING = frozenset(words("is are was were s the a an kind type sort of name names"))


class KeywordExpander:
    """Searches for the question's keywords: no stop words, no asking words, no "name" or "describe" up front."""

    def expand(self, query: Query) -> Query:
        """Return *query* with ``search`` set to its keywords, in order; unchanged where nothing would be left."""
        kept = keywords(query.search or query.question)
        return replace(query, search=" ".join(word for word, _, _ in kept)) if kept else query


class NgramExpander:
    """Adds the question's n-grams of keywords that stand next to each other as phrases."""

    def __init__(self, *, shortest: int = 2, longest: int = 3, weight: float = NGRAM_WEIGHT) -> None:
        if not 2 <= shortest <= longest:
            raise InputError(f"n-grams go from {shortest} to {longest}; it must be from 2 up.")
        self._lengths = range(shortest, longest + 1)
        self._weight = checked_weight(weight)

    def expand(self, query: Query) -> Query:
        """Return *query* with a phrase for each n-gram, its origin ``ngrams: N``."""
        known = {fold(phrase.text) for phrase in query.phrases}
        added = []
        for run in _runs(query.question):
            for length in self._lengths:
                for at in range(len(run) - length + 1):
                    text = query.question[run[at][1] : run[at + length - 1][2]]
                    if fold(text) not in known:
                        known.add(fold(text))
                        added.append(Phrase(text, self._weight, f"ngrams: {length}"))
        return replace(query, phrases=(*query.phrases, *added)) if added else query


class FocusExpander:
    """Adds weight to what the question asks about ("which *German city* ...")."""

    def __init__(self, *, weight: float = FOCUS_WEIGHT) -> None:
        self._weight = checked_weight(weight)

    def expand(self, query: Query) -> Query:
        """Return *query* with a term for each word of its focus, the origin ``focus``."""
        added = [Term(word, self._weight, "focus") for word, _, _ in keywords(focus(query.question))]
        return replace(query, terms=(*query.terms, *added)) if added else query


def keywords(question: str) -> list[tuple[str, int, int]]:
    """Return the words of *question* that are neither stop words nor ask, and where they stand."""
    spans = word_spans(question)
    found = []
    for index, (start, end) in enumerate(spans):
        word = bare(question[start:end])
        folded = fold(word)
        opens = index == 0 and folded in COMMANDS
        named = index > 0 and word.isupper() and len(word) > 1 and not question.isupper()
        if word and (named or (folded not in CLOSED and not opens)):
            found.append((word, start, start + len(word)))
    return found


def focus(question: str) -> str:
    """Return the words that the answer would take the place of, besides the asking word; none for who, when or where.

    What stands behind what, which, whose or how many up to the first verb or preposition that is known:
    "What German city was ..." has "German city", "What is the name of the river ..." has "river".
    """
    match = _ASKED.search(question)
    if match is None:
        return ""
    rest = question[match.end() :]
    spans = word_spans(rest)
    while spans and fold(rest[slice(*spans[0])]) in _OPENING:
        spans = spans[1:]
    taken: list[tuple[int, int]] = []
    for start, end in spans:
        if fold(rest[start:end]) in CLOSED or (taken and rest[taken[-1][1] : start].strip()):
            break
        taken.append((start, end))
    return rest[taken[0][0] : taken[-1][1]] if taken and len(taken) <= 4 else ""


def _runs(question: str) -> list[Sequence[tuple[str, int, int]]]:
    """Return the keywords of *question* in runs of neighbours, with nothing but a space between them."""
    found = keywords(question)
    runs: list[list[tuple[str, int, int]]] = [found[:1]] if found else []
    for left, right in pairwise(found):
        if question[left[2] : right[1]] in (" ", "-"):
            runs[-1].append(right)
        else:
            runs.append([right])
    return list(runs)
