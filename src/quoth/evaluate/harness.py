"""Run a reader, a retriever, a ranker or the whole system over questions; what comes back is rows.

Nothing is judged here: ``summaries`` turns rows into figures, so that a resumed run cannot differ from an
uninterrupted one. A question that a part refuses (too long, empty) is a row with its ``error`` and scores 0.
"""

import sys
import time
from collections.abc import Callable, Sequence
from math import isfinite

from quoth.errors import InputError
from quoth.evaluate.cases import Case, RankCase, TriggerCase
from quoth.evaluate.resume import Row, Running, run_rows
from quoth.evaluate.retrieval import Retrieved, hit_flags
from quoth.protocols import Ranker, Reader, Retriever
from quoth.types import Candidate, Passage, Query, Reading, Scored, Trace

NO_SPAN = 1e9
"""Null odds of a question for which a reader found no span at all (JSON has no infinity)."""

TOP = 20


def run_reader(
    reader: Reader,
    cases: Sequence[Case],
    *,
    running: Running | None = None,
    passages: Callable[[Case], Sequence[Passage]] | None = None,
) -> list[Row]:
    """Read each question's gold passage (or what *passages* gives) and return the rows.

    Raises ``InputError`` where a case has no passage and none is given.
    """
    if passages is None and any(case.passage is None for case in cases):
        raise InputError(
            "A question has no passage of its own to read.",
            hint="`quoth eval system` retrieves them.",
        )

    def work(case: Case) -> Row:
        given = passages(case) if passages is not None else [case.passage] if case.passage else []
        began = time.perf_counter()
        try:
            reading = reader.read(case.question, given)
        except InputError as error:
            return _failed(error)
        return _reading(reading) | {"ms": _ms(began), "tokens": reading.tokens, "read": reading.read}

    return run_rows(cases, id_of=_case_id, work=work, running=running or Running())


def run_retriever(
    retriever: Retriever, cases: Sequence[Case], *, k: int = 20, running: Running | None = None
) -> list[Row]:
    """Retrieve *k* passages a question and return the rows, with what each passage holds."""

    def work(case: Case) -> Row:
        began = time.perf_counter()
        try:
            found = retriever.retrieve(Query(case.question), k=k)
        except InputError as error:
            return _failed(error)
        took = _ms(began)
        return _retrieved(case, found, k) | {"ms": took}

    return run_rows(cases, id_of=_case_id, work=work, running=running or Running())


def run_system(
    ask: Callable[[Query], Trace], cases: Sequence[Case], *, running: Running | None = None
) -> list[Row]:
    """Ask each question of the whole system and return the rows: answers, what was read, time by stage."""

    def work(case: Case) -> Row:
        began = time.perf_counter()
        try:
            trace = ask(Query(case.question))
        except InputError as error:
            return _failed(error)
        took = _ms(began)
        answers = [
            {
                "text": a.span.text,
                "score": float(a.score),
                "document": a.span.document_id,
                "start": a.span.start,
            }
            for a in trace.answers[:TOP]
        ]
        read = trace.passages[: trace.reading.read]
        best = trace.answers[0] if trace.answers else None
        return _retrieved(case, read, len(read)) | {
            "text": best.span.text if best else "",
            "confidence": best.confidence if best else None,
            "null_odds": _finite(trace.null_odds),
            "null_score": float(trace.reading.null_score),
            "threshold": float(trace.threshold),
            "nbest": answers,
            "ms": took,
            "timings": {stage: float(ms) for stage, ms in trace.timings_ms.items()},
            "tokens": trace.reading.tokens,
            "read": trace.reading.read,
            "peak_mb": peak_memory_mb(),
        }

    return run_rows(cases, id_of=_case_id, work=work, running=running or Running())


def run_ranker(ranker: Ranker, cases: Sequence[RankCase], *, running: Running | None = None) -> list[Row]:
    """Score each question's candidates and return the rows; raises where a ranker breaks its contract."""

    def work(case: RankCase) -> Row:
        began = time.perf_counter()
        scores = _scores(ranker, case.question, case.candidates)
        return {"scores": scores, "ms": _ms(began)}

    return run_rows(cases, id_of=lambda case: case.gold.id, work=work, running=running or Running())


def run_sections(
    ranker: Ranker, cases: Sequence[TriggerCase], *, running: Running | None = None
) -> list[Row]:
    """Score each section by its best sentence and return the rows; an empty section has no score."""

    def work(case: TriggerCase) -> Row:
        began = time.perf_counter()
        best = [max(_scores(ranker, case.question, s)) if s else None for s in case.sections]
        return {"scores": best, "ms": _ms(began)}

    return run_rows(cases, id_of=lambda case: case.gold.id, work=work, running=running or Running())


def peak_memory_mb() -> float:
    """Return the most memory that this process has held so far, in MB (0 where the system does not tell)."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1e6 if sys.platform == "darwin" else 1e3), 1)


def _case_id(case: Case) -> str:
    return case.id


def _ms(began: float) -> float:
    return round((time.perf_counter() - began) * 1000.0, 4)


def _finite(odds: float) -> float:
    return float(odds) if isfinite(odds) else NO_SPAN


def _failed(error: InputError) -> Row:
    return {"error": f"{error.code}: {error.message}"}


def _reading(reading: Reading) -> Row:
    nbest = [
        {"text": s.item.text, "score": float(s.score), "document": s.item.document_id, "start": s.item.start}
        for s in reading.spans[:TOP]
    ]
    return {
        "text": nbest[0]["text"] if nbest else "",
        "null_odds": _finite(reading.null_odds),
        "null_score": float(reading.null_score),
        "nbest": nbest,
    }


def _retrieved(case: Case, found: Sequence[Scored[Passage]], k: int) -> Row:
    passages = tuple(scored.item for scored in found)
    flags = hit_flags(Retrieved(case.id, case.answers, case.gold, passages), max(k, 1))
    listed = [
        [f"{p.document_id}:{p.start}-{p.end}", float(s.score)] for p, s in zip(passages, found, strict=True)
    ]
    return {"flags": flags, "retrieved": listed}


def _scores(ranker: Ranker, question: str, candidates: Sequence[Candidate]) -> list[float]:
    scores = [float(score) for score in ranker.score(question, candidates)] if candidates else []
    if len(scores) != len(candidates) or not all(isfinite(score) for score in scores):
        raise InputError(
            f"The ranker gave {len(scores)} scores for {len(candidates)} candidates, or one that is not finite.",
            hint="`quoth.testing.check_ranker` says what a ranker must do.",
        )
    return scores
