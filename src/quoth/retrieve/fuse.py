"""Two lists of hits to one: reciprocal ranks, or a weighted sum whose weight is learned on held-out questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Key = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Fusion:
    """How two lists become one.

    ``sum``: lexical score + ``weight`` x cosine. ``ranks``: 1 / (``constant`` + rank), summed
    (Cormack, Clarke and Buettcher, SIGIR 2009; they used 60). ``depth`` is how far each list goes.
    """

    method: Literal["sum", "ranks"] = "sum"
    weight: float = 150.0
    constant: float = 10.0
    depth: int = 100


def fuse(
    lexical: Mapping[Key, float], cosines: Mapping[Key, float], fusion: Fusion
) -> list[tuple[Key, float]]:
    """Return (key, score) of all keys, best first, ties by key.

    In a sum, a key without a lexical score has at most the lowest of the list: it gets that where the
    list was cut at ``depth``, else 0. A key without a cosine gets the lowest cosine there is.
    """
    if fusion.method == "ranks":
        scores = _reciprocal(lexical, cosines, fusion.constant, fusion.depth)
    else:
        floor = min(lexical.values(), default=0.0) if len(lexical) >= fusion.depth else 0.0
        least = min(cosines.values(), default=0.0)
        scores = {
            key: lexical.get(key, floor) + fusion.weight * cosines.get(key, least)
            for key in {**lexical, **cosines}
        }
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _reciprocal(
    lexical: Mapping[Key, float], cosines: Mapping[Key, float], constant: float, depth: int
) -> dict[Key, float]:
    scores: dict[Key, float] = dict.fromkeys([*lexical, *cosines], 0.0)
    for side in (lexical, cosines):
        ordered = sorted(side, key=lambda key: (-side[key], key))[:depth]
        for rank, key in enumerate(ordered, start=1):
            scores[key] += 1.0 / (constant + rank)
    return scores


@dataclass(frozen=True, slots=True)
class Example:
    """A question whose answer is known: both lists of hits, and the keys that are right."""

    lexical: Mapping[Key, float]
    cosines: Mapping[Key, float]
    right: frozenset[Key]


def fit_weight(
    examples: Sequence[Example], weights: Sequence[float], *, depth: int
) -> tuple[float, dict[float, float]]:
    """Return the weight with the best mean reciprocal rank of the first right hit, and that figure for each weight.

    Of equal weights the smallest wins, so that 0 (no vectors) has to be beaten.
    """
    figures: dict[float, float] = {}
    for weight in weights:
        fusion = Fusion(weight=weight, depth=depth)
        ranks = [_first_right(fuse(e.lexical, e.cosines, fusion), e.right) for e in examples]
        figures[weight] = sum(1.0 / rank for rank in ranks if rank) / max(1, len(ranks))
    best = max(sorted(figures), key=lambda weight: figures[weight])
    return best, figures


def _first_right(ranked: Sequence[tuple[Key, float]], right: frozenset[Key]) -> int:
    return next((rank for rank, (key, _) in enumerate(ranked, start=1) if key in right), 0)


def fit_linear(
    features: "Sequence[Floats]",
    right: "Sequence[NDArray[np.bool_]]",
    *,
    steps: int = 400,
    ridge: float = 1e-3,
) -> "tuple[Floats, Floats]":
    """Return weights of a linear score that puts right items first, and the scale that features are divided by.

    ``features[i]`` is (items, features) of the i-th list, ``right[i]`` says which items are right; lists without
    a right one are left out. The loss is ListNet's (Cao et al., ICML 2007, eq. 6): the cross-entropy of the
    softmax over a list with the right items in equal shares; plain gradient steps, so that it is the same anywhere.
    """
    import numpy as np

    used = [(f, r) for f, r in zip(features, right, strict=True) if r.any()]
    width = features[0].shape[1]
    spread = [f.std(axis=0) for f, _ in used]
    scale = np.maximum(np.mean(spread, axis=0), 1e-9) if used else np.ones(width)
    weights = np.zeros(width)
    for _ in range(steps if used else 0):
        gradient = ridge * weights
        for f, r in used:
            x = f / scale
            z = x @ weights
            p = np.exp(z - z.max())
            gradient = gradient + x.T @ (p / p.sum() - r / r.sum()) / len(used)
        weights = weights - 0.5 * gradient
    return weights, scale
