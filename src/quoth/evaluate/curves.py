"""What a null threshold buys: EM and F1 by threshold, precision against coverage, and the best one.

A question is answered where its null odds are at most the threshold. Questions of equal odds move
together here, so every point can be had in use (the official sweep of ``best_*`` parts them).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError
from quoth.evaluate.figures import TunedThreshold, refuse_test
from quoth.evaluate.spans import SpanScores

Array = NDArray[np.float64]
Metric = Literal["exact", "f1"]


@dataclass(frozen=True)
class ThresholdCurve:
    """Figures by threshold, ascending, each of shape (points,), in per cent but for ``threshold``.

    The first threshold is minus infinity: nothing is answered. ``coverage`` is the share of questions
    answered; NaN stands where there are no questions of a kind.
    """

    threshold: Array
    exact: Array
    f1: Array
    has_answer_f1: Array
    no_answer_exact: Array
    coverage: Array


@dataclass(frozen=True)
class PrecisionCurve:
    """Precision of what is answered against how much is, by threshold, each of shape (points,), in per cent.

    ``exact`` and ``f1`` are over the questions answered with text; an answer to an unanswerable question is
    wrong. ``area`` is the mean exact match over all coverages (1 less the area under the risk-coverage curve).
    """

    threshold: Array
    coverage: Array
    exact: Array
    f1: Array
    area: float


def threshold_curve(
    scores: SpanScores, null_odds: Mapping[str, float], *, points: int = 201
) -> ThresholdCurve:
    """Return EM and F1 at up to *points* thresholds, evenly spaced in questions.

    Raises ``InputError`` where odds are missing for a predicted question.
    """
    odds, order, ends = _sorted(scores, null_odds)
    unanswerable = ~scores.has_answer
    n = len(odds)

    def swept(column: Array, part: Array | None = None) -> Array:
        """Return the mean of *column* where answered, and of "has no answer" where not, at each point."""
        within = np.ones(n) if part is None else part
        gain = np.where(np.isnan(odds), 0.0, column - unanswerable) * within
        start = float((unanswerable * within)[~np.isnan(odds)].sum())
        totals = start + np.concatenate([[0.0], np.cumsum(gain[order])])[ends]
        with np.errstate(invalid="ignore"):
            return np.asarray(100.0 * totals / np.float64(within.sum()), dtype=np.float64)

    thresholds = np.concatenate([[-np.inf], odds[order]])[ends]
    covered = np.concatenate([[0.0], np.cumsum(_given(scores)[order])])[ends]
    keep = _thin(len(ends), points)
    return ThresholdCurve(
        threshold=thresholds[keep],
        exact=swept(scores.raw_exact)[keep],
        f1=swept(scores.raw_f1)[keep],
        has_answer_f1=swept(scores.raw_f1, scores.has_answer.astype(np.float64))[keep],
        no_answer_exact=swept(scores.raw_exact, unanswerable.astype(np.float64))[keep],
        coverage=(100.0 * covered / n)[keep],
    )


def precision_coverage(
    scores: SpanScores, null_odds: Mapping[str, float], *, points: int = 201
) -> PrecisionCurve:
    """Return precision against coverage, the surest questions first.

    Raises ``InputError`` where odds are missing, or nothing at all is answered.
    """
    odds, order, ends = _sorted(scores, null_odds)
    given = _given(scores)[order]
    answered = np.cumsum(given)
    at = ends[1:] - 1
    at = at[answered[at] > 0] if len(at) else at
    if not len(at):
        raise InputError("No question is answered, so there is no precision to draw.")
    right = np.where(scores.has_answer, scores.raw_exact, 0.0)[order] * given
    close = np.where(scores.has_answer, scores.raw_f1, 0.0)[order] * given
    exact = 100.0 * np.cumsum(right)[at] / answered[at]
    f1 = 100.0 * np.cumsum(close)[at] / answered[at]
    steps = np.diff(answered[at], prepend=0.0)
    keep = _thin(len(at), points)
    return PrecisionCurve(
        threshold=odds[order][at][keep],
        coverage=(100.0 * answered[at] / len(odds))[keep],
        exact=exact[keep],
        f1=f1[keep],
        area=float((exact * steps).sum() / steps.sum()),
    )


def tune_threshold(
    scores: SpanScores,
    null_odds: Mapping[str, float],
    *,
    metric: Metric = "f1",
    split: str,
    name: str = "",
    allow_test: bool = False,
) -> TunedThreshold:
    """Return the null threshold of the highest EM or F1; of equals, the one that answers least.

    It is for use on another set. Raises ``InputError`` on a split marked test unless *allow_test* is set.
    """
    refuse_test(split, allow_test, doing="tuning a threshold")
    curve = threshold_curve(scores, null_odds, points=len(scores.ids) + 1)
    values = curve.f1 if metric == "f1" else curve.exact
    best = int(values.argmax())
    return TunedThreshold(float(curve.threshold[best]), float(values[best]), metric, name or split)


def _given(scores: SpanScores) -> Array:
    """Return 1 for each question whose own prediction, threshold aside, is a text."""
    return scores.predicted.astype(np.float64)


def _sorted(
    scores: SpanScores, null_odds: Mapping[str, float]
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """Return the odds, their order (missing ones left out), and after how many of it each value ends."""
    absent = set(scores.missing)
    odds = np.array([np.nan if id in absent else null_odds.get(id, np.inf) for id in scores.ids])
    lacking = [id for id in scores.ids if id not in absent and id not in null_odds]
    if lacking:
        raise InputError(
            f"{len(lacking)} predicted questions have no null odds, {lacking[0]!r} for one.",
            hint="Predictions and null odds must come from the same run.",
        )
    order = np.argsort(odds, kind="stable")[: int((~np.isnan(odds)).sum())]
    ranked = odds[order]
    ends = (
        np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)) + 1 if len(ranked) else np.array([], int)
    )
    return odds, order.astype(np.int64), np.concatenate([[0], ends]).astype(np.int64)


def _thin(n: int, points: int) -> NDArray[np.int64]:
    if points < 2:
        raise InputError(f"A curve needs 2 points or more, not {points}.")
    return np.unique(np.linspace(0, n - 1, min(n, points)).round().astype(np.int64))
