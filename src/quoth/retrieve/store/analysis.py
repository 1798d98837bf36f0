"""How text becomes search terms. An analyzer is a row of a table, built from the engine's own filters.

Stop words stay in the index, so that "to be or not to be" and "The Who" can be found; they are
left out of the *question*, unless it has nothing else, and so are (in English) the words that only
ask. Text is folded (NFKC, case, accents) before
it is cut. Scripts that are written without spaces are indexed character by character and searched
by pairs of neighbours, under every analyzer.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from quoth import text
from quoth.errors import InputError

LONGEST = 255
"""Longer tokens (in bytes of UTF-8) are not searchable."""


ENGLISH_STOP = "lucene"
"""Names ``text.STOP_WORDS``; other stop lists are the engine's own."""

NEAR = 3


@dataclass(frozen=True, slots=True)
class Row:
    """A language: its Snowball stemmer and stop list, and whether accents go before it stems.

    Stemmers of most languages know their accents; those lose theirs only after stemming.
    """

    name: str
    stemmer: str = ""
    stop: str = ""
    accents_first: bool = False


LANGUAGES = text.words(
    "arabic danish dutch finnish french german greek hungarian italian norwegian portuguese romanian russian "
    "spanish swedish tamil turkish"
)
"""What the engine stems, besides English."""

NO_STOP_LIST = frozenset(text.words("arabic greek romanian tamil turkish"))
"""Languages for which the engine has a stemmer and no stop words."""

TABLE: dict[str, Row] = {
    row.name: row
    for row in (
        Row("standard", accents_first=True),
        Row("english", stemmer="english", stop=ENGLISH_STOP, accents_first=True),
        Row("cjk", accents_first=True),
        *(Row(name, stemmer=name, stop="" if name in NO_STOP_LIST else name) for name in LANGUAGES),
    )
}

_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003134f])"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A search term and where it stands among the words of its text."""

    text: str
    position: int


class Analyzer:
    """Cuts text into terms: all of them for the index, without stop words for a question."""

    def __init__(self, name: str) -> None:
        row = TABLE.get(name)
        if row is None:
            raise InputError(
                f"There is no analyzer {name!r}.", hint=f"There are: {', '.join(sorted(TABLE))}."
            )
        self.name = name
        self._row = row
        self.engine = _build(row, stopped=False)
        self._question = _build(row, stopped=True)

    def prepare(self, raw: str) -> str:
        """Return *raw* as it is handed to the engine; offsets into it mean nothing."""
        if raw.isascii():
            return raw
        clean = raw.encode("utf-8", "replace").decode("utf-8")
        clean = text.fold(clean) if self._row.accents_first else unicodedata.normalize("NFKC", clean)
        return _UNSPACED.sub(r" \1 ", clean)

    def terms(self, raw: str) -> list[Token]:
        """Return every term of *raw*, stop words included, as the index has them."""
        return _tokens(self.engine, self.prepare(raw))

    def content_terms(self, raw: str) -> list[Token]:
        """Return the terms of *raw* without stop words, or all where nothing would be left."""
        prepared = self.prepare(raw)
        return _tokens(self._question, prepared) or _tokens(self.engine, prepared)

    def question_terms(self, raw: str) -> list[Token]:
        """Return the terms that a question is about: no stop words, no words that only ask.

        Positions stay those in the question. Where nothing would be left, less is dropped.
        """
        if self._row.stop != ENGLISH_STOP:
            return self.content_terms(raw)
        return _tokens(self._question, self.prepare(text.without_asking(raw))) or self.content_terms(raw)


def neighbours(tokens: list[Token]) -> Iterator[tuple[Token, Token]]:
    """Yield the terms of a question that follow each other, with at most two dropped words between them."""
    for left, right in pairwise(tokens):
        near = right.position - left.position <= NEAR
        if near and left.text != right.text and not (_unspaced(left) and _unspaced(right)):
            yield left, right


def groups(tokens: list[Token]) -> Iterator[tuple[Token, ...]]:
    """Yield what a question searches for: single terms, and pairs where a script has no spaces."""
    paired = set()
    for left, right in pairwise(tokens):
        if right.position == left.position + 1 and _unspaced(left) and _unspaced(right):
            paired |= {left.position, right.position}
            yield left, right
    for token in tokens:
        if token.position not in paired:
            yield (token,)


def _unspaced(token: Token) -> bool:
    return _UNSPACED.fullmatch(token.text) is not None


def _tokens(analyzer: Any, prepared: str) -> list[Token]:
    return [Token(t.text, t.position) for t in analyzer.pre_tokenize(prepared).tokens]


def _build(row: Row, *, stopped: bool) -> Any:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple())
    builder = builder.filter(Filter.remove_long(LONGEST)).filter(Filter.lowercase())
    if row.accents_first:
        builder = builder.filter(Filter.ascii_fold())
    if stopped and row.stop == ENGLISH_STOP:
        builder = builder.filter(Filter.custom_stopword(sorted(text.STOP_WORDS)))
    elif stopped and row.stop:
        builder = builder.filter(Filter.stopword(row.stop))
    if row.stemmer:
        builder = builder.filter(Filter.stemmer(row.stemmer))
    if not row.accents_first:
        builder = builder.filter(Filter.ascii_fold())
    return builder.build()


@lru_cache(maxsize=8)
def analyzer(name: str) -> Analyzer:
    """Return the analyzer of this *name*, built once. Raise ``InputError`` for an unknown one."""
    return Analyzer(name)
