"""The value a ranking metric has on average when tied items stand in random order: closed forms.

A ranking is a sequence of groups of equal score, best first; a group is (size, relevant). McSherry and
Najork 2008, "Computing information retrieval performance measures efficiently in the presence of tied
scores", give AP and nDCG; RR and hit@k follow from drawing without replacement.
"""

from collections.abc import Sequence
from itertools import groupby
from math import comb

import numpy as np
from numpy.typing import NDArray

Group = tuple[int, int]


def groups_of(scores: Sequence[float], relevant: Sequence[bool]) -> list[Group]:
    """Return (size, relevant) of each group of equal scores; *scores* must not increase."""
    out = []
    for _, members in groupby(zip(scores, relevant, strict=True), key=lambda pair: pair[0]):
        flags = [flag for _, flag in members]
        out.append((len(flags), sum(flags)))
    return out


def expected_average_precision(groups: Sequence[Group], total: int) -> float:
    """Return E[AP] over random tie orders, where *total* relevant items exist (0 gives 0).

    Within a group behind b items of which R are relevant, place i is relevant with probability r / n, and
    then (i - 1)(r - 1) / (n - 1) of the i - 1 places before it are, on average.
    """
    if total == 0:
        return 0.0
    summed, before, found = 0.0, 0, 0
    for size, relevant in groups:
        if relevant == size or size == 1:
            summed += sum((found + i) / (before + i) for i in range(1, size + 1)) if relevant else 0.0
        elif relevant:
            share = (relevant - 1) / (size - 1)
            inner = sum((found + 1 + (i - 1) * share) / (before + i) for i in range(1, size + 1))
            summed += relevant / size * inner
        before += size
        found += relevant
    return summed / total


def expected_reciprocal_rank(groups: Sequence[Group]) -> float:
    """Return E[1 / rank of the first relevant item] over random tie orders, 0 where there is none.

    The first of r relevant among n stands at place i with probability C(n - i, r - 1) / C(n, r).
    """
    before = 0
    for size, relevant in groups:
        if relevant:
            ways = comb(size, relevant)
            places = range(1, size - relevant + 2)
            return sum(comb(size - i, relevant - 1) / ways / (before + i) for i in places)
        before += size
    return 0.0


def expected_hit(groups: Sequence[Group], k: int) -> float:
    """Return the probability, over random tie orders, that a relevant item is among the first *k*."""
    before = 0
    for size, relevant in groups:
        if before >= k:
            return 0.0
        if relevant:
            seen = min(size, k - before)
            return 1.0 - comb(size - relevant, seen) / comb(size, seen)
        before += size
    return 0.0


def expected_dcg(scores: Sequence[float], gains: Sequence[float], k: int) -> float:
    """Return E[DCG@k] over random tie orders: each place of a tied group gains the group's mean."""
    values: NDArray[np.float64] = np.zeros(len(gains))
    at = 0
    for _, members in groupby(zip(scores, gains, strict=True), key=lambda pair: pair[0]):
        group = [gain for _, gain in members]
        values[at : at + len(group)] = sum(group) / len(group)
        at += len(group)
    cut = values[:k]
    return float(cut @ (1.0 / np.log2(np.arange(2, len(cut) + 2))))
