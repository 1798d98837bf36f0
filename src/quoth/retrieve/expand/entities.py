"""Entities of a question, and the phrase clauses that they become."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from quoth.errors import InputError, MissingExtraError
from quoth.retrieve.expand.gazetteer import Gazetteer
from quoth.retrieve.expand.lexicon import ASKING, CALENDAR, CLOSED, COMMANDS, bare, checked_weight
from quoth.text import fold, word_spans, words
from quoth.types import Phrase, Query

WEIGHT = 0.25
"""The weight of an entity's phrase clause: best of 0.1 to 2 for passages, on 2,000 SQuAD 2.0 train questions (whole
documents bear 1; docs/expansion.md)."""

_QUOTED = re.compile(
    r'"([^"]{2,100})"|“([^”]{2,100})”|«([^»]{2,100})»|(?<!\w)[\'‘](\S[^\'’]{1,100})[\'’](?!\w)'
)
_INNER = frozenset(words("of the de la le les du des del della di da dos von van der den el al bin ibn for"))
_GAP = re.compile(r"[\s]*(?:[.&/-]?\s*)")
_ADDRESSED = frozenset(words("the a an this that these those his her its their"))


@dataclass(frozen=True, slots=True)
class Entity:
    """A stretch of a question that names something, and what recognised it."""

    text: str
    start: int
    end: int
    origin: str


class Recogniser(Protocol):
    """Finds entities."""

    def entities(self, question: str) -> Sequence[Entity]:
        """Return the entities of *question*, from left to right, none overlapping another."""
        ...


def _no_names() -> Gazetteer:
    return Gazetteer(())


class RuleRecogniser:
    """Finds what is quoted, what is capitalised and what an index has as a title or heading.

    Capitalised words in a row are one entity, with words like *of* and *the* inside; *and* joins only what
    the names know whole. The first word counts where another capitalised one follows it. Numbers and dates
    alone are none. A question all in capitals, or with every word capitalised, is matched by its names only.
    """

    def __init__(self, names: Callable[[], Gazetteer] = _no_names) -> None:
        self._names = names

    def entities(self, question: str) -> Sequence[Entity]:
        """Return the entities of *question*; of two that overlap, what is quoted, then the longer one."""
        quoted = [(m.start(m.lastindex or 0), m.end(m.lastindex or 0)) for m in _QUOTED.finditer(question)]
        named = self._names().find(question)
        found = [(a, b, "quoted") for a, b in quoted]
        rest = [(a, b, "capitalised") for a, b in capitalised(question)] + [(a, b, "index") for a, b in named]
        found += sorted(rest, key=lambda e: (e[0] - e[1], e[0], e[2]))
        return [Entity(question[a:b], a, b, origin) for a, b, origin in _apart(found)]


class SpacyRecogniser:
    """Finds entities with a spaCy pipeline that the user has; times and amounts are none."""

    _LEFT_ALONE = frozenset({"DATE", "TIME", "CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY"})

    def __init__(self, model: str) -> None:
        """Load the pipeline *model*. Raise ``MissingExtraError`` without spaCy, ``InputError`` without the model."""
        try:
            import spacy
        except ImportError as problem:
            raise MissingExtraError(
                f"Entities by the spaCy model {model!r} need spaCy, which is not installed.",
                hint="pip install spacy, and take a model from spaCy's own site; or --expand entities.",
            ) from problem
        try:
            self._pipeline: Any = spacy.load(model)
        except OSError as problem:
            raise InputError(f"spaCy has no model {model!r}: {problem}") from problem

    def entities(self, question: str) -> Sequence[Entity]:
        """Return the entities that the pipeline finds."""
        found = self._pipeline(question).ents
        return [
            Entity(e.text, e.start_char, e.end_char, "spacy")
            for e in found
            if e.label_ not in self._LEFT_ALONE
        ]


class EntityExpander:
    """Adds a phrase clause for each entity of the question."""

    def __init__(self, recogniser: Recogniser, *, weight: float = WEIGHT, singles: bool = True) -> None:
        """*singles* says whether entities of one word count, too: for them a clause is a boost."""
        self._recogniser = recogniser
        self._weight = checked_weight(weight)
        self._singles = singles

    def expand(self, query: Query) -> Query:
        """Return *query* with a phrase for each entity, its origin ``entities: quoted`` (capitalised, index, spacy)."""
        known = {tuple(words(phrase.text)) for phrase in query.phrases}
        added = []
        for entity in self._recogniser.entities(query.question):
            key = tuple(words(entity.text))
            if key and key not in known and (len(key) > 1 or self._singles):
                known.add(key)
                added.append(Phrase(entity.text, self._weight, f"entities: {entity.origin}"))
        return replace(query, phrases=(*query.phrases, *added)) if added else query


def capitalised(question: str) -> list[tuple[int, int]]:
    """Return the spans of *question* that are written as names."""
    spans = word_spans(question)
    if _says_nothing(question, spans):
        return []
    runs: list[list[int]] = []
    for index, (start, end) in enumerate(spans):
        word = question[start:end]
        if not _is_name(word) and not (word.isdigit() and _follows(question, spans, runs, index)):
            continue
        if runs and _joined(question, spans, runs[-1][-1], index):
            runs[-1].append(index)
        elif _is_name(word):
            runs.append([index])
    found = []
    for run in runs:
        kept = _without_opening(question, spans, run)
        if kept and not all(_is_date(question[slice(*spans[i])]) for i in kept):
            last = spans[kept[-1]]
            found.append((spans[kept[0]][0], last[0] + len(bare(question[last[0] : last[1]]))))
    return found


def _says_nothing(question: str, spans: Sequence[tuple[int, int]]) -> bool:
    """Say whether capitals mean nothing here: all is capitals, or every word is written with one, askers included."""
    behind = [question[a:b] for a, b in spans[1:] if b - a > 3 or fold(question[a:b]) in ASKING]
    asking = any(fold(word) in ASKING and word[0].isupper() for word in behind)
    return question.isupper() or (asking and all(not w[0].islower() for w in behind))


def _is_name(word: str) -> bool:
    return any(c.isupper() for c in word) and (len(word) > 1 or word != "I")


def _is_date(word: str) -> bool:
    return word[0].isdigit() or fold(word) in CALENDAR


def _follows(
    question: str, spans: Sequence[tuple[int, int]], runs: Sequence[Sequence[int]], index: int
) -> bool:
    """Say whether the number at *index* stands directly behind a name ("Apollo 11")."""
    return bool(runs) and runs[-1][-1] == index - 1 and question[spans[index - 1][1] : spans[index][0]] == " "


def _joined(question: str, spans: Sequence[tuple[int, int]], last: int, index: int) -> bool:
    """Say whether the words from *last* to *index* are one name: only small inner words and spaces between."""
    between = [question[slice(*spans[i])] for i in range(last + 1, index)]
    gaps = (question[spans[i][1] : spans[i + 1][0]] for i in range(last, index))
    possessive = len(bare(question[slice(*spans[last])])) < spans[last][1] - spans[last][0]
    small = len(between) <= 2 and all(word in _INNER for word in between)
    return small and not possessive and all(_GAP.fullmatch(gap) for gap in gaps)


def _without_opening(question: str, spans: Sequence[tuple[int, int]], run: Sequence[int]) -> list[int]:
    """Return *run* without the question's first word where that is capitalised only for being first."""
    kept = list(run)
    if kept[0] != 0:
        return kept
    first = fold(question[slice(*spans[0])])
    if first in CLOSED or first in COMMANDS or bare(first) in CLOSED:
        kept = kept[1:]
        while kept and question[slice(*spans[kept[0]])].lower() in _ADDRESSED:
            kept = kept[1:]
        return kept
    alone = len(kept) == 1 and question[slice(*spans[0])][1:].islower() and bare(first) == first
    return [] if alone else kept


def _apart(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return those of *found*, the first ones first, that overlap none before, from left to right."""
    kept: list[tuple[int, int, str]] = []
    for start, end, origin in found:
        if all(end <= a or start >= b for a, b, _ in kept):
            kept.append((start, end, origin))
    return sorted(kept)
