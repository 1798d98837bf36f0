"""Measures the installed engines on this CPU, and keeps the fastest whose answers hold."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.errors import InputError, ModelError, QuothError
from quoth.models.card import Card, read_card, verify
from quoth.models.engines import DEFAULT, ENGINES, Engine, cpu_name, installed, remember
from quoth.models.export import ROUGH, compare, read_reference
from quoth.models.places import folder, is_bundle
from quoth.protocols import Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """What one engine did: speed, time to load, and how far its logits are from fp32 (share of their deviation)."""

    engine: str
    tokens_per_second: float
    load_ms: float
    difference: float
    same_spans: float
    holds: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Tuning:
    """All trials on one CPU, and the engine that is used from now on."""

    model: str
    cpu: str
    trials: tuple[Trial, ...]
    chosen: str
    remembered_in: Path


def tune(name: str, *, seconds: float = 1.5, threads: int = 0, step: Step = lambda what: None) -> Tuning:
    """Time every installed engine for *seconds* on the model's fixed windows and remember the fastest.

    An engine whose logits differ from the stored fp32 ones by more than 10% of their standard deviation
    (root mean square) is never chosen. Raises ``InputError`` for a model that only torch runs, ``ModelError`` where no
    engine gives the right logits.
    """
    path = folder(name)
    if not is_bundle(path):
        raise InputError(
            f"{name} is a checkpoint; only torch runs it.", hint="`quoth models export` makes a bundle of it."
        )
    card = read_card(path)
    verify(path, card)
    windows, exact = read_reference(path)
    trials = []
    for engine in installed():
        step(f"measuring {engine}")
        trials.append(_try(engine, path, card, windows, exact, Clock(seconds, threads)))
    return conclude(card, trials)


@dataclass(frozen=True, slots=True)
class Clock:
    """How long an engine is timed, on how many threads."""

    seconds: float
    threads: int


def conclude(card: Card, trials: Sequence[Trial]) -> Tuning:
    """Choose the fastest engine that holds, remember it for this CPU, and return all that was seen."""
    holding = [trial for trial in trials if trial.holds]
    if not holding:
        said = "; ".join(f"{t.engine}: {t.problem or f'{t.difference:.0%} off'}" for t in trials)
        raise ModelError(f"No engine gives the logits that {card.name} should have ({said}).")
    best = max(holding, key=lambda trial: (trial.tokens_per_second, trial.engine == DEFAULT))
    return Tuning(card.name, cpu_name(), tuple(trials), best.engine, remember(card, best.engine))


def _try(
    name: str, path: Path, card: Card, windows: Sequence[Window], exact: "Sequence[Floats]", clock: Clock
) -> Trial:
    begun = time.perf_counter()
    try:
        engine = ENGINES[name](path, card, clock.threads)
        load = 1000 * (time.perf_counter() - begun)
        parity = compare(engine.run(windows), exact)
        speed = _speed(engine, windows, clock.seconds)
    except QuothError as problem:
        return Trial(name, 0.0, 0.0, float("inf"), 0.0, False, str(problem))
    return Trial(name, speed, load, parity.relative, parity.same_spans, parity.relative <= ROUGH)


def _speed(engine: Engine, windows: Sequence[Window], seconds: float) -> float:
    """Return tokens a second, the best of several runs over all windows: what others do on the machine only slows."""
    tokens = sum(len(window.ids) for window in windows)
    begun, best = time.perf_counter(), 0.0
    while True:
        start = time.perf_counter()
        engine.run(windows)
        end = time.perf_counter()
        best = max(best, tokens / (end - start))
        if end - begun >= seconds:
            return best
