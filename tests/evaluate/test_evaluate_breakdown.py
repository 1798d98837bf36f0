"""Results by kind of question, as tables and plots."""

import numpy as np

from quoth.datasets import SelectionCandidate, SelectionDataset, SelectionQuestion
from quoth.evaluate import selection_cases
from quoth.evaluate.breakdown import breakdown


def test_word_overlap_says_what_it_is() -> None:
    """The table and the plot by word overlap carry their definition; the other ways need none."""
    asked = [
        ("q1", "Who wrote the book?", "Ada wrote the book."),
        ("q2", "Where is it sold?", "In the barn."),
    ]
    data = SelectionDataset(
        "toy",
        "dev",
        tuple(SelectionQuestion(id, q, (SelectionCandidate(f"{id}-0", a, 1),)) for id, q, a in asked),
    )
    tables, plots = breakdown({"AP": np.array([1.0, 0.5])}, selection_cases(data))
    for parts in (tables, plots):
        notes = {part.name: part.note for part in parts}
        assert "that the sentence with the answer holds." in notes["by-word-overlap"]
        assert "holds" not in notes["by-question-type"]
