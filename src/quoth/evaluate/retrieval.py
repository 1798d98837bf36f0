"""Measure what was retrieved: recall@k and mAP by answer string and by gold passage, nDCG@k, MRR, P@k.

"By answer string" is the blog's rule: a passage counts where the lower-cased answer is a substring of its
lower-cased title and text. "By gold passage" counts the passage the answer was annotated in. These are two
different numbers and have two different names (``recall@3/answer``, ``recall@3/passage``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError
from quoth.types import Passage

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

KS = (1, 3, 5, 10, 20)
CONVENTIONS = {
    "answer": "first gold answer, lower-cased substring of title + text (the blog's rule)",
    "any-answer": "any gold answer, lower-cased substring of title + text",
    "passage": "the passage that holds the annotated answer where it was annotated",
    "recall@k": "share of questions with at least one such passage in the first k; retrieving nothing is 0",
    "mAP@k": "AP over the k retrieved: (1/m) sum of P(i) rel(i), m = relevant among the retrieved; none is 0",
}


@dataclass(frozen=True, slots=True)
class GoldPassage:
    """Where a question's answer stands: a code point range of one document.

    ``paragraph`` is the text of the paragraph around it, where known: an index that was built elsewhere may
    name its documents differently, and a passage that holds the whole paragraph is the gold one there too.
    """

    document_id: str
    start: int
    end: int
    paragraph: str = ""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What one question brought up, best first, and what was looked for."""

    id: str
    answers: tuple[str, ...]
    gold: GoldPassage | None
    passages: tuple[Passage, ...]
    milliseconds: float | None = None


@dataclass(frozen=True)
class RetrievalScores:
    """Figures of each question under one relevance rule; arrays are in question order, shape (n,).

    ``columns`` maps ``recall@3``, ``mAP@3``, ``MRR@3``, ``P@3`` (and ``nDCG@3`` where the number of relevant
    passages is known) to those arrays.
    """

    rule: str
    ids: tuple[str, ...]
    columns: Mapping[str, Array]
    empty: int

    @property
    def metrics(self) -> dict[str, float]:
        """Return the mean of each column, named ``metric@k/rule``, in 0..1."""
        return {f"{name}/{self.rule}": float(column.mean()) for name, column in self.columns.items()}


@dataclass(frozen=True, slots=True)
class QueryTimes:
    """Milliseconds a query: median and 95th percentile (linear interpolation), the mean only beside them."""

    n: int
    median_ms: float
    p95_ms: float
    mean_ms: float


def holds_answer(passage: Passage, answers: Sequence[str]) -> bool:
    """Say whether a lower-cased answer is a substring of the passage's lower-cased title and text.

    An empty answer is held by nothing.
    """
    text = f"{passage.title} {passage.text}".lower()
    return any(answer.lower() in text for answer in answers if answer)


def holds_gold(passage: Passage, gold: GoldPassage) -> bool:
    """Say whether the passage covers the gold range in full, or holds the whole paragraph around it."""
    covers = passage.start <= gold.start and gold.end <= passage.end
    return (passage.document_id == gold.document_id and covers) or (
        gold.paragraph != "" and gold.paragraph in passage.text
    )


def score_retrieval(results: Sequence[Retrieved], *, ks: Sequence[int] = KS) -> dict[str, RetrievalScores]:
    """Score by first answer, any answer and gold passage: one ``RetrievalScores`` for each rule that applies.

    The answer rules take the questions with an answer, the passage rule those with a gold place. Raises
    ``InputError`` where no question has either, an id is given twice, or a k is below 1.
    """
    if not ks or min(ks) < 1:
        raise InputError(f"The cut-offs {tuple(ks)} must all be 1 or more.", hint="Try 1, 3, 5, 10, 20.")
    if len({r.id for r in results}) != len(results):
        raise InputError("A question id occurs twice in these results; ids must be unique.")
    return score_flags([(r.id, hit_flags(r, max(ks))) for r in results], ks=ks)


def score_flags(
    rows: Sequence[tuple[str, Mapping[str, Sequence[bool]]]], *, ks: Sequence[int] = KS
) -> dict[str, RetrievalScores]:
    """Score (question id, flags by rule) rows, as ``hit_flags`` gives them; a rule takes the rows that have it.

    Raises ``InputError`` where no row has any.
    """
    out: dict[str, RetrievalScores] = {}
    for rule in ("answer", "any-answer", "passage"):
        taken = [(id, flags[rule]) for id, flags in rows if rule in flags]
        if taken:
            relevant = np.ones(len(taken)) if rule == "passage" else None
            ids, hits = [id for id, _ in taken], [flags for _, flags in taken]
            out[rule] = score_hits(ids, hits, ks=ks, rule=rule, relevant=relevant)
    if not out:
        raise InputError(
            f"None of the {len(rows)} questions has an answer or a gold passage to look for.",
            hint="Retrieval is measured on answerable questions.",
        )
    return out


def hit_flags(result: Retrieved, k: int) -> dict[str, list[bool]]:
    """Return, for each rule that applies to this question, which of its first *k* passages count."""
    passages = result.passages[:k]
    flags: dict[str, list[bool]] = {}
    if any(result.answers):
        flags["answer"] = [holds_answer(p, result.answers[:1]) for p in passages]
        flags["any-answer"] = [holds_answer(p, result.answers) for p in passages]
    if result.gold is not None:
        held = [holds_gold(p, result.gold) for p in passages]
        flags["passage"] = [hit and not any(held[:i]) for i, hit in enumerate(held)]
    return flags


def score_hits(
    ids: Sequence[str],
    hits: Sequence[Sequence[bool]],
    *,
    ks: Sequence[int] = KS,
    rule: str,
    relevant: Array | None = None,
) -> RetrievalScores:
    """Score ready-made relevance flags, best first; *relevant* (how many exist) brings nDCG."""
    table = np.zeros((len(hits), max(ks)), dtype=np.bool_)
    for row, flags in enumerate(hits):
        cut = flags[: max(ks)]
        table[row, : len(cut)] = cut
    columns: dict[str, Array] = {}
    for k in ks:
        columns[f"recall@{k}"] = np.asarray(table[:, :k].any(axis=1), dtype=np.float64)
        columns[f"mAP@{k}"] = average_precision(table[:, :k])
        columns[f"MRR@{k}"] = reciprocal_rank(table[:, :k])
        columns[f"P@{k}"] = table[:, :k].astype(np.float64) @ np.full(k, 1.0 / k)
        if relevant is not None:
            columns[f"nDCG@{k}"] = ndcg(table[:, :k].astype(np.float64), relevant)
    empty = sum(1 for flags in hits if not flags)
    return RetrievalScores(rule=rule, ids=tuple(ids), columns=columns, empty=empty)


def average_precision(hits: Flags) -> Array:
    """Return the blog's AP of each row of shape (n, k): the mean of P(i) over the hits found, 0 for none."""
    found = hits.cumsum(axis=1)
    precision = found / np.arange(1, hits.shape[1] + 1)
    total = found[:, -1]
    summed = np.where(hits, precision, 0.0).sum(axis=1)
    out: Array = np.zeros(len(hits))
    np.divide(summed, total, out=out, where=total > 0)
    return out


def reciprocal_rank(hits: Flags) -> Array:
    """Return 1 / rank of the first hit of each row of shape (n, k), 0 for none."""
    return np.where(hits.any(axis=1), 1.0 / (hits.argmax(axis=1) + 1.0), 0.0)


def ndcg(gains: Array, relevant: Array) -> Array:
    """Return nDCG of binary gains of shape (n, k), *relevant* of shape (n,) relevant items existing.

    Jaervelin and Kekaelaeinen 2002, discount 1 / log2(rank + 1), as trec_eval's ndcg_cut.
    """
    k = gains.shape[1]
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(relevant.astype(np.int64), k)]
    out: Array = np.zeros(len(gains))
    np.divide(gains @ discounts, ideal, out=out, where=ideal > 0)
    return out


def query_times(milliseconds: Sequence[float]) -> QueryTimes:
    """Summarise query times; raises ``InputError`` where there are none."""
    if not milliseconds:
        raise InputError("No query was timed.")
    values = np.asarray(milliseconds, dtype=np.float64)
    return QueryTimes(
        n=len(values),
        median_ms=float(np.median(values)),
        p95_ms=float(np.percentile(values, 95)),
        mean_ms=float(values.mean()),
    )
