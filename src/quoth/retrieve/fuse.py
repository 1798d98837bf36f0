"""Two lists of hits to one: reciprocal ranks, or a weighted sum whose weight is learned on held-out questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

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
    depth: int = 200


def fuse(
    lexical: Mapping[Key, float], cosines: Mapping[Key, float], fusion: Fusion
) -> list[tuple[Key, float]]:
    """Return (key, score) of all keys, best first, ties by key.

    In a sum, a key without a lexical score has at most the lowest of the list: it gets that where the
    list was cut at ``depth``, else 0. A key without a cosine gets the lowest cosine there is.
    """
    if fusion.method == "ranks":
        scores = _reciprocal(lexical, cosines, fusion.constant)
    else:
        floor = min(lexical.values(), default=0.0) if len(lexical) >= fusion.depth else 0.0
        least = min(cosines.values(), default=0.0)
        scores = {
            key: lexical.get(key, floor) + fusion.weight * cosines.get(key, least)
            for key in {**lexical, **cosines}
        }
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _reciprocal(
    lexical: Mapping[Key, float], cosines: Mapping[Key, float], constant: float
) -> dict[Key, float]:
    scores: dict[Key, float] = {}
    for side in (lexical, cosines):
        ordered = sorted(side, key=lambda key: (-side[key], key))
        for rank, key in enumerate(ordered, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (constant + rank)
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
