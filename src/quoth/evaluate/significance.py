"""How sure is a figure, and is one system better than another?

Intervals: percentile bootstrap over clusters (Efron and Tibshirani 1993, ch. 13; questions of one document
are drawn together, since they are not independent). Differences: paired sign-flip permutation test (Fisher;
Smucker, Allan and Carterette 2007 for IR). Several comparisons: Holm 1979. All seeded.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quoth.errors import InputError

Array = NDArray[np.float64]
_CELLS = 4_000_000  # of a chunk of resamples, so that memory stays near 32 MB


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and its confidence interval; ``clusters`` is what was drawn, out of n questions."""

    value: float
    low: float
    high: float
    level: float
    n: int
    clusters: int
    resamples: int
    seed: int


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Mean paired difference and its two-sided p-value; ``exact`` where every sign pattern was tried."""

    difference: float
    p_value: float
    n: int
    resamples: int
    exact: bool


def bootstrap(
    values: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    groups: Sequence[Hashable] | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the interval of a mean over questions, or of a ratio sum(values) / sum(weights).

    *values* and *weights* have shape (n,); *groups* names each question's cluster (its document). A ratio
    serves micro-averages: F1 = 2 correct / (triggers + answerable) is one. Raises ``InputError`` for empty,
    unequal or non-finite input, or weights that sum to 0.
    """
    top = _column(values, "values")
    below = np.ones_like(top) if weights is None else _column(weights, "weights")
    if len(below) != len(top) or (groups is not None and len(groups) != len(top)):
        raise InputError(f"There are {len(top)} values; weights and groups must be as many.")
    if not 0 < level < 1 or resamples < 1 or below.sum() == 0:
        raise InputError(f"A bootstrap needs a level within 0..1 ({level}), resamples and weights above 0.")
    tops, belows = _by_group(top, groups), _by_group(below, groups)
    drawn = _resample(tops, belows, resamples, seed)
    low, high = np.nanpercentile(drawn, [50 * (1 - level), 50 * (1 + level)])
    value = float(top.sum() / below.sum())
    return Interval(value, float(low), float(high), level, len(top), len(tops), resamples, seed)


def permutation_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    resamples: int = 9999,
    seed: int = 0,
) -> PairedTest:
    """Test whether the mean of a - b is 0 by flipping the signs of the paired differences at random.

    *a* and *b* have shape (n,), question by question; with *groups* whole clusters flip together. The p-value
    is two-sided, (1 + as extreme) / (1 + resamples); where there are no more sign patterns than resamples,
    all are tried and it is exact. Raises ``InputError`` for empty, unequal or non-finite input.
    """
    left, right = _column(a, "scores"), _column(b, "scores")
    if len(left) != len(right) or (groups is not None and len(groups) != len(left)):
        raise InputError(
            f"Paired scores must be of the same questions; there are {len(left)} and {len(right)}.",
            hint="Compare runs over one gold file.",
        )
    if resamples < 1:
        raise InputError(f"A permutation test needs resamples, not {resamples}.")
    differences = left - right
    moved = _by_group(differences, groups)
    moved = moved[moved != 0]
    observed = abs(moved.sum()) * (1 - 1e-12)
    mean = float(differences.mean())
    if 2 ** min(len(moved), 62) <= resamples:
        signs = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
        sums = np.abs(2.0 * (signs @ moved) - moved.sum())
        return PairedTest(mean, float((sums >= observed).mean()), len(left), len(sums), exact=True)
    extreme = _flip(moved, observed, resamples, np.random.default_rng(seed))
    return PairedTest(mean, (1 + extreme) / (1 + resamples), len(left), resamples, exact=False)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values, in the order given: compare them with alpha as they are."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _column(values: ArrayLike, name: str) -> Array:
    out = np.asarray(values, dtype=np.float64)
    if out.ndim != 1 or not len(out) or not np.isfinite(out).all():
        raise InputError(f"The {name} must be one or more finite numbers, not an array of shape {out.shape}.")
    return out


def _by_group(values: Array, groups: Sequence[Hashable] | None) -> Array:
    """Return the sum of each cluster, clusters in order of first appearance."""
    if groups is None:
        return values
    number: dict[Hashable, int] = {}
    at = np.array([number.setdefault(group, len(number)) for group in groups])
    return np.asarray(np.bincount(at, weights=values, minlength=len(number)), dtype=np.float64)


def _resample(tops: Array, belows: Array, resamples: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    clusters = len(tops)
    constant = bool((belows == belows[0]).all())
    drawn = np.empty(resamples)
    step = max(1, _CELLS // clusters)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        picks = rng.integers(0, clusters, (size, clusters), dtype=np.int32)
        part = tops[picks].sum(axis=1)
        whole = np.full(size, belows.sum()) if constant else belows[picks].sum(axis=1)
        drawn[start : start + size] = np.divide(part, whole, out=np.full(size, np.nan), where=whole != 0)
    return drawn


def _flip(moved: Array, observed: float, resamples: int, rng: np.random.Generator) -> int:
    """Count the random sign patterns whose absolute sum reaches *observed*."""
    extreme, total = 0, moved.sum()
    step = max(1, _CELLS // len(moved))
    width = (len(moved) + 7) // 8
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        random = np.frombuffer(rng.bytes(size * width), dtype=np.uint8).reshape(size, width)
        signs = np.unpackbits(random, axis=1, count=len(moved))
        sums = np.abs(2.0 * (signs.astype(np.float64) @ moved) - total)
        extreme += int((sums >= observed).sum())
    return extreme
