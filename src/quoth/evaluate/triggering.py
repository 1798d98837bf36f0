"""Answer triggering: is there an answer at all? At question level (WikiQA) and at section level (SelQA).

Question level, as in the WikiQA triggering evaluation (Yang, Yih and Meek 2015): the top sentence triggers
if its score is at least the threshold. A trigger on a question without an answer is a false positive, a
wrong sentence on an answerable question too. The first sentence of the highest score is the top one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError
from quoth.evaluate.figures import TunedThreshold, refuse_test, tuning_label
from quoth.evaluate.ranking import GoldRanking, Run

Array = NDArray[np.float64]
Level = Literal["question", "section"]


@dataclass(frozen=True)
class TriggerScores:
    """What was triggered, one row for each decision: a question, or a section of one.

    ``triggered``, ``correct`` and ``answerable`` are 0/1 arrays of shape (n,), and precision, recall and F1
    are ratios of their sums; nothing triggered, or nothing answerable, gives 0. ``ids`` are question ids.
    """

    level: Level
    threshold: float
    tuned_on: str
    ids: tuple[str, ...]
    triggered: Array
    correct: Array
    answerable: Array
    missing: int

    @property
    def precision(self) -> float:
        """Return correct triggers / triggers, 0 without triggers."""
        return _ratio(self.correct.sum(), self.triggered.sum())

    @property
    def recall(self) -> float:
        """Return correct triggers / answerable questions (or sections), 0 without any."""
        return _ratio(self.correct.sum(), self.answerable.sum())

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall: 2 correct / (triggers + answerable)."""
        return _ratio(2 * self.correct.sum(), self.triggered.sum() + self.answerable.sum())

    @property
    def metrics(self) -> dict[str, float | int | str]:
        """Return precision, recall, f1, threshold, n and tuned_on."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "threshold": self.threshold,
            "n": len(self.ids),
            "tuned_on": self.tuned_on,
        }

    @property
    def conventions(self) -> dict[str, str]:
        """Say how these figures were made, for printing beside them."""
        unit = "the question's top sentence" if self.level == "question" else "each section"
        return {
            "level": f"{self.level}: one decision for {unit}; n = {len(self.ids)}",
            "trigger": f"score >= {self.threshold:g}; the first maximum is the top one",
            "threshold": self.tuned_on or "given",
            "missing": f"{self.missing} without scores trigger nothing",
        }


def score_triggering(
    gold: Sequence[GoldRanking],
    run: Run,
    *,
    level: Level,
    threshold: float,
    tuned_on: str = "",
    scored_on: str = "",
) -> TriggerScores:
    """Score decisions at *threshold*; at section level the candidates of *gold* are a question's sections.

    Where *tuned_on* and *scored_on* name the same data the result says "tuned on this set". Raises
    ``InputError`` where there is nothing to score or a score is not a number.
    """
    ids, scores, right, answerable, missing = _decisions(gold, run, level)
    triggered = scores >= threshold
    return TriggerScores(
        level=level,
        threshold=threshold,
        tuned_on=tuning_label(tuned_on, scored_on),
        ids=tuple(ids),
        triggered=triggered.astype(np.float64),
        correct=(triggered & (right > 0)).astype(np.float64),
        answerable=answerable,
        missing=missing,
    )


def tune_triggering(
    gold: Sequence[GoldRanking],
    run: Run,
    *,
    level: Level,
    split: str,
    name: str = "",
    allow_test: bool = False,
) -> TunedThreshold:
    """Return the threshold of the highest F1 among the scores seen; of equals, the highest.

    Raises ``InputError`` on a split marked test unless *allow_test* is set, and where nothing was scored.
    """
    refuse_test(split, allow_test, doing="tuning a threshold")
    _, scores, right, answerable, _ = _decisions(gold, run, level)
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    correct = np.cumsum(right[order])
    triggers = np.arange(1, len(ranked) + 1)
    f1 = 2 * correct / (triggers + answerable.sum())
    ends = np.append(ranked[1:] != ranked[:-1], True) & np.isfinite(ranked)
    if not ends.any():
        raise InputError("No question has a score, so there is no threshold to tune.")
    best = int(np.where(ends, f1, -1.0).argmax())
    return TunedThreshold(float(ranked[best]), float(f1[best]), "f1", name or split)


def card_f1(preds: Sequence[int], golds: Sequence[int]) -> float:
    """Return the eval card's F1 as written: binary decisions in a flat list, 0 where it would divide by 0.

    The card calls it question-level, but what it compares is one decision a section.
    """
    pairs = list(zip(preds, golds, strict=False))
    tp = sum(1 for p, g in pairs if p == 1 and g == 1)
    fp = sum(1 for p, g in pairs if p == 1 and g == 0)
    fn = sum(1 for p, g in pairs if p == 0 and g == 1)
    precision = tp / (tp + fp) if tp + fp > 0 else 0
    recall = tp / (tp + fn) if tp + fn > 0 else 0
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _decisions(
    gold: Sequence[GoldRanking], run: Run, level: Level
) -> tuple[list[str], Array, Array, Array, int]:
    """Return ids, the score that decides, whether a trigger would be right, answerable, and how many lack one."""
    if not gold:
        raise InputError("There are no questions to score.", hint="Check the gold file.")
    rows: list[tuple[str, float, bool, bool]] = []
    for question in gold:
        found = run.get(question.id, {})
        if any(score != score for score in found.values()):
            raise InputError(f"A score of question {question.id!r} is not a number.")
        rows += _sections(question, found) if level == "section" else [_top(question, found)]
    ids, scores, right, answerable = zip(*rows, strict=True)
    values = np.array(scores, dtype=np.float64)
    return (
        list(ids),
        values,
        np.array(right, dtype=np.float64),
        np.array(answerable, dtype=np.float64),
        int(np.isneginf(values).sum()),
    )


def _top(question: GoldRanking, found: Mapping[str, float]) -> tuple[str, float, bool, bool]:
    best, right = -np.inf, False
    for candidate, label in zip(question.candidates, question.labels, strict=True):
        score = found.get(candidate, -np.inf)
        if score > best:
            best, right = score, label
    return question.id, best, right, any(question.labels)


def _sections(question: GoldRanking, found: Mapping[str, float]) -> list[tuple[str, float, bool, bool]]:
    return [
        (question.id, found.get(section, -np.inf), label, label)
        for section, label in zip(question.candidates, question.labels, strict=True)
    ]


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
