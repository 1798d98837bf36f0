"""Curated synonyms and acronyms: a text file that somebody who knows the documents keeps.

A line is ``word = other, other phrase``: a question with the left side is searched for the right ones, too.
``a == b, c`` holds in all directions. ``#`` begins a comment. Words and phrases are compared folded; one that
is also an English function word (``IT``, ``WHO``, ``US``) counts only where it is written as in the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from quoth.errors import InputError
from quoth.retrieve.expand.gazetteer import folded_words
from quoth.retrieve.expand.lexicon import CLOSED, bare, checked_weight
from quoth.text import fold, word_spans
from quoth.types import Phrase, Query, Term

WEIGHT = 1.0
"""The weight of a curated word's clause: as if it had been asked for."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is searched for where a question has ``left``; ``exact`` where case counts. ``line`` is the file's."""

    left: str
    right: tuple[str, ...]
    line: int
    exact: bool = False


class ListExpander:
    """Adds what a curated list has for the words and phrases of the question: words as terms, phrases as phrases."""

    def __init__(self, rules: Sequence[Rule], *, name: str = "list", weight: float = WEIGHT) -> None:
        self._name = name
        self._weight = checked_weight(weight)
        self._rules: dict[tuple[str, ...], list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(tuple(folded_words(rule.left)), []).append(rule)
        self._longest = max((len(key) for key in self._rules), default=0)

    def expand(self, query: Query) -> Query:
        """Return *query* with the other words, each with the origin ``list FILE:LINE: word``."""
        terms: list[Term] = []
        phrases: list[Phrase] = []
        known = {tuple(folded_words(t.text)) for t in query.terms}
        known |= {tuple(folded_words(p.text)) for p in query.phrases}
        for rule in self._matching(query.question):
            origin = f"{self._name}:{rule.line}: {rule.left}"
            for text in rule.right:
                key = tuple(folded_words(text))
                if not key or key in known:
                    continue
                known.add(key)
                if len(key) == 1:
                    terms.append(Term(text, self._weight, origin))
                else:
                    phrases.append(Phrase(text, self._weight, origin))
        if not terms and not phrases:
            return query
        return replace(query, terms=(*query.terms, *terms), phrases=(*query.phrases, *phrases))

    def _matching(self, question: str) -> Iterator[Rule]:
        """Yield the rules that hold, the longest match at each place from the left."""
        spans = word_spans(question)
        written = [bare(question[a:b]) for a, b in spans]
        folded = [fold(word) for word in written]
        at = 0
        while at < len(folded):
            for length in range(min(self._longest, len(folded) - at), 0, -1):
                rules = self._rules.get(tuple(folded[at : at + length]), [])
                said = " ".join(written[at : at + length])
                held = [rule for rule in rules if not rule.exact or said == rule.left]
                if held:
                    yield from held
                    at += length - 1
                    break
            at += 1


def load_list(path: Path) -> tuple[Rule, ...]:
    """Read a curated list, again only when it has changed. Raise ``InputError`` with the line that cannot be read."""
    try:
        facts = path.stat()
        return _load(path, facts.st_mtime_ns, facts.st_size)
    except OSError as problem:
        raise InputError(f"The list {path} cannot be read: {problem.strerror}.") from problem
    except UnicodeDecodeError as problem:
        raise InputError(f"The list {path} is not UTF-8: {problem.reason}.") from problem


@lru_cache(maxsize=8)
def _load(path: Path, mtime_ns: int, size: int) -> tuple[Rule, ...]:
    return parse_list(path.read_text(encoding="utf-8-sig"), name=str(path))


def parse_list(text: str, *, name: str = "list") -> tuple[Rule, ...]:
    """Return the rules of a curated list's text. Raise ``InputError`` with the line that cannot be read."""
    rules: list[Rule] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].strip()
        if not line:
            continue
        both = "==" in line
        left, mark, rest = line.partition("==" if both else "=")
        right = tuple(part.strip() for part in rest.split(",") if part.strip())
        sides = (left.strip(), *right)
        if not mark or not right or not all(folded_words(side) for side in sides):
            raise InputError(
                f"{name}, line {number}: {raw.strip()[:60]!r} is not `word = other, other phrase`.",
                hint="Write == for both directions, and # before a comment.",
            )
        for at, side in enumerate(sides if both else sides[:1]):
            others = (*sides[:at], *sides[at + 1 :])
            rules.append(Rule(side, others, number, exact=_is_function_word(side)))
    return tuple(rules)


def _is_function_word(side: str) -> bool:
    key = folded_words(side)
    return len(key) == 1 and key[0] in CLOSED
