"""What public data sets hold, as typed records.

Each task has its own question type, so that a file for one task cannot be scored as
another: spans in a given context, sentence selection (every question has its candidates),
triggering (five sections, most without an answer), retrieval with judgments, open questions
with answer strings only, and evidence (several spans). Offsets are code points, half-open;
``context.text[answer.start : answer.end] == answer.text`` holds for every record a loader
returns. What a loader had to repair or leave out is in ``problems``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Split = Literal["train", "dev", "test", "unknown"]
Kind = Literal["original", "paraphrase", ""]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one example of a file.

    ``id`` names the example (a question's id, or ``line 12``); ``kind`` is stable and short.
    ``repaired`` is true where the repair is certain; otherwise the example was left out, or
    kept under the reading that ``detail`` states.
    """

    id: str
    kind: str
    detail: str
    repaired: bool


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """An annotated answer and where it starts in its context (code points)."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Context:
    """A paragraph (or a whole article, where the data come so) that questions are asked about.

    ``id`` is ``DOCUMENT/N``, N counting the document's paragraphs from 0 in file order.
    """

    id: str
    title: str
    text: str
    document_id: str


@dataclass(frozen=True, slots=True)
class SpanQuestion:
    """A question about one context; ``impossible`` means that the context does not answer it."""

    id: str
    question: str
    answers: tuple[GoldAnswer, ...]
    impossible: bool
    context_id: str
    title: str = ""
    split: Split = "unknown"


@dataclass(frozen=True, slots=True)
class SpanDataset:
    """Questions with spans. Every ``context_id`` is a key of ``contexts``; file order is kept."""

    name: str
    split: Split
    contexts: Mapping[str, Context]
    questions: tuple[SpanQuestion, ...]
    problems: tuple[Problem, ...] = ()

    def context(self, question: SpanQuestion) -> Context:
        """Return the context that *question* is asked about."""
        return self.contexts[question.context_id]


@dataclass(frozen=True, slots=True)
class SelectionCandidate:
    """A sentence that may answer the question, with its neighbours where they are known.

    ``label`` is 1 where the sentence answers the question, else 0. ``grade`` is the file's own
    label where it says more (ASNQ: 1 to 4). ``id`` is what run files name.
    """

    id: str
    text: str
    label: int
    previous: str = ""
    next: str = ""
    grade: int = 0


@dataclass(frozen=True, slots=True)
class SelectionQuestion:
    """A question and its candidate sentences, in document order where the data keep it.

    ``document`` is the text that the candidates were cut from, or empty where the
    candidates do not come from one text.
    """

    id: str
    question: str
    candidates: tuple[SelectionCandidate, ...]
    title: str = ""
    document: str = ""
    document_id: str = ""
    section: str = ""
    topic: str = ""
    kind: Kind = ""
    split: Split = "unknown"

    @property
    def positives(self) -> int:
        """How many candidates answer the question."""
        return sum(candidate.label for candidate in self.candidates)


@dataclass(frozen=True, slots=True)
class SelectionDataset:
    """Sentence selection (AS2)."""

    name: str
    split: Split
    questions: tuple[SelectionQuestion, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class TriggeringSection:
    """One section that was retrieved for a question; most hold no answer."""

    id: str
    title: str
    section: str
    candidates: tuple[SelectionCandidate, ...]

    @property
    def answered(self) -> bool:
        """Whether any sentence of this section answers the question."""
        return any(candidate.label for candidate in self.candidates)


@dataclass(frozen=True, slots=True)
class TriggeringQuestion:
    """A question with several sections: is it answered here, and by which sentence?"""

    id: str
    question: str
    sections: tuple[TriggeringSection, ...]
    title: str = ""
    document_id: str = ""
    topic: str = ""
    kind: Kind = ""
    split: Split = "unknown"

    @property
    def answerable(self) -> bool:
        """Whether any section answers the question."""
        return any(section.answered for section in self.sections)


@dataclass(frozen=True, slots=True)
class TriggeringDataset:
    """Answer triggering."""

    name: str
    split: Split
    questions: tuple[TriggeringQuestion, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrievalDocument:
    """A document of a retrieval collection."""

    id: str
    title: str
    text: str
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class RetrievalTopic:
    """A search request. ``id`` is what the judgments name; ``number`` is the file's own number."""

    id: str
    question: str
    number: str = ""


@dataclass(frozen=True, slots=True)
class Judgment:
    """How relevant a document is to a topic (0: judged, and not relevant)."""

    topic_id: str
    document_id: str
    grade: int


@dataclass(frozen=True, slots=True)
class RetrievalDataset:
    """A retrieval collection; each part may come from a file of its own."""

    name: str
    split: Split
    documents: tuple[RetrievalDocument, ...] = ()
    topics: tuple[RetrievalTopic, ...] = ()
    judgments: tuple[Judgment, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question with answer strings and no context. ``document_id`` where an article is named."""

    id: str
    question: str
    answers: tuple[str, ...]
    document_id: str = ""
    title: str = ""
    split: Split = "unknown"


@dataclass(frozen=True, slots=True)
class OpenDataset:
    """Open questions, with the articles where the data bring them."""

    name: str
    split: Split
    questions: tuple[OpenQuestion, ...]
    documents: Mapping[str, RetrievalDocument] = field(default_factory=dict, hash=False)
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    """A question whose answer is every one of several spans of its text.

    ``text.split()`` gives the words that the labels are over, ``words`` the marked ones (0-based).
    """

    id: str
    question: str
    text: str
    spans: tuple[GoldAnswer, ...]
    words: tuple[int, ...] = ()
    type: str = ""
    split: Split = "unknown"


@dataclass(frozen=True, slots=True)
class EvidenceDataset:
    """Questions with several gold spans each (none: the text holds no evidence)."""

    name: str
    split: Split
    questions: tuple[EvidenceQuestion, ...]
    problems: tuple[Problem, ...] = ()


Dataset: TypeAlias = (
    SpanDataset | SelectionDataset | TriggeringDataset | RetrievalDataset | OpenDataset | EvidenceDataset
)
