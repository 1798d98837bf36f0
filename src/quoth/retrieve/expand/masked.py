"""Synonyms by a masked language model: what could stand in a word's place in this question."""

from collections.abc import Sequence
from typing import Protocol

from quoth.retrieve.expand.synonyms import Synonym, Word

THRESHOLD = 0.05
"""Words of a lower probability are left out. The blog names its threshold as a parameter, and no value for it."""

LOOKED_AT = 10


class GapFiller(Protocol):
    """Says which words fit a gap; ``quoth.models.masked.MaskedModel`` does."""

    def fill(self, texts: Sequence[tuple[str, int, int]], *, n: int) -> list[list[tuple[str, float]]]:
        """Return, for each (text, start, end), the n likeliest words in place of that stretch, with probabilities."""
        ...


class MaskedSynonyms:
    """Takes the likeliest words in a word's place for its synonyms. They fit there; they need not mean the same."""

    name = "mlm"

    def __init__(self, model: GapFiller, *, threshold: float = THRESHOLD) -> None:
        self._model = model
        self._threshold = threshold

    def synonyms(self, question: str, chosen: Sequence[Word]) -> Sequence[Sequence[Synonym]]:
        """Return what fits in the place of each word, by probability; all places go through the model together."""
        gaps = [(question, word.start, word.end) for word in chosen]
        return [
            [Synonym(text, f"probability {share:.2f}") for text, share in found if share >= self._threshold]
            for found in self._model.fill(gaps, n=LOOKED_AT)
        ]
