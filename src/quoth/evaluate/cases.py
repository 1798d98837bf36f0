"""Questions as the harness runs them, made of data set records; every figure's bins are decided here."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from quoth.datasets.records import (
    OpenDataset,
    SelectionCandidate,
    SelectionDataset,
    SpanDataset,
    TriggeringDataset,
)
from quoth.errors import InputError
from quoth.evaluate.bins import by_answer_type, by_length, by_overlap, by_question_type
from quoth.evaluate.ranking import GoldRanking
from quoth.evaluate.retrieval import GoldPassage
from quoth.text import sentences
from quoth.types import Candidate, Document, Passage

T = TypeVar("T")

LENGTH_EDGES = (50, 100, 150, 200, 400)
CANDIDATE_EDGES = (5, 10, 15, 20)


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its gold answers (none: unanswerable) and, where known, where they stand.

    ``passage`` is what a reader alone is given; ``group`` is the document that the question came from, the
    unit of resampling; ``bins`` maps a way of grouping ("question type") to this question's bin.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    group: str = ""
    gold: GoldPassage | None = None
    passage: Passage | None = None
    bins: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class RankCase:
    """A question, its candidates in document order with their context, and which of them answer it."""

    gold: GoldRanking
    question: str
    candidates: tuple[Candidate, ...]
    group: str = ""
    bins: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class TriggerCase:
    """A question and the sentences of each of its sections; ``gold`` labels the sections."""

    gold: GoldRanking
    question: str
    sections: tuple[tuple[Candidate, ...], ...]
    group: str = ""


def span_documents(dataset: SpanDataset) -> tuple[list[Document], dict[str, int]]:
    """Return the data set's documents, paragraphs marked as its passages, and where each context starts.

    A document's text is its contexts in file order, joined by an empty line; ``case.gold`` and
    ``case.passage`` of ``span_cases`` are offsets into it.
    """
    parts: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    starts: dict[str, int] = {}
    spans: dict[str, list[tuple[int, int]]] = {}
    length: dict[str, int] = {}
    for context in dataset.contexts.values():
        id = context.document_id
        titles.setdefault(id, context.title)
        start = length.get(id, -2) + 2
        starts[context.id] = start
        length[id] = start + len(context.text)
        spans.setdefault(id, []).append((start, length[id]))
        parts.setdefault(id, []).append(context.text)
    documents = []
    for id, texts in parts.items():
        text = "\n\n".join(texts)
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        documents.append(
            Document(id=id, text=text, title=titles[id], sha256=digest, paragraphs=tuple(spans[id]))
        )
    return documents, starts


def span_cases(
    dataset: SpanDataset, *, keys: Mapping[str, Callable[[str, str], str]] | None = None
) -> list[Case]:
    """Return one case for each question; *keys* adds ways of grouping: name -> f(question, context text)."""
    _, starts = span_documents(dataset)
    cut: dict[str, tuple[tuple[int, int], ...]] = {}
    out = []
    for q in dataset.questions:
        context = dataset.context(q)
        start = starts[context.id]
        passage = Passage(context.document_id, start, start + len(context.text), context.text, context.title)
        if context.id not in cut and q.answers:
            cut[context.id] = sentences(context.text)
        gold = None
        around = set()
        for answer in q.answers:
            gold = gold or GoldPassage(
                context.document_id, start + answer.start, start + answer.end, context.text
            )
            spans = [s for s in cut[context.id] if s[0] < answer.end and answer.start < s[1]]
            around.add(context.text[spans[0][0] : spans[-1][1]] if spans else answer.text)
        bins = {
            "question type": by_question_type(q.question),
            "expected answer": by_answer_type(q.question),
            "word overlap": by_overlap(q.question, around),
            "context length, words": by_length(len(context.text.split()), LENGTH_EDGES),
        }
        bins |= {name: key(q.question, context.text) for name, key in (keys or {}).items()}
        out.append(
            Case(
                id=q.id,
                question=q.question,
                answers=tuple(answer.text for answer in q.answers),
                group=context.document_id,
                gold=gold,
                passage=passage,
                bins=bins,
            )
        )
    return out


def open_cases(dataset: OpenDataset) -> list[Case]:
    """Return one case for each open question: answer strings, no place; grouped by article where known."""
    return [
        Case(
            id=q.id,
            question=q.question,
            answers=q.answers,
            group=q.document_id,
            bins={"question type": by_question_type(q.question)},
        )
        for q in dataset.questions
    ]


def selection_cases(dataset: SelectionDataset) -> list[RankCase]:
    """Return one case for each question; bins: type, overlap, candidates, and topic and kind where known."""
    out = []
    for q in dataset.questions:
        bins = {
            "question type": by_question_type(q.question),
            "word overlap": by_overlap(q.question, [c.text for c in q.candidates if c.label]),
            "candidates": by_length(len(q.candidates), CANDIDATE_EDGES),
        }
        if q.topic:
            bins["topic"] = q.topic
        if q.kind:
            bins["paraphrase"] = q.kind
        out.append(
            RankCase(
                gold=GoldRanking(
                    q.id, tuple(c.id for c in q.candidates), tuple(bool(c.label) for c in q.candidates)
                ),
                question=q.question,
                candidates=_candidates(q.candidates, q.document),
                group=q.document_id or q.id,
                bins=bins,
            )
        )
    return out


def trigger_cases(dataset: TriggeringDataset) -> list[TriggerCase]:
    """Return one case for each question of a section-level set."""
    return [
        TriggerCase(
            gold=GoldRanking(q.id, tuple(s.id for s in q.sections), tuple(s.answered for s in q.sections)),
            question=q.question,
            sections=tuple(_candidates(s.candidates, "") for s in q.sections),
            group=q.document_id or q.id,
        )
        for q in dataset.questions
    ]


def limited(cases: Sequence[T], limit: int | None, *, seed: int | None = None) -> list[T]:
    """Return the first *limit* cases, or with a *seed* a random sample of them in their own order.

    Raises ``InputError`` for a limit below 1.
    """
    if limit is None:
        return list(cases)
    if limit < 1:
        raise InputError(f"A limit must be 1 or more, not {limit}.")
    if seed is None or limit >= len(cases):
        return list(cases[:limit])
    return [cases[i] for i in sorted(Random(seed).sample(range(len(cases)), limit))]


def check_ids(ids: Iterable[str]) -> None:
    """Raise ``InputError`` where an id comes twice: results are kept by id."""
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            raise InputError(
                f"Question id {id!r} occurs twice; ids must be unique.",
                hint="`quoth data check` lists and repairs them.",
            )
        seen.add(id)


def _candidates(candidates: tuple[SelectionCandidate, ...], document: str) -> tuple[Candidate, ...]:
    return tuple(Candidate(c.text, previous=c.previous, next=c.next, document=document) for c in candidates)
