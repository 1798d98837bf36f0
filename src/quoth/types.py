"""The nouns. Nothing here does any work.

Every offset is a code point offset into ``Document.text``, half-open, so that
``document.text[x.start : x.end] == x.text`` holds for every passage, sentence
and span ``x``. Scores never live inside an item: a stage hands on ``Scored``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

T_co = TypeVar("T_co", covariant=True)

Comparison = Literal[":", ">=", "<=", ">", "<"]
AnswerKind = Literal["span", "evidence"]
ReadMode = Literal["joint", "concatenate", "each"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of stored text, and where it stood in the original file.

    ``page`` counts from 1 (PDF page, slide, sheet). ``line`` counts from 1 and is
    the line of ``start`` in the original, where the original has lines.
    ``original`` is the code point offset of ``start`` in the original unit: the
    page's raw text in a PDF, else the file's decoded text. A segment is linear:
    the code point at ``start + i`` stood at ``original + i``, unless ``exact`` is
    false (text that was extracted from markup: the segment's place is all that is known).
    """

    start: int
    end: int
    page: int | None = None
    line: int | None = None
    original: int = 0
    label: str = ""
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Document:
    """A text that can be quoted.

    ``id`` is the hash of the source's path, or the id given with the data.
    ``sha256`` is of the original bytes (of the UTF-8 text, for an in-memory one).
    ``paragraphs`` are boundaries that came with the data: they are the passages, never packed.
    ``notes`` say what a reader of the text should know ("3 bytes were not UTF-8 ...").
    """

    id: str
    text: str
    title: str = ""
    source: str = ""
    sha256: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    segments: tuple[Segment, ...] = ()
    paragraphs: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    document_id: str
    start: int
    end: int
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    document_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    document_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a ranker sees: a text (passage or sentence) and, where known, what stands around it."""

    text: str
    previous: str = ""
    next: str = ""
    document: str = ""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that should stand together, with the weight of their clause and who asked for it."""

    text: str
    weight: float = 1.0
    origin: str = "question"


@dataclass(frozen=True, slots=True)
class Term:
    """A word added to the search, with the weight of its clause and who asked for it."""

    text: str
    weight: float = 1.0
    origin: str = "question"


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on metadata: ``key`` ``comparison`` ``value``; values compare as text."""

    key: str
    comparison: Comparison
    value: str

    def __str__(self) -> str:
        value = f'"{self.value}"' if " " in self.value else self.value
        return f"{self.key}{self.comparison}{value}"


@dataclass(frozen=True, slots=True)
class Query:
    """A question and all that retrieval is told about it.

    ``search`` replaces the question's words in retrieval where an expander dropped some
    (empty: the question itself); ``phrases`` and ``terms`` are added to it.
    """

    question: str
    search: str = ""
    phrases: tuple[Phrase, ...] = ()
    terms: tuple[Term, ...] = ()
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Scored(Generic[T_co]):
    """An item and what one stage thought of it; higher is better."""

    item: T_co
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader found in some passages.

    ``spans`` is the n-best list over all passages, best first, on one scale (sum of the
    start and end logits); ``passages[i]`` is the index, in the passages given, of the one
    that holds ``spans[i]``. ``null_score`` is on the same scale: the score of "no answer",
    the minimum over all windows as in run_squad; ``nulls[i]`` is the minimum over the windows
    of the passage of ``spans[i]`` alone (empty where a reader does not tell). ``read`` counts
    the passages that fitted the budget, in the order given.
    """

    spans: tuple[Scored[Span], ...]
    passages: tuple[int, ...]
    null_score: float
    read: int
    windows: int
    tokens: int
    notes: tuple[str, ...] = ()
    nulls: tuple[float, ...] = ()

    @property
    def null_odds(self) -> float:
        """Null score less the best span's score: no answer when this exceeds the threshold."""
        return self.null_score - self.spans[0].score if self.spans else float("inf")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an offset stands in the original: page, line (both from 1), character in that unit."""

    page: int | None
    line: int | None
    character: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One place that says the answer."""

    span: Span
    sentence: Sentence
    place: Place
    title: str
    source: str
    document_sha256: str
    score: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A quotation. ``evidence[0]`` is the best place; equal strings elsewhere follow it.

    ``kind`` is ``evidence`` where the question (why, how, yes-no) is answered by the
    sentence rather than by the span. ``confidence`` is the calibrated probability that the
    answer is right, or None where the reader has no calibration.
    """

    span: Span
    score: float
    probability: float
    confidence: float | None
    kind: AnswerKind
    evidence: tuple[Evidence, ...]

    @property
    def text(self) -> str:
        """What is quoted."""
        return self.evidence[0].sentence.text if self.kind == "evidence" else self.span.text


@dataclass(frozen=True, slots=True)
class Trace:
    """All that ``ask`` saw and said for one question: the only result of the main path.

    ``answers`` holds the n-best quotations even when there is no answer; ``answer`` is
    the first, or None when ``null_odds > threshold``. ``timings_ms`` is by stage, in order.
    """

    query: Query
    candidates: tuple[Scored[Passage], ...]
    passages: tuple[Scored[Passage], ...]
    sentences: tuple[Scored[Sentence], ...]
    reading: Reading
    answers: tuple[Answer, ...]
    null_odds: float
    threshold: float
    timings_ms: Mapping[str, float] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    partial: bool = False
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def answer(self) -> Answer | None:
        return self.answers[0] if self.answers and not self.null_odds > self.threshold else None


@dataclass(frozen=True, slots=True)
class Source:
    """A file (or an in-memory text) that an index holds, or failed to hold.

    ``path`` is relative to the folder that holds the index. ``state`` is ``indexed``,
    ``empty`` or ``failed``; ``code`` and ``reason`` say why a file failed.
    """

    path: str
    sha256: str
    size: int = 0
    mtime_ns: int = 0
    state: Literal["indexed", "empty", "failed"] = "indexed"
    code: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A document as an index lists it, without its text."""

    id: str
    title: str
    source: str
    sha256: str
    characters: int
    passages: int
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()
