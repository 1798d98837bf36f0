"""Scores for passages and sentences, and the one order that they become."""

from collections.abc import Callable, Mapping

from quoth.protocols import Ranker
from quoth.rank.lexical import (
    Bm25Ranker,
    ConstantRanker,
    IdfCountRanker,
    Terms,
    TfidfRanker,
    WordCountRanker,
)
from quoth.rank.span import SpanSentenceRanker
from quoth.rank.top import top
from quoth.rank.types import AnswerTypeRanker

RANKERS: Mapping[str, Callable[[], Ranker]] = {
    "constant": ConstantRanker,
    "count": WordCountRanker,
    "idf": IdfCountRanker,
    "bm25": Bm25Ranker,
    "tfidf": TfidfRanker,
    "types": AnswerTypeRanker,
}
"""The rankers that need no model, by the name that ``--ranker`` takes."""

__all__ = [
    "RANKERS",
    "AnswerTypeRanker",
    "Bm25Ranker",
    "ConstantRanker",
    "IdfCountRanker",
    "SpanSentenceRanker",
    "Terms",
    "TfidfRanker",
    "WordCountRanker",
    "top",
]
