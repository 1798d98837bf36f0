"""Triggering: question level, section level, thresholds tuned on one set and used on another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.evaluate.figures import TUNED_HERE, Figure, refuse_test, tuning_label
from quoth.evaluate.ranking import GoldRanking
from quoth.evaluate.triggering import card_f1, score_triggering, tune_triggering

Rows = list[list[tuple[bool, int]]]
ROWS = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=4), min_size=1, max_size=8
)


def build(rows: Rows) -> tuple[list[GoldRanking], dict[str, dict[str, float]]]:
    """Gold and run of some questions: each candidate is (label, score)."""
    gold = [
        GoldRanking(f"q{i}", tuple(str(j) for j in range(len(row))), tuple(label for label, _ in row))
        for i, row in enumerate(rows)
    ]
    return gold, {f"q{i}": {str(j): float(s) for j, (_, s) in enumerate(row)} for i, row in enumerate(rows)}


@given(ROWS, st.integers(-1, 5))
def test_question_level_equals_the_definition(rows: Rows, threshold: int) -> None:
    """P = right triggers / triggers and R = right triggers / answerable, counted one question at a time."""
    gold, run = build(rows)
    triggers = right = answerable = 0
    for row in rows:
        top = max(score for _, score in row)
        label = next(label for label, score in row if score == top)
        triggers += top >= threshold
        right += top >= threshold and label
        answerable += any(label for label, _ in row)
    ours = score_triggering(gold, run, level="question", threshold=threshold)
    precision = right / triggers if triggers else 0.0
    recall = right / answerable if answerable else 0.0
    assert (ours.precision, ours.recall) == (precision, recall)
    both = precision + recall
    assert ours.f1 == pytest.approx(2 * precision * recall / both if both else 0.0)


@given(ROWS, st.integers(-1, 5))
def test_section_level_f1_is_the_cards(rows: Rows, threshold: int) -> None:
    """One decision a section: F1 must equal the card's recipe over the flat list of decisions."""
    gold, run = build(rows)
    flat = [(int(score >= threshold), int(label)) for row in rows for label, score in row]
    ours = score_triggering(gold, run, level="section", threshold=threshold)
    assert ours.f1 == pytest.approx(card_f1([p for p, _ in flat], [g for _, g in flat]))
    assert ours.metrics["n"] == len(flat)


@given(ROWS, st.sampled_from(["question", "section"]))
def test_the_tuned_threshold_is_the_best_of_all(rows: Rows, level: str) -> None:
    """No threshold among the scores may beat the tuned one on the set it was tuned on."""
    gold, run = build(rows)
    tuned = tune_triggering(gold, run, level=level, split="dev")  # type: ignore[arg-type]
    at = {t: score_triggering(gold, run, level=level, threshold=t).f1 for t in range(-1, 6)}  # type: ignore[arg-type]
    assert tuned.value == pytest.approx(max(at.values()))
    assert at[int(tuned.threshold)] == pytest.approx(tuned.value)


def test_a_wrong_sentence_on_an_answerable_question_is_a_false_positive() -> None:
    """Triggering with the wrong sentence must cost precision and gain no recall."""
    gold, run = build([[(True, 1), (False, 2)], [(False, 3)], [(True, 4)]])
    scores = score_triggering(gold, run, level="question", threshold=2)
    assert (scores.precision, scores.recall) == (pytest.approx(1 / 3), 0.5)


def test_the_first_maximum_wins_a_tie() -> None:
    """Of equal scores the earlier sentence is the top one."""
    first = build([[(True, 1), (False, 1)]])
    second = build([[(False, 1), (True, 1)]])
    assert score_triggering(*first, level="question", threshold=0).f1 == 1.0
    assert score_triggering(*second, level="question", threshold=0).f1 == 0.0


def test_no_trigger_at_all_is_zero_and_a_missing_question_triggers_nothing() -> None:
    """Neither silence nor a missing run may divide by zero."""
    gold, run = build([[(True, 1)], [(False, 1)]])
    assert score_triggering(gold, run, level="question", threshold=9).metrics["f1"] == 0.0
    silent = score_triggering(gold, {}, level="question", threshold=float("-1e9"))
    assert (silent.f1, silent.missing) == (0.0, 2)
    with pytest.raises(InputError, match="no threshold to tune"):
        tune_triggering(gold, {}, level="question", split="dev")


def test_a_test_split_is_never_tuned_on_unless_that_is_said() -> None:
    """Tuning on a split marked test must be refused with the way out, and labelled where it was forced."""
    gold, run = build([[(True, 1)]])
    with pytest.raises(InputError, match="marked 'test'") as refused:
        tune_triggering(gold, run, level="question", split="test")
    assert "--i-know-this-is-test" in refused.value.hint
    assert tune_triggering(gold, run, level="question", split="test", allow_test=True).tuned_on == "test"
    assert refuse_test("dev", False) == ""
    assert "test split" in refuse_test("test", True)


def test_reporting_on_the_tuning_set_is_labelled() -> None:
    """A threshold scored on its own tuning set must say so; on another set it names where it came from."""
    gold, run = build([[(True, 1)]])
    here = score_triggering(gold, run, level="question", threshold=1, tuned_on="dev", scored_on="dev")
    there = score_triggering(gold, run, level="question", threshold=1, tuned_on="dev", scored_on="other")
    assert here.metrics["tuned_on"] == here.conventions["threshold"] == TUNED_HERE
    assert there.metrics["tuned_on"] == "dev"
    assert tuning_label("", "") == ""


def test_the_cards_f1_never_divides_by_zero() -> None:
    """No decisions, no positives and no hits must all be 0."""
    assert card_f1([], []) == card_f1([0], [1]) == card_f1([1], [0]) == 0
    assert card_f1([1, 1, 0], [1, 0, 1]) == 0.5


def test_nothing_to_score_and_scores_that_are_no_numbers_are_refused() -> None:
    """Bad input must end in one clear line."""
    with pytest.raises(InputError, match="no questions"):
        score_triggering([], {}, level="question", threshold=0)
    gold, _ = build([[(True, 1)]])
    with pytest.raises(InputError, match="not a number"):
        score_triggering(gold, {"q0": {"0": float("nan")}}, level="section", threshold=0)


def test_a_figure_prints_with_all_that_must_be_said() -> None:
    """Value, interval, level, n, convention, split and tuning must stand in one line."""
    figure = Figure("MAP", 0.8412, 785, 0.821, 0.8601, convention="clean", split="dev", tuned_on=TUNED_HERE)
    assert str(figure) == "MAP 0.8412 [0.8210, 0.8601] (95%, n=785, clean, split dev, tuned on this set)"
    assert str(Figure("EM", 0.5, 1000)) == "EM 0.5000 (n=1,000)"
