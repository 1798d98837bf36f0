"""Sentences scored by what a reader finds in them."""

from quoth.rank import SpanSentenceRanker, top
from quoth.rank.span import LOWEST
from quoth.testing import FakeReader, check_ranker
from quoth.types import Candidate


def test_sentence_with_the_best_span_comes_first() -> None:
    """The text in which the reader is surest wins; without a span it gets the floor."""
    ranker = SpanSentenceRanker(FakeReader({"1529": 5.0, "1530": 3.0}))
    texts = ["It began in 1530.", "Nothing here.", "It began in 1529.", "  "]
    scores = ranker.score("When?", [Candidate(t) for t in texts])
    assert [s.item for s in top(texts, scores)][:2] == [texts[2], texts[0]]
    assert list(scores[1::2]) == [LOWEST, LOWEST]


def test_scores_do_not_depend_on_the_others() -> None:
    """It keeps a ranker's contract, independence of the set included."""
    check_ranker(SpanSentenceRanker(FakeReader({"apple": 2.0})), independent=True)
