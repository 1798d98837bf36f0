"""Threshold, retriever weight and confidence of the shipped readers: fitted on one half of the articles, measured
on the other, both ways; then fitted on all of them, for the file that ships beside the weights.

Every passage is read once, by itself, as deep as the deepest profile goes; what a smaller budget would have read is
the beginning of that list, so that all profiles are fitted from one run.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quoth.assemble import FUSED, Address, sync_vectors, with_vectors
from quoth.evaluate.calibration import score_calibration
from quoth.evaluate.cases import Case
from quoth.evaluate.spans import exact_match, f1
from quoth.models import load_reader
from quoth.protocols import Retriever
from quoth.reading import (
    PROFILES,
    Calibration,
    Held,
    ReadSettings,
    SpanReader,
    combine,
    features,
    fit_confidence,
    fit_threshold,
    fit_weight,
    fold_of,
    load_calibrations,
    save_calibrations,
)
from quoth.reproduce.corpus import load_corpus, open_index
from quoth.reproduce.recipe import Inputs, Outcome, Recipe, Row
from quoth.retrieve.store import Index
from quoth.types import Passage, Query, Reading, Scored, Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Flags = NDArray[np.bool_]

QUESTIONS = 1_000
CANDIDATES = 50
KEPT = 20
GRID = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 3.0)
DEEPEST = {"small": 1_500, "large": 2_000}
"""Tokens that are read at most, by reader; a profile that goes deeper gets the fit of this depth."""


@dataclass(frozen=True, slots=True)
class Read:
    """One question: gold answers, and what each retrieved passage said when it was read alone."""

    id: str
    article: str
    answers: tuple[str, ...]
    scores: tuple[float, ...]
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """One fold's outcome."""

    em: "Doubles"
    f1: "Doubles"
    confidence: "Doubles"
    right: "Flags"
    answered: "Flags"


def run(inputs: Inputs) -> Outcome:
    """Fit and measure every profile of both shipped readers."""
    corpus = load_corpus(inputs)
    folder = inputs.work / "squad-english"
    index = open_index(folder, corpus.documents)
    retriever, kind = _retriever(index, Address("folder", str(folder)), inputs)
    cases = corpus.cases("dev")
    picked = random.Random(inputs.seed).sample(cases, min(inputs.limit or QUESTIONS, len(cases)))
    rows: list[Row] = []
    with index:
        for name in ("small", "large"):
            model = load_reader(name, threads=int(inputs.settings["threads"].value))
            reader = SpanReader(model, settings=ReadSettings(n_best=KEPT))
            cache = inputs.work / f"calibration-{name}{kind}-{len(picked)}-{inputs.seed}.jsonl"
            read = list(
                _read_all(reader, retriever, picked, DEEPEST[name], cache=cache, progress=inputs.progress)
            )
            fitted_on = _fitted_on(len(picked), corpus.passages, kind)
            rows += _fit_reader(name, read, inputs.work, kind=kind, fitted_on=fitted_on)
    return Outcome(
        rows=tuple(rows),
        differences=(
            f"a sample of {len(picked)} of the 11,873 dev questions (seed {inputs.seed}); paragraphs of the train "
            "articles, which the readers learned from, are in the index as distractors",
            "an unanswerable question is right when nothing is quoted, although another paragraph might answer it",
        ),
    )


def _retriever(index: Index, address: Address, inputs: Inputs) -> tuple[Retriever, str]:
    """Return what finds the passages, and what its fits are called behind the profile's name."""
    if inputs.settings["retriever"].value != "hybrid":
        return index, ""
    sync_vectors(
        index, address, inputs.settings, progress=lambda done, n: inputs.progress(done, n, "vectors")
    )
    return with_vectors(index, address, inputs.settings), FUSED


def _fitted_on(n: int, passages: int, kind: str) -> str:
    found = "words and vectors" if kind else "words"
    return f"SQuAD 2.0 dev, {n} questions, found by {found} among {passages} paragraphs (train and dev)"


def _fit_reader(name: str, read: Sequence[Read], work: Path, *, kind: str, fitted_on: str) -> Iterator[Row]:
    """Yield the figures of one reader; its fits join those already in the work folder's file."""
    file = work / f"calibration-{name}.json"
    fits = load_calibrations(file) if file.exists() else {}
    for profile in PROFILES.values():
        tokens = min(profile.tokens_for(name), DEEPEST[name])
        known = [(r, within(r, tokens)) for r in read]
        folds = np.array([fold_of(r.article) for r in read])
        halves = [(fit([k for k, f in zip(known, folds, strict=True) if f != fold], fitted_on),
                   [k for k, f in zip(known, folds, strict=True) if f == fold]) for fold in (0, 1)]  # fmt: skip
        fits[profile.name + kind] = fit(known, fitted_on)
        yield from _rows(f"{name}, {tokens} tokens ({profile.name}{kind})", halves, fits[profile.name + kind])
    save_calibrations(file, fits, otherwise="balanced" if "balanced" in fits else f"balanced{kind}")


def _rows(
    label: str, halves: Sequence[tuple[Calibration, Sequence[tuple[Read, Reading]]]], final: Calibration
) -> Iterator[Row]:
    outcomes = [measure(known, fitted) for fitted, known in halves]
    plain = [
        measure(known, replace(fitted, weight=0.0, threshold=0.0, own_null=False)) for fitted, known in halves
    ]
    n = sum(len(o.em) for o in outcomes)
    how = f"n={n}, each half of the articles with what was fitted on the other"
    for metric in ("em", "f1"):
        values = np.concatenate([getattr(o, metric) for o in outcomes])
        before = np.concatenate([getattr(o, metric) for o in plain]).mean() * 100
        yield Row(
            f"{label}: {metric.upper()}",
            "",
            float(values.mean() * 100),
            f"{how}; {before:.2f} with threshold 0 and no retriever weight; shipped threshold "
            f"{final.threshold:.2f}, weight {final.weight:g}, null of {'its own passage' if final.own_null else 'all'}",
        )
    confidence = np.concatenate([o.confidence[o.answered] for o in outcomes])
    right = np.concatenate([o.right[o.answered] for o in outcomes])
    scored = score_calibration(confidence.tolist(), right.astype(float).tolist())
    yield Row(
        f"{label}: ECE of the confidence",
        "",
        scored.ece_width,
        f"{len(right)} answers given, 10 bins of equal width; Brier {scored.brier:.4f}; "
        f"{right.mean():.3f} of them right (EM = 1)",
    )


def within(read: Read, tokens: int) -> Reading:
    """Return the joint reading of the passages that fit *tokens*, from their readings alone."""
    total = 0
    parts: list[Reading] = []
    for reading in read.readings:
        if parts and total + reading.tokens > tokens:
            break
        total += reading.tokens
        parts.append(reading)
    found = [(span, index) for index, part in enumerate(parts) for span in part.spans]
    found.sort(key=lambda pair: -pair[0].score)
    return Reading(
        spans=tuple(span for span, _ in found[:KEPT]),
        passages=tuple(index for _, index in found[:KEPT]),
        null_score=min((part.null_score for part in parts), default=0.0),
        read=len(parts),
        windows=sum(part.windows for part in parts),
        tokens=total,
        nulls=tuple(parts[index].null_score for _, index in found[:KEPT]),
    )


def fit(known: Sequence[tuple[Read, Reading]], fitted_on: str) -> Calibration:
    """Return weight, kind of null and threshold with the best F1, and a confidence for EM, on these questions."""
    own_null = [False, True]
    fits = [
        Calibration(weight=fit_weight(_held(known, own=own), grid=GRID)[0], own_null=own) for own in own_null
    ]
    thresholds = [_threshold(known, fitted) for fitted in fits]
    best = max(range(len(fits)), key=lambda i: thresholds[i][1])
    fitted = replace(fits[best], threshold=thresholds[best][0], fitted_on=fitted_on, n=len(known))
    used = [(read, _combined(read, reading, fitted)) for read, reading in known if reading.spans]
    measured = np.stack([features(reading, 0) for _, reading in used])
    right = np.array([_gain(read, reading, exact_match) == 1 for read, reading in used])
    coefficients, intercept = fit_confidence(measured, right)
    return replace(fitted, coefficients=coefficients, intercept=intercept)


def _threshold(known: Sequence[tuple[Read, Reading]], fitted: Calibration) -> tuple[float, float]:
    """Return the threshold with the best F1, and that F1."""
    readings = [_combined(read, reading, fitted) for read, reading in known]
    gains = np.array([_gain(read, reading, f1) for (read, _), reading in zip(known, readings, strict=True)])
    answerable = np.array([bool(read.answers) for read, _ in known])
    odds = np.array([reading.null_odds for reading in readings])
    threshold = fit_threshold(odds, gains, answerable)
    given = odds <= threshold
    return threshold, float(np.where(given, gains, ~answerable).mean())


def _combined(read: Read, reading: Reading, fitted: Calibration) -> Reading:
    return combine(reading, read.scores, weight=fitted.weight, own_null=fitted.own_null)


def measure(known: Sequence[tuple[Read, Reading]], calibration: Calibration) -> Measured:
    """Return what these questions score with *calibration*."""
    em, f, confidence, right, answered = [], [], [], [], []
    for read, plain in known:
        reading = _combined(read, plain, calibration)
        given = bool(reading.spans) and not reading.null_odds > calibration.threshold
        nothing = 0.0 if read.answers else 1.0
        em.append(_gain(read, reading, exact_match) if given else nothing)
        f.append(_gain(read, reading, f1) if given else nothing)
        sure = calibration.confidence(features(reading, 0)) if reading.spans else None
        confidence.append(sure or 0.0)
        right.append(given and em[-1] == 1)
        answered.append(given)
    return Measured(np.array(em), np.array(f), np.array(confidence), np.array(right), np.array(answered))


def _gain(read: Read, reading: Reading, metric: Callable[[str, str], float]) -> float:
    """Return what the best span scores against the gold answers; 0 where there are none."""
    if not reading.spans or not read.answers:
        return 0.0
    return float(max(metric(reading.spans[0].item.text, gold) for gold in read.answers))


def _held(known: Sequence[tuple[Read, Reading]], *, own: bool) -> Held:
    shape = (len(known), KEPT)
    scores, gaps, gains, nulls = np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for row, (read, reading) in enumerate(known):
        best = max(read.scores[: reading.read], default=0.0)
        for column, (span, passage) in enumerate(zip(reading.spans, reading.passages, strict=True)):
            scores[row, column] = span.score
            nulls[row, column] = reading.nulls[column]
            gaps[row, column] = read.scores[passage] - best
            gains[row, column] = max((f1(span.item.text, gold) for gold in read.answers), default=0.0)
    return Held(
        scores, gaps, gains,
        nulls if own else np.array([reading.null_score for _, reading in known]),
        np.array([bool(read.answers) for read, _ in known]),
    )  # fmt: skip


# -- reading, once, into a file that a second run finds again


def _read_all(
    reader: SpanReader,
    retriever: Retriever,
    cases: Sequence[Case],
    tokens: int,
    *,
    cache: Path,
    progress: Callable[[int, int, str], None],
) -> Iterator[Read]:
    held = {}
    if cache.exists():
        held = {r.id: r for line in cache.read_text(encoding="utf-8").splitlines() if (r := _parsed(line))}
    with cache.open("a", encoding="utf-8") as file:
        for number, case in enumerate(cases, start=1):
            read = held.get(case.id)
            if read is None:
                read = read_alone(
                    reader, case, retriever.retrieve(Query(case.question), k=CANDIDATES), tokens
                )
                file.write(_line(read) + "\n")
                file.flush()
            progress(number, len(cases), case.question)
            yield read


def read_alone(reader: SpanReader, case: Case, hits: Sequence[Scored[Passage]], tokens: int) -> Read:
    """Return what each of the first passages says when it is read alone, up to *tokens* in all."""
    readings: list[Reading] = []
    total = 0
    while len(readings) < len(hits) and total < tokens:
        ahead = hits[len(readings) : len(readings) + 8]
        for reading in reader.read_many([(case.question, [hit.item]) for hit in ahead]):
            if readings and total + reading.tokens > tokens:
                total = tokens
                break
            total += reading.tokens
            readings.append(reading)
    scores = tuple(hit.score for hit in hits[: len(readings)])
    return Read(case.id, case.group, case.answers, scores, tuple(readings))


def _line(read: Read) -> str:
    readings = [
        {
            "spans": [(s.item.document_id, s.item.start, s.item.end, s.item.text, s.score) for s in r.spans],
            "null": r.null_score,
            "windows": r.windows,
            "tokens": r.tokens,
        }
        for r in read.readings
    ]
    body = {
        "id": read.id, "article": read.article, "answers": read.answers, "scores": read.scores, "readings": readings,
    }  # fmt: skip
    return json.dumps(body, ensure_ascii=False)


def _parsed(line: str) -> Read | None:
    try:
        body = json.loads(line)
    except ValueError:
        return None  # the last line of a run that was killed
    readings = tuple(
        Reading(
            spans=tuple(Scored(Span(*place), score) for *place, score in r["spans"]),
            passages=(0,) * len(r["spans"]),
            null_score=r["null"],
            read=1,
            windows=r["windows"],
            tokens=r["tokens"],
        )
        for r in body["readings"]
    )
    return Read(body["id"], body["article"], tuple(body["answers"]), tuple(body["scores"]), readings)


RECIPES = (
    Recipe(
        "calibration",
        "threshold, retriever weight and confidence of the shipped readers, two folds by article",
        "what ships with each reader",
        run,
    ),
)
