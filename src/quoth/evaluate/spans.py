"""Score answer strings as the official SQuAD scripts do, to the last digit.

Rajpurkar et al. 2016 (SQuAD 1.1) and 2018 (SQuAD 2.0) define exact match and token F1; the
best thresholds follow the 2.0 script's sweep over the null odds. Sums run in gold order, one
addition at a time, because the last digits of the official figures depend on it.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Missing = Literal["wrong", "skip"]
Rule = Literal["squad-v2", "squad-v1"]

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class GoldSpans:
    """A question's id and every accepted answer; no answers means that it is unanswerable."""

    id: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class SpanScores:
    """Scores of each question, in gold order, and what they add up to.

    ``exact``, ``f1`` and ``f1_set`` have shape (n,) and lie in 0..1; ``f1_set`` is the blog's overlap of word
    *sets*, which ignores how often a word occurs. ``predicted`` marks non-empty predictions. Where a null
    threshold was given, ``exact``, ``f1`` and ``answered`` have it applied; ``raw_exact``, ``raw_f1`` and
    ``predicted`` do not.
    ``missing`` are the gold ids without a prediction: zeros here, or left out altogether under
    ``convention`` "skip". ``extra`` counts predictions for ids that the gold does not have.
    """

    ids: tuple[str, ...]
    exact: Array
    f1: Array
    f1_set: Array
    raw_exact: Array
    raw_f1: Array
    has_answer: Flags
    predicted: Flags
    answered: Flags
    missing: tuple[str, ...]
    extra: int
    convention: Missing
    rule: Rule
    null_threshold: float | None
    best: Mapping[str, float]

    @cached_property
    def metrics(self) -> dict[str, float | int]:
        """Return the official dictionary, in its order, in per cent; ``missing`` is added behind it."""
        out: dict[str, float | int] = {"exact": percent(self.exact), "f1": percent(self.f1)}
        out["total"] = len(self.ids)
        if self.rule == "squad-v1":
            out = {"exact_match": out["exact"], "f1": out["f1"], "total": out["total"]}
        else:
            for prefix, part in (("HasAns", self.has_answer), ("NoAns", ~self.has_answer)):
                if part.any():
                    out[f"{prefix}_exact"] = percent(self.exact[part])
                    out[f"{prefix}_f1"] = percent(self.f1[part])
                    out[f"{prefix}_total"] = int(part.sum())
            out.update(self.best)
        out["missing"] = len(self.missing)
        return out

    @property
    def f1_of_sets(self) -> float:
        """Return the mean of the blog's set-based F1, in per cent; never to be quoted as "F1"."""
        return percent(self.f1_set)

    @property
    def conventions(self) -> dict[str, str]:
        """Say how these figures were made, for printing beside them."""
        counted = "wrong" if self.convention == "wrong" else "skipped, as the official script does"
        out = {
            "normalisation": "lower case, ASCII punctuation and a|an|the dropped, spaces squeezed",
            "gold": "maximum over all gold answers",
            "missing predictions": f"{len(self.missing)}, {counted}",
            "rule": self.rule,
        }
        if self.null_threshold is not None:
            out["null threshold"] = f"no answer when null odds > {self.null_threshold:g}"
        if self.best:
            out["best_*"] = "oracle: the threshold was found on this set"
        return out


def normalize(text: str) -> str:
    """Lower-case, drop ASCII punctuation, drop articles, squeeze spaces: the official normalisation."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> int:
    """Return 1 where both strings are equal once normalised, else 0."""
    return int(normalize(prediction) == normalize(gold))


def f1(prediction: str, gold: str, *, rule: Rule = "squad-v2") -> float:
    """Return the token F1 of two strings, counting how often a token occurs.

    Where either is empty, SQuAD 2.0 gives 1 if both are; the 1.1 script gives 0.
    """
    return _f1(normalize(prediction).split(), normalize(gold).split(), rule)


def f1_set(prediction: str, gold: str) -> float:
    """Return the blog's F1: shared *distinct* words over the two lengths (not the official F1)."""
    return _f1_set(normalize(prediction).split(), normalize(gold).split())


def score_spans(
    gold: Iterable[GoldSpans],
    predictions: Mapping[str, str],
    *,
    null_odds: Mapping[str, float] | None = None,
    null_threshold: float | None = None,
    missing: Missing = "wrong",
    rule: Rule = "squad-v2",
) -> SpanScores:
    """Score predictions against gold answers.

    *null_odds* (null score less best span score) bring the best thresholds; with *null_threshold*, a
    question whose odds exceed it counts as answered by nothing. A missing prediction is wrong and
    counted; "skip" leaves it out, as the official 2.0 script does (the 1.1 script never does).

    Raises ``InputError`` for no questions, an id given twice, a prediction that is no string, a threshold
    without odds, or odds that are missing for a predicted question or not a number.
    """
    questions = _check(gold, predictions, missing=missing, rule=rule)
    absent = tuple(q.id for q in questions if q.id not in predictions)
    kept = questions if missing == "wrong" else _predicted(questions, predictions)
    table = _score_each(kept, predictions, rule)
    raw_exact, raw_f1, set_f1 = (np.ascontiguousarray(column) for column in table.T)
    has_answer = np.array([bool(q.answers) for q in kept], dtype=np.bool_)
    predicted = answered = np.array([bool(predictions.get(q.id)) for q in kept], dtype=np.bool_)
    exact, f1s = raw_exact, raw_f1
    best: dict[str, float] = {}
    if null_odds is not None:
        odds = align_odds([q.id for q in kept], null_odds, predictions)
        best = _best_thresholds(questions, kept, predictions, null_odds, (raw_exact, raw_f1))
        if null_threshold is not None:
            exact = apply_threshold(raw_exact, odds, has_answer, null_threshold)
            f1s = apply_threshold(raw_f1, odds, has_answer, null_threshold)
            answered = answered & ~(odds > null_threshold)
    elif null_threshold is not None:
        raise InputError(
            f"A null threshold of {null_threshold:g} needs null odds to compare with.",
            hint="Give the null-odds file too (--null-odds).",
        )
    return SpanScores(
        ids=tuple(q.id for q in kept),
        exact=exact,
        f1=f1s,
        f1_set=set_f1,
        raw_exact=raw_exact,
        raw_f1=raw_f1,
        has_answer=has_answer,
        predicted=predicted,
        answered=answered,
        missing=absent,
        extra=len(predictions.keys() - {q.id for q in questions}),
        convention=missing,
        rule=rule,
        null_threshold=null_threshold,
        best=best,
    )


def align_odds(ids: Sequence[str], null_odds: Mapping[str, float], predictions: Mapping[str, str]) -> Array:
    """Return the odds in the order of *ids*; a question without a prediction gets NaN (never answered).

    Raises ``InputError`` where a predicted question has no odds or odds that are not a number.
    """
    odds = np.full(len(ids), np.nan)
    for i, id in enumerate(ids):
        if id not in predictions:
            continue
        value = null_odds.get(id)
        if value is None or value != value:
            raise InputError(
                f"Question {id!r} has a prediction but its null odds are {value}; every one needs a number.",
                hint="Predictions and null odds must come from the same run.",
            )
        odds[i] = value
    return odds


def apply_threshold(scores: Array, odds: Array, has_answer: Flags, threshold: float) -> Array:
    """Replace the score of every question whose odds exceed *threshold* by 1 if it has no answer, else 0."""
    return np.where(odds > threshold, (~has_answer).astype(np.float64), scores)


def percent(scores: Array) -> float:
    """Return 100 x the mean, summed in order as the official script does."""
    return float(100.0 * np.add.accumulate(scores)[-1] / len(scores)) if len(scores) else 0.0


def _check(
    gold: Iterable[GoldSpans], predictions: Mapping[str, str], *, missing: Missing, rule: Rule
) -> list[GoldSpans]:
    questions = list(gold)
    if not questions:
        raise InputError("There are no questions to score.", hint="Check the gold file.")
    if len({q.id for q in questions}) != len(questions):
        [(id, times)] = Counter(q.id for q in questions).most_common(1)
        raise InputError(
            f"Question id {id!r} occurs {times} times in the gold; ids must be unique.",
            hint="`quoth data check` lists and repairs them.",
        )
    for id, text in predictions.items():
        if not isinstance(text, str):
            raise InputError(
                f"The prediction of {id!r} is {text!r}; it must be a string, empty for no answer.",
                hint="Give a JSON object of question id to answer string.",
            )
    if rule == "squad-v1" and missing == "skip":
        raise InputError(
            "The SQuAD 1.1 script counts missing predictions as wrong; it cannot skip them.",
            hint='Use missing="wrong", or the rule "squad-v2".',
        )
    return questions


def _predicted(questions: Sequence[GoldSpans], predictions: Mapping[str, str]) -> list[GoldSpans]:
    kept = [q for q in questions if q.id in predictions]
    if not kept:
        raise InputError(
            f"None of the {len(questions)} questions has a prediction, and missing ones are skipped.",
            hint="Check that the ids of both files agree.",
        )
    return kept


def _score_each(questions: Sequence[GoldSpans], predictions: Mapping[str, str], rule: Rule) -> Array:
    cache: dict[str, str] = {}

    def normal(text: str) -> str:
        found = cache.get(text)
        if found is None:
            found = cache[text] = normalize(text)
        return found

    table = np.zeros((len(questions), 3))
    for row, question in enumerate(questions):
        prediction = predictions.get(question.id)
        if prediction is None:
            continue
        said = normal(prediction)
        tokens = said.split()
        golds = {normal(answer) for answer in question.answers}
        if rule == "squad-v2":
            golds.discard("")
        blog = {normal(answer) for answer in question.answers if answer}
        if said in golds:
            table[row, 0] = table[row, 1] = 1.0
            if not said:  # only under the 1.1 rule, where two empty strings share no token
                table[row, 1] = _best_f1(tokens, golds, rule)
        else:
            accepted = golds or {""}
            table[row, 0] = float(said in accepted)
            table[row, 1] = _best_f1(tokens, accepted, rule)
        table[row, 2] = max(_f1_set(tokens, answer.split()) for answer in (blog or {""}))
    return table


def _best_f1(tokens: list[str], golds: set[str], rule: Rule) -> float:
    return max(_f1(tokens, gold.split(), rule) for gold in golds)


def _f1(prediction: list[str], gold: list[str], rule: Rule) -> float:
    if not prediction or not gold:
        return float(rule == "squad-v2" and prediction == gold)
    same = sum((Counter(prediction) & Counter(gold)).values())
    if same == 0:
        return 0.0
    precision = same / len(prediction)
    recall = same / len(gold)
    return (2 * precision * recall) / (precision + recall)


def _f1_set(prediction: list[str], gold: list[str]) -> float:
    if not prediction or not gold:
        return float(prediction == gold)
    same = len(set(prediction) & set(gold))
    if same == 0:
        return 0.0
    precision = same / len(prediction)
    recall = same / len(gold)
    return 2 * (precision * recall) / (precision + recall)


def _best_thresholds(
    questions: Sequence[GoldSpans],
    kept: Sequence[GoldSpans],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float],
    scores: tuple[Array, Array],
) -> dict[str, float]:
    """Sweep the odds as the official script does: one question at a time, ties not grouped.

    The sweep starts with every unanswerable question right. Under "skip" those include the skipped
    ones, as in the official script; otherwise a missing prediction is right at no threshold.
    """
    row = {q.id: i for i, q in enumerate(kept)}
    if len(kept) == len(questions):
        start = sum(1 for q in kept if not q.answers and q.id in predictions)
    else:
        start = sum(1 for q in questions if not q.answers)
    ids = [id for id in sorted(null_odds, key=lambda k: null_odds[k]) if id in row and id in predictions]
    best: dict[str, float] = {}
    for name, column in zip(("exact", "f1"), scores, strict=True):
        steps = np.zeros(len(ids) + 1)
        steps[0] = start
        for i, id in enumerate(ids, start=1):
            at = row[id]
            steps[i] = column[at] if kept[at].answers else -float(bool(predictions[id]))
        totals = np.add.accumulate(steps)
        top = int(totals.argmax())
        best[f"best_{name}"] = float(100.0 * totals[top] / len(kept))
        best[f"best_{name}_thresh"] = float(null_odds[ids[top - 1]]) if top else 0.0
    return best
