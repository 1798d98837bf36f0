"""What a data set is like: question types, lengths, answers per question, how much is unanswerable."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from quoth.datasets.records import (
    Dataset,
    EvidenceDataset,
    OpenDataset,
    RetrievalDataset,
    SelectionDataset,
    SpanDataset,
    Split,
    TriggeringDataset,
)
from quoth.text import QUESTION_TYPES, question_type

TokenCounter = Callable[[str], int]
"""How many tokens a model sees in a text."""

SHORT = 5
"""An answer of at most this many tokens counts as short."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of counts. ``p95`` is the smallest value that 95% do not exceed. Empty: all zero."""

    n: int
    minimum: int
    median: float
    mean: float
    p95: int
    maximum: int
    short: float
    """The share of values that are at most 5."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One data set, described.

    ``texts`` are contexts, sections, candidate sentences or documents, according to *task*;
    ``text_words`` counts white-space separated words of each once, ``text_tokens`` a model's
    tokens where a counter was handed in (else None). ``answers`` is over answerable questions;
    ``unanswerable`` is a share of all questions. ``pairs`` counts question-candidate pairs
    (or judgments), and ``positives`` those that are labelled right.
    """

    name: str
    task: str
    split: Split
    questions: int
    texts: int
    documents: int
    pairs: int
    positives: int
    unanswerable: float
    question_types: Mapping[str, int] = field(hash=False)
    question_words: Lengths
    text_words: Lengths
    answers: Lengths
    answer_words: Lengths
    text_tokens: Lengths | None = None
    answer_tokens: Lengths | None = None


@dataclass(frozen=True, slots=True)
class _Parts:
    """What every task has, in one shape."""

    task: str
    questions: list[str]
    texts: list[str]
    documents: int
    answers: list[list[str]]
    """For each question the texts of its answers; empty where it has none."""
    pairs: int = 0
    positives: int = 0


def describe(data: Dataset, *, tokens: TokenCounter | None = None) -> Profile:
    """Describe a data set. *tokens* counts a text's tokens for one model; words are counted anyway.

    Deterministic; takes a pass over the texts. Each text is measured once, however many
    questions are asked about it.
    """
    parts = _parts(data)
    types = dict.fromkeys(QUESTION_TYPES, 0)
    for question in parts.questions:
        types[question_type(question)] += 1
    answers = [text for each in parts.answers for text in each]
    judged = not isinstance(data, RetrievalDataset)
    unanswerable = sum(not each for each in parts.answers) / len(parts.answers) if parts.answers else 0.0
    return Profile(
        name=data.name,
        task=parts.task,
        split=data.split,
        questions=len(parts.questions),
        texts=len(parts.texts),
        documents=parts.documents,
        pairs=parts.pairs,
        positives=parts.positives,
        unanswerable=unanswerable if judged else 0.0,
        question_types=types,
        question_words=lengths(map(_words, parts.questions)),
        text_words=lengths(map(_words, parts.texts)),
        answers=lengths(len(each) for each in parts.answers if each),
        answer_words=lengths(map(_words, answers)),
        text_tokens=lengths(map(tokens, parts.texts)) if tokens else None,
        answer_tokens=lengths(map(tokens, answers)) if tokens else None,
    )


def lengths(values: Iterable[int]) -> Lengths:
    """Summarise counts."""
    ordered = sorted(values)
    n = len(ordered)
    if not n:
        return Lengths(0, 0, 0.0, 0.0, 0, 0, 0.0)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    p95 = ordered[-(-95 * n // 100) - 1]
    short = sum(value <= SHORT for value in ordered) / n
    return Lengths(n, ordered[0], middle, fmean(ordered), p95, ordered[-1], short)


def _words(text: str) -> int:
    return len(text.split())


def _parts(data: Dataset) -> _Parts:
    if isinstance(data, SpanDataset):
        return _spans(data)
    if isinstance(data, SelectionDataset):
        return _selection(data)
    if isinstance(data, TriggeringDataset):
        return _triggering(data)
    if isinstance(data, EvidenceDataset):
        return _evidence(data)
    if isinstance(data, OpenDataset):
        return _open(data)
    return _retrieval(data)


def _spans(data: SpanDataset) -> _Parts:
    contexts = data.contexts.values()
    return _Parts(
        "spans",
        [question.question for question in data.questions],
        [context.text for context in contexts],
        len({context.document_id for context in contexts}),
        [[answer.text for answer in question.answers] for question in data.questions],
    )


def _selection(data: SelectionDataset) -> _Parts:
    return _Parts(
        "selection",
        [question.question for question in data.questions],
        [candidate.text for question in data.questions for candidate in question.candidates],
        len({question.document_id for question in data.questions} - {""}),
        [[c.text for c in question.candidates if c.label] for question in data.questions],
        sum(len(question.candidates) for question in data.questions),
        sum(question.positives for question in data.questions),
    )


def _triggering(data: TriggeringDataset) -> _Parts:
    sections = [section for question in data.questions for section in question.sections]
    return _Parts(
        "triggering",
        [question.question for question in data.questions],
        [" ".join(candidate.text for candidate in section.candidates) for section in sections],
        len({section.title for section in sections} - {""}),
        [
            [c.text for section in question.sections for c in section.candidates if c.label]
            for question in data.questions
        ],
        sum(len(section.candidates) for section in sections),
        sum(c.label for section in sections for c in section.candidates),
    )


def _evidence(data: EvidenceDataset) -> _Parts:
    texts = list(dict.fromkeys(question.text for question in data.questions))
    return _Parts(
        "evidence",
        [question.question for question in data.questions],
        texts,
        len(texts),
        [[span.text for span in question.spans] for question in data.questions],
    )


def _open(data: OpenDataset) -> _Parts:
    return _Parts(
        "open",
        [question.question for question in data.questions],
        [document.text for document in data.documents.values()],
        len(data.documents),
        [list(question.answers) for question in data.questions],
    )


def _retrieval(data: RetrievalDataset) -> _Parts:
    return _Parts(
        "retrieval",
        [topic.question for topic in data.topics],
        [document.text for document in data.documents],
        len(data.documents),
        [],
        len(data.judgments),
        sum(judgment.grade > 0 for judgment in data.judgments),
    )
