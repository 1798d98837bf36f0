"""Questions a second: our reader against a plain loop in torch, as the removed pipeline ran, and against torch batched.

The same weights and the same questions, in one run, in turns; every row is a ratio to the plain loop, so that a noisy
or slow machine changes little. Decoding is included in all of them.
"""

import platform
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from quoth.datasets import load_squad
from quoth.errors import MissingExtraError, ModelError
from quoth.evaluate.cases import span_cases
from quoth.models import load_reader
from quoth.models.plain import PADDED, one_by_one
from quoth.protocols import SpanModel
from quoth.reading import SpanReader
from quoth.reproduce.corpus import DEV
from quoth.reproduce.recipe import Inputs, Outcome, Recipe, Row
from quoth.types import Passage

if TYPE_CHECKING:
    from quoth.evaluate.cases import Case

QUESTIONS = 500
ROUNDS = 3
CHECKPOINTS = {"small": "reader-6", "large": "reader-12"}

Items = Sequence[tuple[str, Sequence[Passage]]]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to read; ``share`` is the part of the questions that it is given (slow ways get fewer)."""

    name: str
    read: Callable[[Items], object]
    share: float = 1.0


def run(inputs: Inputs) -> Outcome:
    """Time every installed way for both shipped readers."""
    cases = span_cases(load_squad(inputs.file(DEV)))
    picked = random.Random(inputs.seed).sample(cases, inputs.limit or QUESTIONS)
    rows: list[Row] = []
    notes: list[str] = []
    for name, checkpoint in CHECKPOINTS.items():
        folder = inputs.data.parent / "models" / checkpoint
        ways, missing = _ways(name, folder, threads=int(inputs.settings["threads"].value))
        notes += missing
        rows += _timed(name, ways, _items(picked), inputs)
    return Outcome(
        rows=tuple(rows),
        differences=(
            f"processor: {processor()}",
            f"{len(picked)} SQuAD 2.0 dev questions, their own paragraph, seed {inputs.seed}; median of {ROUNDS}",
            f"plain loop: fp32, one window at a time, padded to {PADDED} tokens",
            *notes,
        ),
    )


def _items(cases: "Sequence[Case]") -> Items:
    return [(case.question, [case.passage]) for case in cases if case.passage is not None]


def _ways(name: str, checkpoint: Path, *, threads: int) -> tuple[list[Way], list[str]]:
    ways: list[Way] = []
    missing: list[str] = []
    try:
        torch_model = load_reader(str(checkpoint), threads=threads)
        plain = SpanReader(one_by_one(torch_model))
        ways.append(Way("plain torch loop", lambda items: [plain.read(q, p) for q, p in items], share=0.1))
        ways.append(
            Way("torch, batched by us", lambda items: SpanReader(torch_model).read_many(items), share=0.4)
        )
    except (MissingExtraError, ModelError) as problem:
        missing.append(f"{name}: no torch rows: {problem}")
    for engine in ("onnxruntime", "openvino"):
        try:
            model = load_reader(name, engine=engine, threads=threads)
        except (MissingExtraError, ModelError) as problem:
            missing.append(f"{name}: no {engine} rows: {problem}")
            continue
        ways += _ours(engine, model)
    return ways, missing


def _ours(engine: str, model: SpanModel) -> list[Way]:
    reader = SpanReader(model)
    return [
        Way(f"quoth, {engine}", reader.read_many),
        Way(f"quoth, {engine}, one question at a time", lambda items: [reader.read(q, p) for q, p in items]),
    ]


def _timed(name: str, ways: Sequence[Way], items: Items, inputs: Inputs) -> list[Row]:
    rates: dict[str, list[float]] = {way.name: [] for way in ways}
    for way in ways:
        way.read(items[:4])
    for turn in range(ROUNDS):
        for way in ways:
            part = items[: _count(way, items)]
            begun = time.perf_counter()
            way.read(part)
            rates[way.name].append(len(part) / (time.perf_counter() - begun))
            inputs.progress(turn * len(ways), ROUNDS * len(ways), f"{name}: {way.name}")
    base = rates.get("plain torch loop")
    rows = []
    for way in ways:
        rate = median(rates[way.name])
        ratios = [r / b for r, b in zip(rates[way.name], base, strict=True)] if base else []
        times = (
            f"{median(ratios):.1f}x the plain loop ({min(ratios):.1f}-{max(ratios):.1f}); " if ratios else ""
        )
        rows.append(
            Row(
                f"{name}: {way.name}, questions/s",
                "",
                rate,
                f"{times}{_count(way, items)} questions",
            )
        )
    return rows


def _count(way: Way, items: Items) -> int:
    return max(4, int(len(items) * way.share))


def processor() -> str:
    """Return the processor's name and which of the instructions that matter here it has."""
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    name = next(
        (line.split(":", 1)[1].strip() for line in info.splitlines() if line.startswith("model name")),
        "unknown",
    )
    flags = set(next((line for line in info.splitlines() if line.startswith("flags")), "").split())
    has = [
        label
        for flag, label in (("avx512_vnni", "VNNI"), ("avx_vnni", "AVX-VNNI"), ("amx_tile", "AMX"))
        if flag in flags
    ]
    cores = sum(line.startswith("processor") for line in info.splitlines())
    return f"{name}, {cores} cores, {' and '.join(has) or 'neither VNNI nor AMX'}"


RECIPES = (
    Recipe(
        "reader-speed",
        "questions a second against a plain torch loop and torch batched, same weights",
        "the removed pipeline's way of reading",
        run,
    ),
)
