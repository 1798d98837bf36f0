"""The seams: what a part must be able to do, and no more. The docstring is the contract.

Third parties implement these without importing anything else of quoth; ``quoth.testing``
has the checks that every implementation must pass.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from quoth.types import Candidate, Document, Entry, Passage, Query, Reading, Scored, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]


class Retriever(Protocol):
    """Finds passages (whole documents are passages from 0 to their end)."""

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return at most *k* passages that match, best first.

        Scores are finite and do not increase; ties are in order of (document id, start).
        Every passage satisfies the query's filters, and its text is the slice of its document.
        A query that matches nothing gives an empty sequence.
        """
        ...

    def document(self, id: str) -> Document:
        """Return the document with this *id*, whole. Raise ``InputError`` for an unknown id."""
        ...


class Expander(Protocol):
    """Adds to a query."""

    def expand(self, query: Query) -> Query:
        """Return *query* with phrases and weighted terms added, each with its origin.

        What was there stays there; the question is never changed.
        """
        ...


class Ranker(Protocol):
    """Scores texts (passages or sentences) against a question."""

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """Return one finite score for each candidate, in the order given; higher is better.

        A candidate's score does not depend on the order of the others; a ranker whose
        scores depend on *which* others there are says so in its docstring.
        """
        ...


class Reader(Protocol):
    """Finds answer spans in passages."""

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Read *passages* in the order given, as far as the reader's budget goes.

        Every span lies within its passage and is a slice of it; none crosses a passage.
        Spans are best first. No passages: no spans, and a null score of 0.
        """
        ...


class Store(Retriever, Protocol):
    """A retriever that can be written to. Sources are the unit of writing: a file and its documents."""

    def put(self, batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
        """Replace what these sources held, all of it or nothing. Idempotent.

        On return the batch is durable and searches see it. A failed source is recorded with
        no documents.
        """
        ...

    def drop(self, paths: Sequence[str]) -> int:
        """Remove these sources and their documents; return how many sources there were."""
        ...

    def sources(self) -> Iterator[Source]:
        """Yield every source, in order of path."""
        ...

    def entries(self) -> Iterator[Entry]:
        """Yield every document, without its text, in order of (source, id)."""
        ...


class Encoder(Protocol):
    """Turns texts into unit vectors whose dot product is a similarity."""

    @property
    def name(self) -> str:
        """A name that changes whenever the vectors would."""
        ...

    @property
    def dimension(self) -> int: ...

    def encode_queries(self, texts: Sequence[str]) -> "Floats":
        """Return vectors of shape (len(texts), dimension), each of length 1."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> "Floats":
        """Return vectors of shape (len(texts), dimension), each of length 1.

        A text's vector does not depend on the others of its batch.
        """
        ...


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text's tokens, no special ones: ids of shape (n,), code point offsets of shape (n, 2)."""

    ids: "Ints"
    offsets: "Ints"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a model family joins a question and a passage into one input.

    The input is ``before + question + between + passage + after``, with segment id
    ``question_type`` up to the end of ``between`` and ``passage_type`` behind it (``after``
    included). The null position is the first token, or the last where ``null_last`` is set
    (XLNet, whose [CLS] ends the input, has ``cls_type`` and is padded on the left). Where
    ``passage_first`` is set (XLNet too, as run_squad fed it) the two change places:
    ``before + passage + between + question + after``, with ``passage_type`` up to the end of
    ``between`` and ``question_type`` behind it.
    """

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    question_type: int = 0
    passage_type: int = 0
    cls_type: int | None = None
    null_last: bool = False
    passage_first: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """One model input, unpadded: token ids and segment ids, both of shape (n,)."""

    ids: "Ints"
    types: "Ints"


class SpanModel(Protocol):
    """An extractive reader's network with its tokenizer. Safe to share between threads."""

    @property
    def name(self) -> str: ...

    @property
    def layout(self) -> Layout: ...

    @property
    def max_length(self) -> int:
        """The longest input in tokens, special ones included."""
        ...

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """Tokenize without special tokens and without truncation."""
        ...

    def logits(self, windows: Sequence[Window]) -> "Sequence[tuple[Floats, Floats]]":
        """Return (start, end) logits for each window, in the order given, unpadded.

        Batches are planned inside (sorted by length); a window's logits do not depend on
        the others beyond the engine's stated tolerance.
        """
        ...


class PairModel(Protocol):
    """A cross-encoder: one score for a question and a text."""

    def score_pairs(self, pairs: Iterable[tuple[str, str]]) -> "Floats":
        """Return one logit for each pair, in the order given."""
        ...
