"""Threshold curves and tuned thresholds against scoring at each threshold by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.evaluate.curves import precision_coverage, threshold_curve, tune_threshold
from quoth.evaluate.spans import GoldSpans, score_spans

ROWS = st.lists(
    st.tuples(
        st.sampled_from([(), ("red",), ("red wine",)]),
        st.sampled_from(["", "red", "blue", None]),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=12,
)
Rows = list[tuple[tuple[str, ...], str | None, int]]


def build(rows: Rows) -> tuple[list[GoldSpans], dict[str, str], dict[str, float]]:
    """Gold, predictions and odds of some questions; None is a missing prediction."""
    gold = [GoldSpans(f"q{i}", answers) for i, (answers, _, _) in enumerate(rows)]
    said = {f"q{i}": text for i, (_, text, _) in enumerate(rows) if text is not None}
    return gold, said, {f"q{i}": float(odds) for i, (_, _, odds) in enumerate(rows) if f"q{i}" in said}


@given(ROWS)
def test_every_point_is_what_scoring_at_that_threshold_gives(rows: Rows) -> None:
    """EM, F1, HasAns F1, NoAns EM and coverage at each point must equal a fresh scoring with that threshold."""
    gold, said, odds = build(rows)
    scores = score_spans(gold, said, null_odds=odds)
    curve = threshold_curve(scores, odds, points=50)
    assert curve.threshold[0] == -math.inf
    for i, threshold in enumerate(curve.threshold):
        fresh = score_spans(gold, said, null_odds=odds, null_threshold=float(threshold))
        assert curve.exact[i] == pytest.approx(fresh.metrics["exact"])
        assert curve.f1[i] == pytest.approx(fresh.metrics["f1"])
        assert curve.coverage[i] == pytest.approx(100 * fresh.answered.mean())
        if "HasAns_f1" in fresh.metrics:
            assert curve.has_answer_f1[i] == pytest.approx(fresh.metrics["HasAns_f1"])
        if "NoAns_exact" in fresh.metrics:
            assert curve.no_answer_exact[i] == pytest.approx(fresh.metrics["NoAns_exact"])


@given(ROWS, st.sampled_from(["exact", "f1"]))
def test_the_tuned_threshold_can_be_had_in_use(rows: Rows, metric: str) -> None:
    """Applying the tuned threshold must give its value, and no other threshold may give more."""
    gold, said, odds = build(rows)
    scores = score_spans(gold, said, null_odds=odds)
    tuned = tune_threshold(scores, odds, metric=metric, split="dev")  # type: ignore[arg-type]
    at = [-math.inf, *range(5)]
    values = [score_spans(gold, said, null_odds=odds, null_threshold=t).metrics[metric] for t in at]
    used = score_spans(gold, said, null_odds=odds, null_threshold=tuned.threshold).metrics[metric]
    assert tuned.value == pytest.approx(used) == pytest.approx(max(values))


def test_precision_falls_as_coverage_grows_for_a_sensible_reader() -> None:
    """With the wrong answers at high odds, precision starts at 100 and ends at the share right."""
    gold = [GoldSpans(str(i), ("red",)) for i in range(10)]
    said = {str(i): "red" if i < 6 else "blue" for i in range(10)}
    odds = {str(i): float(i) for i in range(10)}
    curve = precision_coverage(score_spans(gold, said), odds)
    assert (curve.exact[0], curve.coverage[0]) == (100.0, 10.0)
    assert (curve.exact[-1], curve.coverage[-1]) == (pytest.approx(60.0), 100.0)
    assert (np.diff(curve.exact) <= 1e-9).all()
    assert 60 < curve.area < 100


def test_an_answer_to_an_unanswerable_question_is_wrong_in_precision() -> None:
    """Precision counts answers given; saying nothing is no answer, right or wrong."""
    gold = [GoldSpans("a", ("red",)), GoldSpans("b", ()), GoldSpans("c", ())]
    curve = precision_coverage(
        score_spans(gold, {"a": "red", "b": "x", "c": ""}), {"a": 0.0, "b": 0.0, "c": 0.0}
    )
    assert (curve.exact[-1], curve.coverage[-1]) == (50.0, pytest.approx(200 / 3))
    with pytest.raises(InputError, match="No question is answered"):
        precision_coverage(score_spans(gold, {}), {})


def test_curves_need_odds_for_all_and_two_points() -> None:
    """Missing odds and a one-point curve must be refused; so must tuning on test."""
    gold = [GoldSpans("a", ("red",))]
    scores = score_spans(gold, {"a": "red"})
    with pytest.raises(InputError, match="no null odds"):
        threshold_curve(scores, {})
    with pytest.raises(InputError, match="2 points"):
        threshold_curve(scores, {"a": 0.0}, points=1)
    with pytest.raises(InputError, match="marked 'test'"):
        tune_threshold(scores, {"a": 0.0}, split="test")
    assert tune_threshold(scores, {"a": 0.0}, split="test", allow_test=True).threshold == 0.0


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    """The first and the last threshold must survive thinning."""
    gold = [GoldSpans(str(i), ("red",)) for i in range(500)]
    said = {str(i): "red" for i in range(500)}
    curve = threshold_curve(score_spans(gold, said), {str(i): float(i) for i in range(500)}, points=11)
    assert len(curve.threshold) == 11
    assert (curve.threshold[0], curve.threshold[-1]) == (-math.inf, 499.0)
    assert (curve.exact[0], curve.exact[-1]) == (0.0, 100.0)
