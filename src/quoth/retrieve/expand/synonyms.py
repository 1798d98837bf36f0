"""Synonyms, whatever they come from: which words of a question get some, and which of them are fit to search for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from quoth.errors import InputError
from quoth.retrieve.expand.entities import Recogniser
from quoth.retrieve.expand.lexicon import CALENDAR, CLOSED, COMMANDS, bare, checked_weight, stem
from quoth.text import fold, word_spans
from quoth.types import Query, Term

PER_WORD = 2
"""Synonyms for each word, as in the blog's experiments."""

WEIGHT = 0.1
"""The weight of a synonym's clause: up to 0.3 it does little harm, at 1 (the blog's) much (docs/expansion.md)."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question that may be expanded, folded, and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Synonym:
    """A word that may stand for another, and why: ``reason`` is printed ("cosine 0.82")."""

    text: str
    reason: str = ""


class SynonymSource(Protocol):
    """Knows synonyms."""

    @property
    def name(self) -> str:
        """What origins call it."""
        ...

    def synonyms(self, question: str, chosen: Sequence[Word]) -> Sequence[Sequence[Synonym]]:
        """Return the synonyms of each of the *chosen* words in its place, the best first, unfiltered."""
        ...


def _no_names(word: str) -> bool:
    return False


def _every_word(word: str) -> bool:
    return True


class SynonymExpander:
    """Adds synonyms of the question's nouns, verbs, adjectives and adverbs outside entities, as weighted terms.

    Left alone are entities, stop words and other closed classes, words with digits, single letters, and what
    *expandable* refuses (WordNet: words of no open class). Left out are synonyms that are not of letters only,
    stop words, names (*is_name*), and those that share a stem with a word of the question or another synonym.
    """

    def __init__(
        self,
        source: SynonymSource,
        recogniser: Recogniser,
        *,
        is_name: Callable[[str], bool] = _no_names,
        expandable: Callable[[str], bool] = _every_word,
        n: int = PER_WORD,
        weight: float = WEIGHT,
    ) -> None:
        """Raise ``InputError`` for an *n* below 1 or a weight that is not above 0."""
        if n < 1:
            raise InputError(f"n is {n}; it must be at least 1.")
        self._source = source
        self._recogniser = recogniser
        self._is_name = is_name
        self._expandable = expandable
        self._n = n
        self._weight = checked_weight(weight)

    def expand(self, query: Query) -> Query:
        """Return *query* with at most n terms for each word, each with the origin ``SOURCE: word (reason)``."""
        chosen = [w for w in candidates(query.question, self._recogniser) if self._expandable(w.text)]
        if not chosen:
            return query
        question = [fold(query.question[a:b]) for a, b in word_spans(query.question)]
        taken = {stem(bare(word)) for word in question} | {stem(fold(term.text)) for term in query.terms}
        added: list[Term] = []
        found = self._source.synonyms(query.question, chosen)
        for word, listed in zip(chosen, found, strict=True):
            for synonym in self._fit(listed, taken):
                why = f" ({synonym.reason})" if synonym.reason else ""
                added.append(Term(fold(synonym.text), self._weight, f"{self._source.name}: {word.text}{why}"))
        return replace(query, terms=(*query.terms, *added)) if added else query

    def _fit(self, listed: Sequence[Synonym], taken: set[str]) -> list[Synonym]:
        """Return the first n synonyms that may be used, and note their stems in *taken*."""
        kept: list[Synonym] = []
        for synonym in listed:
            text = fold(synonym.text)
            if len(kept) == self._n:
                break
            if len(text) < 2 or not text.isalpha() or text in CLOSED or text in CALENDAR:
                continue
            if stem(text) not in taken and not self._is_name(text):
                taken.add(stem(text))
                kept.append(synonym)
        return kept


def candidates(question: str, recogniser: Recogniser) -> list[Word]:
    """Return the words of *question* that may be expanded, in order, each stem once."""
    entities = recogniser.entities(question)
    found: dict[str, Word] = {}
    for start, end in word_spans(question):
        text = fold(bare(question[start:end]))
        inside = any(entity.start < end and start < entity.end for entity in entities)
        opens = not found and text in COMMANDS
        closed = text in CLOSED or text in CALENDAR or opens
        if len(text) > 1 and text.isalpha() and not closed and not inside:
            found.setdefault(stem(text), Word(text, start, start + len(bare(question[start:end]))))
    return list(found.values())
