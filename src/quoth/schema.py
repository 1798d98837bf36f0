"""A Trace as JSON: the one shape that the command line, the web and the golden tests share.

``VERSION`` grows when a key changes its meaning or goes; new keys may come at any time.
"""

import math
from typing import Any

from quoth.types import Answer, Evidence, Passage, Scored, Sentence, Span, Trace

VERSION = 1


def trace_json(trace: Trace, *, explain: bool = False) -> dict[str, Any]:
    """Return *trace* as plain data. ``explain`` adds what each stage saw under ``trace``.

    Numbers that are not finite (the null odds where nothing was read) become null.
    """
    answer = trace.answer
    body: dict[str, Any] = {
        "question": trace.query.question,
        "answer": answer_json(answer) if answer else None,
        "answers": [answer_json(a) for a in trace.answers],
        "null_score": _number(trace.reading.null_score),
        "null_odds": _number(trace.null_odds),
        "threshold": _number(trace.threshold),
        "stale": list(trace.stale),
        "partial": trace.partial,
        "notes": list(trace.notes),
        "timings_ms": {stage: round(ms, 3) for stage, ms in trace.timings_ms.items()},
        "tokens_read": trace.reading.tokens,
        "settings": dict(trace.settings),
    }
    if explain:
        body["trace"] = _explained(trace)
    return body


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return one answer: what is quoted, where it stands, how sure, and everywhere else that says so."""
    best = answer.evidence[0]
    quoted = best.sentence if answer.kind == "evidence" else answer.span
    return {
        "text": quoted.text,
        "start": quoted.start,
        "end": quoted.end,
        "kind": answer.kind,
        "span": _slice(answer.span),
        **_place(best),
        "sentence": _slice(best.sentence),
        "score": _number(answer.score),
        "probability": _number(answer.probability),
        "confidence": _number(answer.confidence),
        "evidence": [_evidence(e) for e in answer.evidence],
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        **_slice(evidence.span),
        **_place(evidence),
        "sentence": _slice(evidence.sentence),
        "score": _number(evidence.score),
    }


def _place(evidence: Evidence) -> dict[str, Any]:
    return {
        "document": evidence.span.document_id,
        "document_sha256": evidence.document_sha256,
        "title": evidence.title,
        "source": evidence.source,
        "page": evidence.place.page,
        "line": evidence.place.line,
        "character": evidence.place.character,
        "label": evidence.place.label,
    }


def _explained(trace: Trace) -> dict[str, Any]:
    query = trace.query
    return {
        "query": {
            "search": query.search or query.question,
            "phrases": [{"text": p.text, "weight": p.weight, "origin": p.origin} for p in query.phrases],
            "terms": [{"text": t.text, "weight": t.weight, "origin": t.origin} for t in query.terms],
            "filters": [str(f) for f in query.filters],
        },
        "candidates": [scored_json(c) for c in trace.candidates],
        "passages": [scored_json(p) for p in trace.passages],
        "sentences": [
            {**_slice(s.item), "document": s.item.document_id, "score": _number(s.score)}
            for s in trace.sentences
        ],
        "spans": [
            {**_slice(s.item), "document": s.item.document_id, "score": _number(s.score)}
            for s in trace.reading.spans
        ],
        "passages_read": trace.reading.read,
        "windows": trace.reading.windows,
    }


def scored_json(scored: Scored[Passage]) -> dict[str, Any]:
    """Return one passage with its score."""
    passage = scored.item
    return {
        "document": passage.document_id,
        "title": passage.title,
        **_slice(passage),
        "score": _number(scored.score),
    }


def _slice(item: Passage | Sentence | Span) -> dict[str, Any]:
    return {"text": item.text, "start": item.start, "end": item.end}


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
