import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.reading import combine, merge, probabilities
from quoth.types import Reading, Scored, Span

score = st.floats(-20, 20, allow_nan=False)


def reading_of(*spans: tuple[str, int, float], null: float = 0.0, read: int = 4) -> Reading:
    """Return a reading with these spans (text, passage, score), best first."""
    ordered = sorted(spans, key=lambda s: -s[2])
    return Reading(
        spans=tuple(Scored(Span(f"d{p}", 0, len(t), t), s) for t, p, s in ordered),
        passages=tuple(p for _, p, _ in ordered),
        null_score=null,
        read=read,
        windows=read,
        tokens=100,
    )


readings = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 3), score), max_size=8).flatmap(
    lambda spans: score.map(lambda null: reading_of(*spans, null=null))
)


@given(readings, st.lists(score, min_size=4, max_size=6))
def test_a_weight_of_nothing_changes_nothing(reading: Reading, scores: list[float]) -> None:
    """With a weight of 0 the reader alone decides."""
    assert combine(reading, scores, weight=0.0) == reading


@given(readings, st.lists(score, min_size=4, max_size=4), st.floats(0.01, 2))
def test_the_best_passage_keeps_its_scores(reading: Reading, scores: list[float], weight: float) -> None:
    """Spans of the best passage stay as they were, others fall by the weighted gap; none is lost."""
    combined = combine(reading, scores, weight=weight)
    assert combined.null_score == reading.null_score
    values = [s.score for s in combined.spans]
    assert values == sorted(values, reverse=True)
    before = sorted((s.item.text, p, s.score) for s, p in zip(reading.spans, reading.passages, strict=True))
    after = sorted(
        (s.item.text, p, s.score - weight * (scores[p] - max(scores)))
        for s, p in zip(combined.spans, combined.passages, strict=True)
    )
    assert [a[:2] for a in after] == [b[:2] for b in before]
    for a, b in zip(after, before, strict=True):
        assert a[2] == pytest.approx(b[2], abs=1e-9)


def test_the_retriever_can_turn_the_order() -> None:
    """A slightly better span of a passage that hardly matched loses to that of the best match."""
    reading = reading_of(("wrong", 1, 8.0), ("right", 0, 7.5), null=5.0)
    combined = combine(reading, [12.0, 4.0, 3.0, 2.0], weight=0.1)
    assert [s.item.text for s in combined.spans] == ["right", "wrong"]
    assert combined.passages == (0, 1)
    assert combined.null_odds == pytest.approx(-2.5)
    assert combined.spans[1].score == pytest.approx(7.2)


def test_passages_that_were_not_read_do_not_count() -> None:
    """Only the scores of the passages that were read set the best one; too few scores are refused."""
    reading = reading_of(("a", 0, 1.0), read=1)
    assert combine(reading, [1.0, 99.0], weight=1.0).spans[0].score == 1.0
    with pytest.raises(InputError, match="4 passages were read"):
        combine(reading_of(("a", 0, 1.0)), [1.0], weight=0.5)


@given(readings)
def test_shares_and_the_null_make_one(reading: Reading) -> None:
    """The shares fall with the scores and, with the null's, add up to 1."""
    shares = probabilities(reading)
    assert len(shares) == len(reading.spans)
    assert list(shares) == sorted(shares, reverse=True)
    if shares:
        null = math.exp(min(reading.null_odds, 700.0)) * shares[0]
        assert sum(shares) <= 1 + 1e-9
        assert sum(shares) + null == pytest.approx(1.0, abs=1e-6)


def test_shares_of_a_worked_example() -> None:
    """Two spans and the null, by hand: exp(2), exp(1) and exp(0) over their sum."""
    shares = probabilities(reading_of(("a", 0, 2.0), ("b", 0, 1.0), null=0.0))
    assert shares == pytest.approx((0.66524, 0.24473), abs=1e-5)


@given(readings)
def test_merging_loses_no_span(reading: Reading) -> None:
    """Every span is in one group, groups and members are best first, and a group says one thing."""
    groups = merge(reading)
    assert sorted(i for g in groups for i in g.members) == list(range(len(reading.spans)))
    assert [g.members[0] for g in groups] == sorted(g.members[0] for g in groups)
    for group in groups:
        assert list(group.members) == sorted(group.members)
        assert {reading.spans[i].item.text for i in group.members} == {group.text}


def test_what_differs_in_case_and_punctuation_says_the_same() -> None:
    """Equal strings are one group, with the evidence of each place kept; different ones are not."""
    reading = reading_of(
        ("two weeks", 0, 5.0), ("2 weeks", 0, 4.0), ("Two  weeks", 1, 3.0), ("“two weeks,”", 2, 2.0)
    )
    assert [(g.text, g.members) for g in merge(reading)] == [("two weeks", (0, 2, 3)), ("2 weeks", (1,))]


def test_the_null_may_be_that_of_the_best_spans_own_passage() -> None:
    """With own_null the null score follows the best span; without it the smallest of all stays."""
    spans = tuple(Scored(Span(d, 0, 1, "x"), score) for d, score in (("a", 5.0), ("b", 4.0)))
    reading = Reading(spans, (0, 1), -2.0, 2, 2, 10, nulls=(3.0, -2.0))
    assert combine(reading, [1.0, 1.0], weight=0.0).null_score == -2.0
    assert combine(reading, [1.0, 1.0], weight=0.0, own_null=True).null_score == 3.0
    turned = combine(reading, [0.0, 2.0], weight=1.0, own_null=True)
    assert (turned.spans[0].item.document_id, turned.null_score, turned.nulls) == ("b", -2.0, (-2.0, 3.0))
    untold = Reading(spans, (0, 1), -2.0, 2, 2, 10)
    assert combine(untold, [1.0, 1.0], weight=0.0, own_null=True).null_score == -2.0
