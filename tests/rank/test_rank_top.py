"""Where scores become an order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError, ModelError
from quoth.rank import top
from quoth.types import Scored

SCORES = st.lists(st.floats(-3, 3).map(round), max_size=12)


@given(SCORES, st.one_of(st.none(), st.integers(0, 15)))
def test_order_is_total_and_stable(scores: list[int], k: int | None) -> None:
    """Scores do not increase, ties keep the order given, and nothing is lost but what k cuts."""
    found = top(range(len(scores)), scores, k=k)
    assert len(found) == min(len(scores), len(scores) if k is None else k)
    assert found == tuple(
        Scored(i, float(scores[i])) for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]
    )


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_scores_that_are_no_numbers_are_the_rankers_fault(score: float) -> None:
    """A score that is not finite is an error that names it and its place."""
    with pytest.raises(ModelError, match="Score 1 is"):
        top("ab", [0.0, score])


def test_numbers_must_match() -> None:
    """One score for each item, and no negative k."""
    with pytest.raises(ModelError, match="1 scores for 2 texts"):
        top("ab", [0.0])
    with pytest.raises(InputError, match="negative"):
        top("ab", [0.0, 1.0], k=-1)
