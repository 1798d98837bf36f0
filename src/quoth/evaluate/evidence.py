"""Measure quotations against annotated evidence, and what pruning a text costs in answers.

Words are runs of non-space characters; a word is marked where a span touches it. Precision, recall and F1
are micro-averaged over the words of all rows, rows without evidence included.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError

Array = NDArray[np.float64]
Spans = tuple[tuple[int, int], ...]
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A text, its annotated evidence and the spans marked by a system: code points, half-open."""

    id: str
    text: str
    gold: Spans
    marked: Spans


@dataclass(frozen=True)
class EvidenceScores:
    """Counts of each row, shape (n,), and what they add up to.

    ``words_right``, ``words_marked`` and ``words_gold`` count words; ``spans_right`` are one-to-one matches of
    IoU >= 0.5; ``contained`` and ``touched`` count gold spans inside, or overlapped by, marked ones.
    """

    ids: tuple[str, ...]
    words_right: Array
    words_marked: Array
    words_gold: Array
    spans_right: Array
    spans_marked: Array
    spans_gold: Array
    contained: Array
    touched: Array

    @property
    def metrics(self) -> dict[str, float]:
        """Return word P/R/F1, span F1 at IoU 0.5, containment, any-overlap recall and over-prediction."""
        right, marked, gold = self.words_right.sum(), self.words_marked.sum(), self.words_gold.sum()
        spans = self.spans_gold.sum()
        without = self.spans_gold == 0
        return {
            "word_precision": _ratio(right, marked),
            "word_recall": _ratio(right, gold),
            "word_f1": _ratio(2 * right, marked + gold),
            "span_f1@0.5": _ratio(2 * self.spans_right.sum(), self.spans_marked.sum() + spans),
            "containment": _ratio(self.contained.sum(), spans),
            "overlap_recall": _ratio(self.touched.sum(), spans),
            "over_prediction": _ratio(self.spans_marked[without].sum(), without.sum()),
            "n": float(len(self.ids)),
        }


@dataclass(frozen=True, slots=True)
class PruneRow:
    """A text cut into scored pieces, with the gold spans and gold strings that should survive pruning."""

    text: str
    pieces: tuple[tuple[int, int, float], ...]
    gold: Spans
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrunePoint:
    """What survives when pieces of at least ``threshold`` are kept: shares in 0..1.

    ``strings`` is the share of rows with answers that still show one of them (lower-cased, inside one kept
    stretch); ``spans`` the share of gold spans wholly kept.
    """

    threshold: float
    words: float
    strings: float
    spans: float


def score_evidence(rows: Sequence[EvidenceRow]) -> EvidenceScores:
    """Compare marked with gold spans. Raises ``InputError`` for no rows, or a span outside its text."""
    if not rows:
        raise InputError("There are no rows of evidence to score.")
    table = np.array([_counts(row) for row in rows], dtype=np.float64)
    return EvidenceScores(tuple(row.id for row in rows), *(table[:, i] for i in range(8)))


def iou(a: tuple[int, int], b: tuple[int, int]) -> float:
    """Return intersection over union of two half-open ranges, 0 for empty ones."""
    shared = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    union = (a[1] - a[0]) + (b[1] - b[0]) - shared
    return shared / union if union else 0.0


def pruning_curve(rows: Sequence[PruneRow], *, points: int = 21) -> list[PrunePoint]:
    """Sweep one threshold over all rows, from keeping everything to keeping nothing.

    Thresholds are the scores at evenly spaced shares of the words, so the curve has at most *points* points.
    Raises ``InputError`` where there are no pieces or *points* is below 2.
    """
    pieces = [(score, _words(row.text[a:b])) for row in rows for a, b, score in row.pieces]
    if not pieces or points < 2:
        raise InputError(f"A pruning curve needs scored pieces and 2 points or more, not {points}.")
    pieces.sort(key=lambda piece: -piece[0])
    shares = np.cumsum([words for _, words in pieces], dtype=np.float64)
    shares /= max(shares[-1], 1.0)
    at = np.searchsorted(shares, np.linspace(0.0, 1.0, points)[1:-1])
    thresholds = sorted({pieces[min(int(i), len(pieces) - 1)][0] for i in at} | {pieces[-1][0]})
    return [*(_prune(rows, t) for t in thresholds), _prune(rows, float("inf"))]


def _counts(row: EvidenceRow) -> list[int]:
    for start, end in (*row.gold, *row.marked):
        if not 0 <= start <= end <= len(row.text):
            raise InputError(
                f"Row {row.id!r}: the span {start}..{end} is not in its {len(row.text)} characters."
            )
    words = [match.span() for match in _WORD.finditer(row.text)]
    gold = {i for i, word in enumerate(words) if any(_touch(word, span) for span in row.gold)}
    marked = {i for i, word in enumerate(words) if any(_touch(word, span) for span in row.marked)}
    inside = sum(any(m[0] <= g[0] and g[1] <= m[1] for m in row.marked) for g in row.gold)
    touched = sum(any(_touch(g, m) for m in row.marked) for g in row.gold)
    matched = _match(row.gold, row.marked)
    return [
        len(gold & marked), len(marked), len(gold), matched, len(row.marked), len(row.gold), inside, touched,
    ]  # fmt: skip


def _match(gold: Spans, marked: Spans) -> int:
    """Return how many one-to-one pairs reach IoU 0.5, the best pairs taken first."""
    pairs = [(iou(g, m), i, j) for i, g in enumerate(gold) for j, m in enumerate(marked)]
    used_gold: set[int] = set()
    used_marked: set[int] = set()
    for value, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if value >= 0.5 and i not in used_gold and j not in used_marked:
            used_gold.add(i)
            used_marked.add(j)
    return len(used_gold)


def _prune(rows: Sequence[PruneRow], threshold: float) -> PrunePoint:
    total = kept_words = shown = asked = whole = spans = 0
    for row in rows:
        kept = _merge([(a, b) for a, b, score in row.pieces if score >= threshold], row.text)
        total += sum(_words(row.text[a:b]) for a, b, _ in row.pieces)
        kept_words += sum(_words(row.text[a:b]) for a, b in kept)
        texts = [row.text[a:b].lower() for a, b in kept]
        if row.answers:
            asked += 1
            shown += any(answer.lower() in text for answer in row.answers for text in texts)
        spans += len(row.gold)
        whole += sum(any(a <= g[0] and g[1] <= b for a, b in kept) for g in row.gold)
    return PrunePoint(threshold, _ratio(kept_words, total), _ratio(shown, asked), _ratio(whole, spans))


def _merge(kept: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Join pieces that overlap or have nothing but spaces between them."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(kept):
        if out and (start <= out[-1][1] or not text[out[-1][1] : start].strip()):
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _touch(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return max(a[0], b[0]) < min(a[1], b[1])


def _words(text: str) -> int:
    return len(text.split())


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
