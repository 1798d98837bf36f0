"""What the recipes share: samples, rows that resume, figures with intervals."""

import hashlib
import json
import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from quoth import assemble
from quoth.errors import InputError
from quoth.evaluate import Case, GoldSpans, Running, SpanScores, bootstrap, score_spans, tune_threshold
from quoth.protocols import Ranker, Reader, SpanModel
from quoth.rank import RANKERS, SpanSentenceRanker
from quoth.reading import SpanReader, fold_of
from quoth.reproduce.recipe import Inputs, Row
from quoth.settings import Chosen
from quoth.types import Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

T = TypeVar("T")
Settings = Mapping[str, Chosen]

NO_SPAN = 1e9
"""Null odds of a question for which no span was found at all (JSON has no infinity)."""


def sampled(items: Sequence[T], inputs: Inputs, *, otherwise: int = 0) -> list[T]:
    """Return a random sample of ``inputs.limit`` items (else *otherwise*; 0: all), in their own order."""
    size = inputs.limit or otherwise
    if not size or size >= len(items):
        return list(items)
    picked = sorted(random.Random(inputs.seed).sample(range(len(items)), size))
    return [items[i] for i in picked]


def keeping(inputs: Inputs, name: str, depends: Mapping[str, str], *, batch: int = 32) -> Running:
    """Return how to run so that rows are kept in the work folder, by all that they depend on.

    Rows are found again by question, so that a larger sample goes on where a smaller one ended.
    """
    digest = hashlib.sha256(json.dumps(dict(depends), sort_keys=True).encode()).hexdigest()[:12]
    return Running(
        resume=inputs.work / f"{name}-{digest}.jsonl",
        settings=depends,
        progress=lambda done, total: inputs.progress(done, total, name),
        batch=batch,
    )


def file_facts(*paths: Path) -> dict[str, str]:
    """Return the SHA-256 of each data file, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def reader_facts(settings: Settings) -> dict[str, str]:
    """Return what the rows of a reader depend on: its name, the hash of its files, how it reads."""
    facts = assemble.system_facts(settings)
    named = ("engine", "n_best", "max_answer_tokens", "read")
    chosen = {name: str(settings[name].value) for name in named}
    return {"reader": assemble.reader_name(settings), **dict(facts.model_sha256), **chosen}


def span_reader(settings: Settings) -> SpanReader:
    """Return the reader that the settings name, without a budget. Raise ``InputError`` for one that is no ours."""
    reader = assemble.open_whole_reader(settings)
    if not isinstance(reader, SpanReader):
        raise InputError(
            f"{assemble.reader_name(settings)} is a plug-in; this recipe reads in three modes of our own.",
            hint="Name small, large, a folder or a Hugging Face checkpoint with --reader.",
        )
    return reader


def with_mode(reader: SpanReader, mode: Any, model: SpanModel | None = None) -> SpanReader:
    """Return *reader* in another mode, over *model* where one is given."""
    return SpanReader(model or reader.model, mode=mode, settings=replace(reader.settings, max_tokens=0))


def readers_named(settings: Settings) -> dict[str, tuple[Settings, Reader]]:
    """Return the reader that was asked for, or both shipped ones where none was."""
    names = ("small", "large") if settings["reader"].value == "auto" else (str(settings["reader"].value),)
    out: dict[str, tuple[Settings, Reader]] = {}
    for name in names:
        chosen = {**settings, "reader": replace(settings["reader"], value=name)}
        out[name] = (chosen, assemble.open_whole_reader(chosen))
    return out


def said(reading: Reading, *, keep: int = 10) -> dict[str, Any]:
    """Return a reading as a row of the harness: best text, null odds, n-best."""
    nbest = [{"text": s.item.text, "score": float(s.score)} for s in reading.spans[:keep]]
    odds = float(reading.null_odds) if reading.spans else NO_SPAN
    return {
        "text": nbest[0]["text"] if nbest else "",
        "null_odds": odds,
        "null_score": float(reading.null_score),
        "nbest": nbest,
    }


@dataclass(frozen=True, slots=True)
class Judged:
    """EM and F1 of each question, shape (n,), in 0..1, and the document that each came from."""

    exact: "Doubles"
    f1: "Doubles"
    groups: tuple[str, ...]


def judge(rows: Sequence[Mapping[str, Any]], cases: Sequence[Case], *, threshold: float = 0.0) -> Judged:
    """Return EM and F1 of the rows' best texts where their null odds do not exceed *threshold*."""
    scores = _scored(rows, cases, threshold)
    return Judged(scores.exact, scores.f1, _groups(cases))


def judge_in_halves(rows: Sequence[Mapping[str, Any]], cases: Sequence[Case]) -> tuple[Judged, list[float]]:
    """Return EM and F1 with the threshold of the other half of the articles, and both thresholds.

    Where a half has no question to tune on (tiny samples), its threshold is 0.
    """
    folds = np.array([fold_of(case.group) for case in cases])
    exact, f1 = np.zeros(len(cases)), np.zeros(len(cases))
    thresholds = []
    for fold in (0, 1):
        there = [i for i in range(len(cases)) if folds[i] != fold]
        here = [i for i in range(len(cases)) if folds[i] == fold]
        tuned = _tuned([rows[i] for i in there], [cases[i] for i in there]) if there else 0.0
        thresholds.append(tuned)
        if here:
            scores = _scored([rows[i] for i in here], [cases[i] for i in here], tuned)
            exact[here], f1[here] = scores.exact, scores.f1
    return Judged(exact, f1, _groups(cases)), thresholds


def _tuned(rows: Sequence[Mapping[str, Any]], cases: Sequence[Case]) -> float:
    scores = _scored(rows, cases, 0.0)
    threshold = tune_threshold(scores, _odds(rows), split="dev").threshold
    return threshold if np.isfinite(threshold) else min(_odds(rows).values()) - 1.0


def _scored(rows: Sequence[Mapping[str, Any]], cases: Sequence[Case], threshold: float) -> SpanScores:
    gold = [GoldSpans(case.id, case.answers) for case in cases]
    texts = {c.id: str(r["text"]) for r, c in zip(rows, cases, strict=True) if "text" in r}
    odds = {c.id: float(r["null_odds"]) for r, c in zip(rows, cases, strict=True) if "text" in r}
    return score_spans(gold, texts, null_odds=odds, null_threshold=threshold)


def _odds(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {str(row["id"]): float(row["null_odds"]) for row in rows if "text" in row}


def _groups(cases: Sequence[Case]) -> tuple[str, ...]:
    return tuple(case.group or case.id for case in cases)


def mean_row(
    name: str,
    published: str,
    values: "Doubles | Sequence[float]",
    groups: Sequence[Hashable],
    how: str,
    *,
    scale: float = 1.0,
) -> Row:
    """Return the mean of *values* times *scale* with its interval over *groups* (documents)."""
    found = bootstrap(values, groups=groups, resamples=1000)
    said_how = f"n={found.n:,}; {how}" if how else f"n={found.n:,}"
    return Row(name, published, scale * found.value, said_how, scale * found.low, scale * found.high)


def judged_rows(label: str, judged: Judged, how: str, *, published: tuple[str, str] = ("", "")) -> list[Row]:
    """Return the rows of EM and F1, in per cent."""
    return [
        mean_row(f"{label}: EM", published[0], judged.exact, judged.groups, how, scale=100.0),
        mean_row(f"{label}: F1", published[1], judged.f1, judged.groups, how, scale=100.0),
    ]


def every_ranker(settings: Settings) -> dict[str, tuple[Ranker, dict[str, str]]]:
    """Return every ranker by name, with what its scores depend on; the reader's best span is one of them."""
    out: dict[str, tuple[Ranker, dict[str, str]]] = {
        name: (make(), {"ranker": name}) for name, make in RANKERS.items()
    }
    whole = SpanSentenceRanker(assemble.open_whole_reader(settings))
    name = f"reader ({assemble.reader_name(settings)})"
    out[name] = (whole, {"ranker": "reader", **reader_facts(settings)})
    return out


def plain(name: str) -> str:
    """Return *name* as part of a file's name."""
    return "".join(c if c.isalnum() else "-" for c in name).strip("-")


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as text: the first column to the left, the others to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  "
        + "  ".join(
            c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
