"""Measure answer sentence selection: MAP, MRR, P@1 and hit@k, with the convention named and ties exposed.

Order: score descending, then document order. Beside each figure stands its expected value over random
orders of tied candidates (``ties``): a constant scorer gets that, and not the 1.0 of a lucky sort.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError
from quoth.evaluate.ties import (
    Group,
    expected_average_precision,
    expected_hit,
    expected_reciprocal_rank,
    groups_of,
)

Array = NDArray[np.float64]
Convention = Literal["clean", "has-positive", "all", "card"]
Run = Mapping[str, Mapping[str, float]]

HIT_KS = (3, 5, 10)
MEANING: dict[str, str] = {
    "clean": "questions with at least one positive and one negative candidate",
    "has-positive": "questions with at least one positive candidate",
    "all": "every question; those without a positive count 0",
    "card": "the eval card's recipe: one gold sentence a question (the first in document order); a question "
    "whose gold is not among the ranked ones is dropped, which raises the figure",
}


@dataclass(frozen=True, slots=True)
class GoldRanking:
    """A question's candidates in document order, and which of them answer it."""

    id: str
    candidates: tuple[str, ...]
    labels: tuple[bool, ...]


@dataclass(frozen=True)
class RankingScores:
    """Figures of each question that the convention takes, shape (n,), in gold order.

    ``columns`` holds AP, RR, P@1 and hit@k for ties in document order, ``expected`` the same over random tie
    orders, ``extremes`` the AP (lowest, highest) that some tie order gives. ``missing_questions`` had no scores
    at all and count 0; ``missing_candidates`` were not retrieved; ``extra_candidates`` are unknown to the gold
    and count as negatives. ``tied`` counts the questions where a tie joins a positive and a negative, so that
    the order of ties matters.
    """

    convention: Convention
    ids: tuple[str, ...]
    columns: Mapping[str, Array]
    expected: Mapping[str, Array]
    extremes: Mapping[str, Array]
    missing_questions: tuple[str, ...]
    missing_candidates: int
    extra_candidates: int
    tied: int
    dropped: int

    @property
    def n(self) -> int:
        """Return the number of questions averaged over."""
        return len(self.ids)

    @property
    def metrics(self) -> dict[str, float]:
        """Return MAP, MRR, P@1 and hit@k in 0..1, ties in document order."""
        return {_NAMES.get(name, name): float(column.mean()) for name, column in self.columns.items()}

    @property
    def ties(self) -> dict[str, float | int]:
        """Return how many questions a tie matters for, each metric's expected value, and MAP's extremes."""
        out: dict[str, float | int] = {"questions": self.tied}
        for name, column in self.expected.items():
            out[f"expected_{_NAMES.get(name, name)}"] = float(column.mean())
        for name, column in self.extremes.items():
            out[f"{name}_MAP"] = float(column.mean())
        return out

    @property
    def conventions(self) -> dict[str, str]:
        """Say how these figures were made, for printing beside them."""
        out = {
            "questions": f"{self.convention}: {MEANING[self.convention]}; n = {self.n}",
            "ties": "score descending, then document order; expected_* = mean over random tie orders",
            "missing": f"{len(self.missing_questions)} questions without scores count 0; "
            f"{self.missing_candidates} candidates without scores count as not retrieved",
        }
        if self.convention == "card":
            out["dropped"] = f"{self.dropped} questions were dropped; never report this figure alone"
        return out


_NAMES = {"AP": "MAP", "RR": "MRR"}


def score_ranking(
    gold: Iterable[GoldRanking],
    run: Run,
    *,
    convention: Convention,
    hits: Sequence[int] = HIT_KS,
) -> RankingScores:
    """Score a run (question id -> candidate id -> score, higher is better) under a named convention.

    Raises ``InputError`` for an unknown convention, no question that it takes, an id given twice, labels
    that do not match their candidates, or a score that is not a number.
    """
    if convention not in get_args(Convention):
        raise InputError(
            f"Unknown convention {convention!r}; it must be one of {', '.join(get_args(Convention))}.",
            hint="Reports give has-positive and clean side by side.",
        )
    questions = list(gold)
    _check(questions, run)
    taken = [q for q in questions if _takes(convention, q)]
    if not taken:
        raise InputError(
            f"The convention {convention!r} takes none of the {len(questions)} questions.",
            hint=f"It takes {MEANING[convention]}.",
        )
    ordered = [_order(q, run.get(q.id, {}), first_only=convention == "card") for q in taken]
    keep = [True] * len(taken)
    if convention == "card":
        keep = [any(flags) for _, flags, _ in ordered]
        if not any(keep):
            raise InputError("The card's recipe found no gold sentence in any ranking: nothing to average.")
    rows, expected, extremes, tied = [], [], [], 0
    for (scores, flags, total), kept in zip(ordered, keep, strict=True):
        if kept:
            groups = groups_of(scores, flags)
            rows.append(_ordered_values(flags, total, hits))
            expected.append(_expected_values(groups, total, hits))
            extremes.append([_extreme(groups, total, best=False), _extreme(groups, total, best=True)])
            tied += any(0 < relevant < size for size, relevant in groups)
    names = ("AP", "RR", "P@1", *(f"hit@{k}" for k in hits))
    table, means, ends = np.array(rows), np.array(expected), np.array(extremes)
    ids = tuple(q.id for q, kept in zip(taken, keep, strict=True) if kept)
    return RankingScores(
        convention=convention,
        ids=ids,
        columns={name: table[:, i] for i, name in enumerate(names)},
        expected={name: means[:, i] for i, name in enumerate(names)},
        extremes={"lowest": ends[:, 0], "highest": ends[:, 1]},
        missing_questions=tuple(q.id for q in taken if not run.get(q.id)),
        missing_candidates=sum(len(set(q.candidates) - run[q.id].keys()) for q in taken if run.get(q.id)),
        extra_candidates=sum(len(run[q.id].keys() - set(q.candidates)) for q in taken if q.id in run),
        tied=tied,
        dropped=keep.count(False),
    )


def rank_candidates(question: GoldRanking, scores: Mapping[str, float]) -> list[str]:
    """Return the scored candidates best first: score descending, then document order, unknown ones last."""
    place = {candidate: i for i, candidate in enumerate(question.candidates)}
    known = [c for c in question.candidates if c in scores]
    unknown = [c for c in scores if c not in place]
    return sorted([*known, *unknown], key=lambda c: -scores[c])


def card_mrr(preds: Sequence[Sequence[object]], golds: Sequence[object]) -> float:
    """Return the eval card's MRR as written: questions whose gold is not in the list are *dropped*.

    Only the first occurrence counts, and the mean is over the questions found; so a system that leaves hard
    questions out scores higher. Raises ``InputError`` where none is found (the recipe divides by zero).
    """
    ranks = []
    for pred, one in zip(preds, golds, strict=False):
        for i, item in enumerate(pred):
            if item == one:
                ranks.append(1.0 / (i + 1))
                break
    if not ranks:
        raise InputError("The card's MRR is undefined: no gold sentence is in any list.")
    return sum(ranks) / len(ranks)


def _check(questions: Sequence[GoldRanking], run: Run) -> None:
    seen: set[str] = set()
    for q in questions:
        if q.id in seen:
            raise InputError(
                f"Question id {q.id!r} occurs twice in the gold; ids must be unique.",
                hint="Questions are grouped by id, never by their words.",
            )
        seen.add(q.id)
        if len(q.labels) != len(q.candidates) or len(set(q.candidates)) != len(q.candidates):
            raise InputError(
                f"Question {q.id!r} has {len(q.candidates)} candidates ({len(set(q.candidates))} different) "
                f"and {len(q.labels)} labels; each candidate needs its own id and label."
            )
        for candidate, score in run.get(q.id, {}).items():
            if score != score:
                raise InputError(
                    f"The score of candidate {candidate!r} of question {q.id!r} is not a number.",
                    hint="Scores must be numbers; higher is better.",
                )


def _takes(convention: Convention, q: GoldRanking) -> bool:
    if convention in {"all", "card"}:
        return True
    return any(q.labels) and (convention == "has-positive" or not all(q.labels))


def _order(
    q: GoldRanking, scores: Mapping[str, float], *, first_only: bool
) -> tuple[list[float], list[bool], int]:
    positives = [c for c, label in zip(q.candidates, q.labels, strict=True) if label]
    good = set(positives[:1] if first_only else positives)
    ranked = rank_candidates(q, scores)
    return [scores[c] for c in ranked], [c in good for c in ranked], len(good)


def _ordered_values(flags: Sequence[bool], total: int, hits: Sequence[int]) -> list[float]:
    summed, found, first = 0.0, 0, 0
    for rank, flag in enumerate(flags, start=1):
        if flag:
            found += 1
            summed += found / rank
            first = first or rank
    reached = [float(0 < first <= k) for k in (1, *hits)]
    return [summed / total if total else 0.0, 1.0 / first if first else 0.0, *reached]


def _expected_values(groups: Sequence[Group], total: int, hits: Sequence[int]) -> list[float]:
    reached = [expected_hit(groups, k) for k in (1, *hits)]
    return [expected_average_precision(groups, total), expected_reciprocal_rank(groups), *reached]


def _extreme(groups: Sequence[Group], total: int, *, best: bool) -> float:
    flags: list[bool] = []
    for size, relevant in groups:
        negatives = [False] * (size - relevant)
        flags += [True] * relevant + negatives if best else negatives + [True] * relevant
    return _ordered_values(flags, total, ())[0]
