"""Two or more runs over the same questions: paired differences, intervals, corrected p-values, what changed."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError
from quoth.evaluate.significance import Interval, PairedTest, bootstrap, holm, permutation_test

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RunScores:
    """One system's score of each question: metric name -> array of shape (n,), in order of ``ids``.

    ``groups`` names each question's document where known (empty: every question stands alone).
    """

    name: str
    ids: tuple[str, ...]
    columns: Mapping[str, Array]
    groups: tuple[Hashable, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A question that two runs score differently."""

    id: str
    a: float
    b: float


@dataclass(frozen=True)
class PairedDifference:
    """Run *b* less run *a* in one metric: the mean difference, its interval and its p-value.

    ``adjusted`` is Holm's p-value over all pairs compared in this metric. ``better`` and ``worse`` count the
    questions where b scores higher and lower; ``changes`` lists them, the largest first.
    """

    a: str
    b: str
    metric: str
    mean_a: float
    mean_b: float
    interval: Interval
    test: PairedTest
    adjusted: float
    better: int
    worse: int
    changes: tuple[Change, ...]


def compare(
    runs: Sequence[RunScores],
    *,
    metrics: Sequence[str] = (),
    resamples: int = 9999,
    level: float = 0.95,
    seed: int = 0,
) -> list[PairedDifference]:
    """Compare every pair of runs in every metric that all of them have (or in those named).

    Differences are paired by question id and resampled by document where the first run names them. Raises
    ``InputError`` for fewer than two runs, two of one name, other questions, or a metric that a run lacks.
    """
    _check(runs)
    shared = [name for name in runs[0].columns if all(name in run.columns for run in runs)]
    wanted = list(metrics) or shared
    unknown = [name for name in wanted if name not in shared]
    if unknown or not wanted:
        raise InputError(
            f"Not every run has the metric {(unknown or ['any'])[0]!r}; all have {', '.join(shared) or 'none'}.",
            hint="Compare runs of one kind.",
        )
    groups = list(runs[0].groups) or None
    aligned = [_align(run, runs[0].ids) for run in runs]
    out: list[PairedDifference] = []
    for metric in wanted:
        pairs = list(combinations(range(len(runs)), 2))
        tests = [
            permutation_test(
                aligned[j][metric], aligned[i][metric], groups=groups, resamples=resamples, seed=seed
            )
            for i, j in pairs
        ]
        adjusted = holm([test.p_value for test in tests])
        for (i, j), test, p in zip(pairs, tests, adjusted, strict=True):
            a, b = aligned[i][metric], aligned[j][metric]
            moved = [
                Change(id, float(x), float(y)) for id, x, y in zip(runs[0].ids, a, b, strict=True) if x != y
            ]
            out.append(
                PairedDifference(
                    a=runs[i].name,
                    b=runs[j].name,
                    metric=metric,
                    mean_a=float(a.mean()),
                    mean_b=float(b.mean()),
                    interval=bootstrap(b - a, groups=groups, level=level, seed=seed),
                    test=test,
                    adjusted=p,
                    better=sum(1 for change in moved if change.b > change.a),
                    worse=sum(1 for change in moved if change.b < change.a),
                    changes=tuple(sorted(moved, key=lambda c: (-abs(c.b - c.a), c.id))),
                )
            )
    return out


def _check(runs: Sequence[RunScores]) -> None:
    if len(runs) < 2:
        raise InputError(f"A comparison needs two runs or more, not {len(runs)}.")
    names = [run.name for run in runs]
    if len(set(names)) != len(names):
        raise InputError(f"Runs need different names; these are {', '.join(names)}.")
    first = set(runs[0].ids)
    for run in runs:
        if len(set(run.ids)) != len(run.ids) or any(len(c) != len(run.ids) for c in run.columns.values()):
            raise InputError(f"Run {run.name!r} needs one score for each question, and each question once.")
        if run.groups and len(run.groups) != len(run.ids):
            raise InputError(f"Run {run.name!r} names {len(run.groups)} groups for {len(run.ids)} questions.")
        if set(run.ids) != first:
            only = len(first - set(run.ids)), len(set(run.ids) - first)
            raise InputError(
                f"Runs must be over the same questions: {only[0]} are only in {runs[0].name!r}, "
                f"{only[1]} only in {run.name!r}.",
                hint="Evaluate both on one data set, with the same --limit.",
            )


def _align(run: RunScores, ids: Sequence[str]) -> dict[str, Array]:
    place = {id: i for i, id in enumerate(run.ids)}
    order = np.array([place[id] for id in ids])
    return {name: np.asarray(column, dtype=np.float64)[order] for name, column in run.columns.items()}
