"""What becomes of a reading: retriever scores weighed in, and shares of belief. Pure functions."""

import math
from collections.abc import Sequence
from dataclasses import replace

from quoth.errors import InputError
from quoth.types import Reading, Scored


def combine(reading: Reading, scores: Sequence[float], *, weight: float, own_null: bool = False) -> Reading:
    """Return *reading* with the scores of the passages weighed in, best span first again.

    ``scores[i]`` belongs to the i-th passage that was given to the reader. A span gets *weight*
    times (the score of its passage less the best score of those read), so that a span of the
    best passage keeps its score and the null odds stay on their scale. Equal scores stay in the
    order they had. With *own_null* the null score becomes that of the best span's own passage:
    the more passages are read, the more likely one of them is sure that it holds no answer, and
    the smallest null score of all of them says less about the passage that does.
    """
    if len(scores) < reading.read:
        raise InputError(f"{reading.read} passages were read, but there are {len(scores)} scores.")
    if not reading.spans or (weight == 0 and not (own_null and reading.nulls)):
        return reading
    best = max(scores[: reading.read])
    weighed = [
        Scored(span.item, span.score + weight * (scores[passage] - best))
        for span, passage in zip(reading.spans, reading.passages, strict=True)
    ]
    order = sorted(range(len(weighed)), key=lambda i: -weighed[i].score)
    nulls = tuple(reading.nulls[i] for i in order) if reading.nulls else ()
    return replace(
        reading,
        spans=tuple(weighed[i] for i in order),
        passages=tuple(reading.passages[i] for i in order),
        nulls=nulls,
        null_score=nulls[0] if own_null and nulls else reading.null_score,
    )


def probabilities(reading: Reading) -> tuple[float, ...]:
    """Return each span's share in a softmax over the n-best spans and the null, as run_squad has it.

    "No answer" has what is left to 1. These shares compare the spans of one reading; they
    are not calibrated: how often an answer is right is what ``Calibration.confidence`` says.
    """
    if not reading.spans:
        return ()
    top = max(reading.spans[0].score, reading.null_score)
    raised = [math.exp(span.score - top) for span in reading.spans]
    total = sum(raised) + math.exp(reading.null_score - top)
    return tuple(value / total for value in raised)
