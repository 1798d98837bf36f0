"""The floor that a reader sets for sentence rankers."""

from collections.abc import Sequence

from quoth.protocols import Reader
from quoth.types import Candidate, Passage

LOWEST = -1e4
"""The score of a text in which the reader finds no span at all."""


class SpanSentenceRanker:
    """Scores each text by what a reader finds in it: the best span's score less the null score.

    Every text is read by itself, so that its score does not depend on the others.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """Return minus the null odds of each candidate, at least -10,000."""
        return [self._score(question, candidate.text) for candidate in candidates]

    def _score(self, question: str, text: str) -> float:
        if not text.strip():
            return LOWEST
        reading = self._reader.read(question, [Passage("candidate", 0, len(text), text)])
        return max(-reading.null_odds, LOWEST)
