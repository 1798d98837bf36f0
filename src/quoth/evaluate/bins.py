"""Results by kind of question: the bins that show what a mean hides. Any key function makes bins.

The keys here: question type (the taxonomy of ``quoth.text``), word overlap of question and answer (a model
that only matches words is good in the high bins alone), length, paraphrase or original, topic.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError
from quoth.evaluate.significance import Interval, bootstrap
from quoth.text import QUESTION_TYPES, STOP_WORDS, answer_type, question_type, words

Array = NDArray[np.float64]

OVERLAP_LABELS = ("0-20%", "20-40%", "40-60%", "60-80%", "80-100%")
OVERLAP_CONVENTION = (
    "Share of the question's distinct words, stop words left out, that the sentence with the answer holds."
)


@dataclass(frozen=True, slots=True)
class Bin:
    """The questions of one kind: how many, and each metric's mean with its interval."""

    key: str
    n: int
    figures: Mapping[str, Interval]


def score_bins(
    columns: Mapping[str, Sequence[float] | Array],
    keys: Sequence[str],
    *,
    order: Sequence[str] = (),
    groups: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> list[Bin]:
    """Split per-question scores (metric name -> shape (n,)) by *keys*, one for each question.

    Bins come in *order*, then by size; empty ones are left out. Raises ``InputError`` for unequal lengths.
    """
    arrays = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    wrong = [name for name, column in arrays.items() if len(column) != len(keys)]
    if wrong or not arrays or (groups is not None and len(groups) != len(keys)):
        raise InputError(
            f"There are {len(keys)} keys; every column and the groups must be as many ({wrong})."
        )
    members: dict[str, list[int]] = {}
    for i, key in enumerate(keys):
        members.setdefault(key, []).append(i)
    place = {key: i for i, key in enumerate(order)}
    out = []
    for key in sorted(members, key=lambda k: (place.get(k, len(place)), -len(members[k]), k)):
        at = members[key]
        part = None if groups is None else [groups[i] for i in at]
        figures = {
            name: bootstrap(column[at], groups=part, resamples=1000, seed=seed)
            for name, column in arrays.items()
        }
        out.append(Bin(key, len(at), figures))
    return out


def overlap(question: str, answer: str) -> float:
    """Return which share of the question's distinct content words occurs in *answer*, 0 for no content words."""
    asked = set(words(question)) - STOP_WORDS
    return len(asked & set(words(answer))) / len(asked) if asked else 0.0


def by_overlap(question: str, answers: Iterable[str]) -> str:
    """Return the bin of the highest overlap with any of the answers; "no answer" where there is none."""
    values = [overlap(question, answer) for answer in answers]
    if not values:
        return "no answer"
    return OVERLAP_LABELS[min(int(max(values) * len(OVERLAP_LABELS)), len(OVERLAP_LABELS) - 1)]


def by_question_type(question: str) -> str:
    """Return the question's type, one of ``quoth.text.QUESTION_TYPES``."""
    return question_type(question)


def by_answer_type(question: str) -> str:
    """Return what the question asks for, one of ``quoth.text.ANSWER_TYPES``."""
    return answer_type(question)


def by_length(length: int, edges: Sequence[int]) -> str:
    """Return the bin of a length: "1-5", "6-10", ..., "21+" for edges (5, 10, 20), which close their bins."""
    at = bisect_right(edges, length - 1)
    low = edges[at - 1] + 1 if at else 0
    return f"{low}+" if at == len(edges) else f"{low}-{edges[at]}"


def length_labels(edges: Sequence[int]) -> tuple[str, ...]:
    """Return the labels that ``by_length`` gives, in order."""
    return tuple(by_length(edge, edges) for edge in (*edges, edges[-1] + 1))


QUESTION_TYPE_ORDER = QUESTION_TYPES
