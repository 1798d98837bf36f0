"""Score a run against graded judgments (qrels): MAP, nDCG@k, MRR, P@k, as trec_eval without its tie rule.

trec_eval breaks ties by document id, descending; here ties keep the run's own order, and the expected value
over random tie orders stands beside each figure. Without ties the figures are equal to trec_eval's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError
from quoth.evaluate.ties import (
    expected_average_precision,
    expected_dcg,
    expected_reciprocal_rank,
    groups_of,
)

Array = NDArray[np.float64]
Qrels = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class JudgedScores:
    """Figures of each topic with a relevant document, shape (n,), in order of the judgments.

    ``columns`` and ``expected`` hold AP, nDCG@k, RR and P@k. ``missing`` topics retrieved nothing and count 0.
    """

    ids: tuple[str, ...]
    columns: Mapping[str, Array]
    expected: Mapping[str, Array]
    missing: tuple[str, ...]

    @property
    def metrics(self) -> dict[str, float]:
        """Return MAP, nDCG@k, MRR and P@k in 0..1."""
        names = {"AP": "MAP", "RR": "MRR"}
        return {names.get(name, name): float(column.mean()) for name, column in self.columns.items()}

    @property
    def conventions(self) -> dict[str, str]:
        """Say how these figures were made, for printing beside them."""
        return {
            "topics": f"judged topics with a relevant document, n = {len(self.ids)}; "
            f"{len(self.missing)} retrieved nothing and count 0",
            "gain": "linear (the grade), discount 1 / log2(rank + 1); unjudged documents gain 0",
            "ties": "the run's own order (trec_eval: document id, descending); expected_* = random order",
        }


def score_judged(qrels: Qrels, run: Mapping[str, Mapping[str, float]], *, k: int = 10) -> JudgedScores:
    """Score a run (topic -> document -> score) against grades (topic -> document -> grade, relevant > 0).

    Raises ``InputError`` where no topic has a relevant document, or a score is not a number.
    """
    topics = {t: grades for t, grades in qrels.items() if any(grade > 0 for grade in grades.values())}
    if not topics or k < 1:
        raise InputError(
            f"Nothing to score: {len(topics)} topics have a relevant document, and k is {k}.",
            hint="Qrels are `topic 0 document grade`; k must be at least 1.",
        )
    rows, expected = [], []
    for topic, grades in topics.items():
        found = run.get(topic, {})
        if any(score != score for score in found.values()):
            raise InputError(f"A score of topic {topic!r} is not a number.")
        ranked = sorted(found, key=lambda d: -found[d])
        scores = [found[d] for d in ranked]
        gains = [float(max(0, grades.get(d, 0))) for d in ranked]
        ideal = sorted((float(g) for g in grades.values() if g > 0), reverse=True)
        rows.append(_values(gains, ideal, k))
        expected.append(_expected(scores, gains, ideal, k))
    names = ("AP", f"nDCG@{k}", "RR", f"P@{k}")
    table, means = np.array(rows), np.array(expected)
    return JudgedScores(
        ids=tuple(topics),
        columns={name: table[:, i] for i, name in enumerate(names)},
        expected={name: means[:, i] for i, name in enumerate(names)},
        missing=tuple(t for t in topics if not run.get(t)),
    )


def _dcg(gains: list[float], k: int) -> float:
    cut = np.array(gains[:k])
    return float(cut @ (1.0 / np.log2(np.arange(2, len(cut) + 2))))


def _values(gains: list[float], ideal: list[float], k: int) -> list[float]:
    ranks = [rank for rank, gain in enumerate(gains, start=1) if gain > 0]
    precision = sum(i / rank for i, rank in enumerate(ranks, start=1)) / len(ideal)
    within = sum(1 for rank in ranks if rank <= k)
    return [precision, _dcg(gains, k) / _dcg(ideal, k), 1.0 / ranks[0] if ranks else 0.0, within / k]


def _expected(scores: list[float], gains: list[float], ideal: list[float], k: int) -> list[float]:
    groups = groups_of(scores, [gain > 0 for gain in gains])
    within, before = 0.0, 0
    for size, relevant in groups:
        within += relevant * min(size, max(0, k - before)) / size
        before += size
    return [
        expected_average_precision(groups, len(ideal)),
        expected_dcg(scores, gains, k) / _dcg(ideal, k),
        expected_reciprocal_rank(groups),
        within / k,
    ]
