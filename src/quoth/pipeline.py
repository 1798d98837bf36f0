"""From a question to a quotation, top to bottom."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from quoth import text
from quoth.errors import InputError
from quoth.protocols import Expander, Ranker, Reader, Retriever
from quoth.rank.top import top
from quoth.reading.calibrate import Calibration, features
from quoth.reading.combine import combine, probabilities
from quoth.reading.spans import merge
from quoth.types import (
    Answer,
    Candidate,
    Document,
    Evidence,
    Passage,
    Query,
    Reading,
    Scored,
    Sentence,
    Span,
    Trace,
)

MAX_QUESTION = 2_000
"""Characters; a longer question is refused."""

LONG_PASSAGE = 4_500
"""Characters; what a retriever brings beyond this (whole documents) is cut into passages and ranked.

The longest paragraph of a data set with given paragraphs stays below it (SQuAD: 4,063): the reader's windows take it.
"""

Quote = Literal["auto", "span", "sentence"]
EVIDENCE_TYPES = frozenset({"why", "how", "yes-no"})
NOTHING_FOUND = "No passage holds any word of the question."


def _never_stale(document_ids: Sequence[str]) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """The main path over parts that are handed in. Holds no state of its own; safe to share between threads.

    ``ranker`` reorders what the retriever brought (None: its order stays, unless whole
    documents had to be cut: then ``cut_ranker`` decides). ``threshold`` overrides the
    calibration's. ``stale`` tells which of some documents' files have changed or gone. A retriever's
    result may carry ``notes`` and ``partial`` (not every shard answered): both are passed on.
    """

    retriever: Retriever
    reader: Reader
    cut_ranker: Ranker
    calibration: Calibration = field(default_factory=Calibration)
    expanders: tuple[Expander, ...] = ()
    ranker: Ranker | None = None
    k: int = 50
    n_passages: int = 50
    threshold: float | None = None
    quote: Quote = "auto"
    stale: Callable[[Sequence[str]], tuple[str, ...]] = _never_stale
    settings: Mapping[str, str] = field(default_factory=dict)

    def ask(self, query: Query) -> Trace:
        """Return all that was seen on the way to the answer. Raise ``InputError`` for a blank or over-long one."""
        check_question(query.question)
        clock = Clock()
        with clock("expand"):
            for expander in self.expanders:
                query = expander.expand(query)
        with clock("retrieve"):
            found = self.retriever.retrieve(query, k=self.k)
            candidates = tuple(found)
        with clock("rank"):
            passages, weight = self._rank(query.question, candidates)
        with clock("read"):
            read = self.reader.read(query.question, [p.item for p in passages])
        with clock("combine"):
            reading = combine(
                read, [p.score for p in passages], weight=weight, own_null=self.calibration.own_null
            )
        with clock("quote"):
            answers, changed = self._answers(query.question, reading, passages)
        with clock("check"):
            stale = self.stale(sorted({p.item.document_id for p in passages[: reading.read]}))
        return Trace(
            query=query,
            candidates=candidates,
            passages=passages,
            sentences=tuple(Scored(a.evidence[0].sentence, a.score) for a in answers),
            reading=reading,
            answers=answers,
            null_odds=reading.null_odds,
            threshold=self.calibration.threshold if self.threshold is None else self.threshold,
            timings_ms=clock.milliseconds,
            notes=(
                *getattr(found, "notes", ()),
                *reading.notes,
                *changed,
                *_remarks(query.question, candidates),
            ),
            stale=stale,
            partial=bool(getattr(found, "partial", False)),
            settings=self.settings,
        )

    def _rank(
        self, question: str, candidates: Sequence[Scored[Passage]]
    ) -> tuple[tuple[Scored[Passage], ...], float]:
        """Return the passages to read, best first, and the weight of their scores in the final order."""
        pieces = [p for c in candidates for p in _cut(c.item)]
        was_cut = len(pieces) > len(candidates)
        ranker = self.ranker or (self.cut_ranker if was_cut else None)
        if ranker is None:
            return tuple(candidates[: self.n_passages]), self.calibration.weight
        scores = ranker.score(question, [Candidate(p.text) for p in pieces])
        return top(pieces, scores, k=self.n_passages), 0.0

    def _answers(
        self, question: str, reading: Reading, passages: Sequence[Scored[Passage]]
    ) -> tuple[tuple[Answer, ...], tuple[str, ...]]:
        """Return the quotations, each checked against its document, and a note for each that no longer holds."""
        documents: dict[str, Document] = {}
        asked = text.question_type(question)
        as_evidence = self.quote == "sentence" or (self.quote == "auto" and asked in EVIDENCE_TYPES)
        shares = probabilities(reading)
        answers: dict[int, Answer] = {}
        notes: list[str] = []
        for group in merge(reading):
            evidence: list[Evidence] = []
            holding: list[int] = []
            for index in group.members:
                span, passage = reading.spans[index], passages[reading.passages[index]].item
                document = documents.get(span.item.document_id)
                if document is None:
                    document = documents[span.item.document_id] = self.retriever.document(
                        span.item.document_id
                    )
                if document.text[span.item.start : span.item.end] != span.item.text:
                    notes.append(
                        f"{document.source or document.id} changed while it was read; a quotation was left out."
                    )
                    continue
                evidence.append(_evidence(span, passage, document))
                holding.append(index)
            if evidence:
                answers[holding[0]] = self._answer(
                    holding, evidence, shares, reading, as_evidence=as_evidence
                )
        return tuple(answers[first] for first in sorted(answers)), tuple(dict.fromkeys(notes))

    def _answer(
        self,
        members: Sequence[int],
        evidence: Sequence[Evidence],
        shares: Sequence[float],
        reading: Reading,
        *,
        as_evidence: bool,
    ) -> Answer:
        first = members[0]
        return Answer(
            span=evidence[0].span,
            score=reading.spans[first].score,
            probability=sum(shares[i] for i in members),
            confidence=self.calibration.confidence(features(reading, first)),
            kind="evidence" if as_evidence else "span",
            evidence=tuple(evidence),
        )


def check_question(question: str) -> None:
    """Raise ``InputError`` where *question* is no string, no text, blank, or over the limit."""
    if not isinstance(question, str):
        raise InputError(f"The question is of type {type(question).__name__}; a question is a string.")
    if not question.strip():
        raise InputError("The question is empty.", hint="Write a question in words.", code="empty_question")
    if any("\ud800" <= character <= "\udfff" for character in question):
        raise InputError(
            "The question holds a byte that is not UTF-8.", hint="Write it in UTF-8.", code="not_text"
        )
    if len(question) > MAX_QUESTION:
        raise InputError(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION:,} are read.",
            hint="Ask for one thing, in a sentence.",
            code="question_too_long",
        )


class Clock:
    """Milliseconds by stage, in the order in which the stages ran."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.milliseconds[stage] = (time.perf_counter() - begun) * 1000


def _cut(passage: Passage) -> Sequence[Passage]:
    return (passage,) if len(passage.text) <= LONG_PASSAGE else text.cut(passage)


def _evidence(span: Scored[Span], passage: Passage, document: Document) -> Evidence:
    start, end = text.sentence_at(
        passage.text, span.item.start - passage.start, span.item.end - passage.start
    )
    sentence = Sentence(document.id, passage.start + start, passage.start + end, passage.text[start:end])
    return Evidence(
        span=span.item,
        sentence=sentence,
        place=text.locate(document, span.item.start),
        title=document.title,
        source=document.source,
        document_sha256=document.sha256,
        score=span.score,
    )


def _remarks(question: str, candidates: Sequence[Scored[Passage]]) -> tuple[str, ...]:
    notes = []
    if not candidates:
        notes.append(NOTHING_FOUND)
    if not text.looks_english(question):
        notes.append(
            "The shipped readers are English; answers to questions in other languages are not to be trusted."
        )
    kind = text.question_type(question)
    if kind in EVIDENCE_TYPES:
        notes.append(
            f"A {kind} question is answered by the sentence that holds the evidence, not by a yes, a no or a reason."
        )
    return tuple(notes)


def without_quoting(pipeline: Pipeline) -> Pipeline:
    """Return *pipeline* with spans as answers whatever the question: what data sets of spans expect."""
    return replace(pipeline, quote="span")
