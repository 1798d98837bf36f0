"""The contract checks pass what keeps the contracts, and fail each way of breaking them."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quoth.errors import CheckError, InputError
from quoth.protocols import Tokens
from quoth.testing import (
    FakeEncoder,
    FakeRanker,
    FakeReader,
    FakeRetriever,
    FakeSpanModel,
    FakeStore,
    check_encoder,
    check_expander,
    check_pair_model,
    check_ranker,
    check_reader,
    check_retriever,
    check_span_model,
    check_store,
)
from quoth.types import Candidate, Document, Filter, Passage, Phrase, Query, Reading, Scored, Source, Term

# Rankers


class Lengths:
    """A ranker that keeps the contract."""

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        return [float(len(c.text)) for c in candidates]


def ranker(change: Any) -> Any:
    class Broken:
        calls = 0

        def score(self, question: str, candidates: Sequence[Candidate]) -> Any:
            self.calls += 1
            return change([float(len(c.text)) for c in candidates], self)

    return Broken()


def test_good_rankers_pass() -> None:
    """Array scores are as good as lists."""
    check_ranker(Lengths(), independent=True)
    check_ranker(FakeRanker({"Vienna": 2.0, "Apples": 1.0}), independent=True)
    check_ranker(ranker(lambda scores, _: np.array(scores, dtype=np.float32)))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda scores, _: scores[1:], "scores for as many"),
        (lambda scores, _: [float("nan") for _ in scores], "finite"),
        (lambda scores, _: [None for _ in scores], "finite"),
        (lambda scores, self: [s + self.calls for s in scores], "same call"),
        (lambda scores, _: [s + i for i, s in enumerate(scores)], "equal candidates"),
        (lambda scores, _: sorted(scores), "equal candidates|order"),
        (lambda scores, _: [s + scores[0] for s in scores], "do not depend on the order"),
    ],
)
def test_broken_rankers_fail(change: Any, rule: str) -> None:
    """Missing, endless, unsteady and position-dependent scores are each told."""
    with pytest.raises(CheckError, match=rule):
        check_ranker(ranker(change))


def test_dependence_on_the_set_is_told_when_asked() -> None:
    """A ranker that normalises over its candidates passes, unless independence is asked for."""
    shares = ranker(lambda scores, _: [s / max(sum(scores), 1.0) for s in scores])
    check_ranker(shares)
    with pytest.raises(CheckError, match="depend on the others"):
        check_ranker(shares, independent=True)


def test_empty_input_is_part_of_the_contract() -> None:
    """No candidates give no scores."""
    with pytest.raises(CheckError, match="0 scores"):
        check_ranker(ranker(lambda scores, _: scores or [0.0]))


# Readers


class Changed:
    """A reader whose readings are changed."""

    def __init__(self, change: Any) -> None:
        self.reader = FakeReader({"1529": 3.0, "king": 2.0, "siege": 1.0, "so": 2.0}, null_score=0.5)
        self.change = change
        self.calls = 0

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        self.calls += 1
        changed: Reading = self.change(self.reader.read(question, passages), passages, self)
        return changed


def first(change: Any) -> Any:
    """Change the first span only."""

    def changed(reading: Reading, passages: Sequence[Passage], reader: Changed) -> Reading:
        if not reading.spans:
            return reading
        scored = reading.spans[0]
        return replace(
            reading,
            spans=(Scored(replace(scored.item, **change(scored.item)), scored.score), *reading.spans[1:]),
        )

    return changed


def test_good_readers_pass() -> None:
    """A reader that finds strings, or nothing at all, keeps the contract."""
    check_reader(FakeReader({"1529": 3.0, "king": 2.0}, null_score=1.0))
    check_reader(FakeReader({}))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (first(lambda s: {"start": s.start + 1, "end": s.end + 1}), "lies within|slice"),
        (first(lambda s: {"start": s.end, "text": ""}), "not empty"),
        (first(lambda s: {"text": s.text.upper() + "!"}), "slice of its passage"),
        (first(lambda s: {"document_id": "z"}), "passage's document"),
        (first(lambda s: {"start": s.start - 100_000}), "lies within"),
        (lambda r, p, _: replace(r, spans=r.spans[::-1], passages=r.passages[::-1]), "best first"),
        (lambda r, p, _: replace(r, passages=r.passages[1:]), "each span has its passage"),
        (lambda r, p, _: replace(r, passages=tuple(len(p) for _ in r.passages)), "among those read"),
        (lambda r, p, _: replace(r, read=len(p) + 1), "read counts"),
        (lambda r, p, _: replace(r, tokens=-1), "are counts"),
        (lambda r, p, _: replace(r, null_score=float("inf") if p else 0.0), "null score is a finite"),
        (lambda r, p, _: replace(r, null_score=0.5), "null score of 0"),
        (lambda r, p, s: replace(r, null_score=r.null_score + s.calls if p else 0.0), "same call"),
        (
            lambda r, p, _: replace(r, spans=tuple(Scored(s.item, float("nan")) for s in r.spans)),
            "every score is a finite",
        ),
    ],
)
def test_broken_readers_fail(change: Any, rule: str) -> None:
    """Shifted, empty, rewritten, unordered and unsteady spans are each told."""
    with pytest.raises(CheckError, match=rule):
        check_reader(Changed(change))


def test_spans_for_no_passages_fail() -> None:
    """A reader that answers from nothing is told."""
    reading = FakeReader({"x": 1.0}).read("", [Passage("a", 0, 1, "x")])
    with pytest.raises(CheckError, match="no passages, no spans"):
        check_reader(Changed(lambda r, p, _: r if p else reading))


# Expanders


class Expanding:
    def __init__(self, change: Any) -> None:
        self.change = change

    def expand(self, query: Query) -> Query:
        changed: Query = self.change(query)
        return changed


QUERY = Query("Who?", phrases=(Phrase("a b"),), terms=(Term("c"),), filters=(Filter("k", ":", "v"),))


def test_good_expander_passes() -> None:
    """Adding terms with an origin is what an expander does."""
    check_expander(
        Expanding(lambda q: replace(q, terms=(*q.terms, Term("d", 0.5, "glove")))), [QUERY, Query("x")]
    )


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda q: replace(q, question="Whom?"), "question is never changed"),
        (lambda q: replace(q, phrases=()), "phrases that were there"),
        (lambda q: replace(q, terms=()), "terms that were there"),
        (lambda q: replace(q, filters=()), "filters that were there"),
        (lambda q: replace(q, terms=(*q.terms, Term(" "))), "not blank"),
        (lambda q: replace(q, terms=(*q.terms, Term("d", 1.0, ""))), "where it is from"),
        (lambda q: replace(q, terms=(*q.terms, Term("d", 0.0))), "weights are positive"),
    ],
)
def test_broken_expanders_fail(change: Any, rule: str) -> None:
    """Changing the question, dropping what was there and nameless additions are each told."""
    with pytest.raises(CheckError, match=rule):
        check_expander(Expanding(change), [QUERY])


# Retrievers

DOCUMENTS = (
    Document("b", "Apples are red.\n\nApples are sweet, and apples are round.", metadata={"kind": "fruit"}),
    Document("a", "Apples are red.", metadata={"kind": "note"}),
    Document("c", "The siege of Vienna.", metadata={"kind": "note"}),
)
QUERIES = (Query("Are apples red?"), Query("apples", filters=(Filter("kind", ":", "note"),)), Query("Vienna"))


class Altered(FakeRetriever):
    """A retriever whose results are changed."""

    def __init__(self, change: Any) -> None:
        super().__init__(DOCUMENTS)
        self.change = change
        self.calls = 0

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        self.calls += 1
        changed: Sequence[Scored[Passage]] = self.change(list(super().retrieve(query, k=k)), query, self)
        return changed


def test_good_retriever_passes() -> None:
    """The one that is shipped for tests keeps the contract."""
    check_retriever(FakeRetriever(DOCUMENTS), QUERIES)


def moved(scored: Scored[Passage], **change: Any) -> Scored[Passage]:
    return Scored(replace(scored.item, **change), scored.score)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda f, q, _: f * 4, "at most|twice"),
        (lambda f, q, _: f[::-1], "best first"),
        (lambda f, q, _: [Scored(s.item, 1.0) for s in f[::-1]], "best first, ties"),
        (lambda f, q, _: [Scored(s.item, float("nan")) for s in f], "finite"),
        (lambda f, q, _: [moved(s, text=s.item.text.lower()) for s in f], "slice of its document"),
        (lambda f, q, _: [moved(s, start=s.item.start + 1) for s in f], "slice of its document"),
        (lambda f, q, _: [], "some query must find"),
        (lambda f, q, s: f if s.calls % 2 else f[:-1], "the same query finds the same"),
        (lambda f, q, s: f or [Scored(Passage("c", 0, 20, DOCUMENTS[2].text), 1.0)], "satisfy the filters"),
    ],
)
def test_broken_retrievers_fail(change: Any, rule: str) -> None:
    """Too many, unordered, shifted, repeated and unfiltered passages are each told."""
    with pytest.raises(CheckError, match=rule):
        check_retriever(Altered(change), QUERIES)


class Unfiltered(FakeRetriever):
    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        return super().retrieve(replace(query, filters=()), k=k)


class Lenient(FakeRetriever):
    def document(self, id: str) -> Document:
        return self._documents.get(id, DOCUMENTS[0])


def test_filters_and_unknown_ids_are_checked() -> None:
    """A retriever that ignores filters, or makes up documents, is told."""
    with pytest.raises(CheckError, match="satisfy kind:note"):
        check_retriever(Unfiltered(DOCUMENTS), QUERIES)
    with pytest.raises(CheckError, match="unknown id"):
        check_retriever(Lenient(DOCUMENTS), QUERIES)


# Stores


def maker(kind: type[FakeStore]) -> Any:
    """Return what gives the same store for the same folder."""
    stores: dict[Path, FakeStore] = {}

    @contextlib.contextmanager
    def make(folder: Path) -> Iterator[FakeStore]:
        yield stores.setdefault(folder, kind())

    return make


class Appending(FakeStore):
    def put(self, batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
        for source, documents in batch:
            old = self._sources.get(source.path, (source, ()))[1]
            kept = [d for d in old if d.id not in {new.id for new in documents}]
            super().put([(source, [*kept, *documents])])


class OneByOne(FakeStore):
    def put(self, batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
        for item in batch:
            super().put([item])


class Unsorted(FakeStore):
    def sources(self) -> Iterator[Source]:
        yield from reversed(list(super().sources()))


class UnsortedEntries(FakeStore):
    def entries(self) -> Any:
        yield from reversed(list(super().entries()))


class Careless(FakeStore):
    def document(self, id: str) -> Document:
        return replace(super().document(id), segments=())


class Normalising(FakeStore):
    def document(self, id: str) -> Document:
        found = super().document(id)
        return replace(found, text=found.text.replace("\r\n", "\n"))


class Miscounting(FakeStore):
    def drop(self, paths: Sequence[str]) -> int:
        super().drop(paths)
        return len(paths)


class SilentOnFailure(FakeStore):
    def put(self, batch: Sequence[tuple[Source, Sequence[Document]]]) -> None:
        super().put([item for item in batch if item[0].state != "failed"])


class Parsing(FakeStore):
    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        if query.question.count('"') % 2:
            raise InputError("The query cannot be parsed.")
        return super().retrieve(query, k=k)


class NeverDropping(FakeStore):
    def drop(self, paths: Sequence[str]) -> int:
        return len(set(paths) & set(self._sources))


def test_good_store_passes() -> None:
    """The one in memory keeps the contract."""
    check_store(maker(FakeStore))


def test_default_store_passes() -> None:
    """The index that is shipped keeps the contract, opened again included."""
    from quoth.retrieve.store.index import Index

    def make(folder: Path) -> Index:
        return Index.open(folder, write=True) if folder.exists() else Index.create(folder)

    check_store(make)


def test_store_that_forgets_fails() -> None:
    """What was put must be there when the store is opened again."""

    @contextlib.contextmanager
    def fresh(folder: Path) -> Iterator[FakeStore]:
        yield FakeStore()

    with pytest.raises(CheckError, match="in order of path"):
        check_store(fresh)


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (Appending, "is not there"),
        (OneByOne, "is not there .c."),
        (Unsorted, "order of path"),
        (UnsortedEntries, "order of .source, id."),
        (Careless, "segments"),
        (Normalising, "text"),
        (Miscounting, "counts 0|counts the sources"),
        (SilentOnFailure, "failed source"),
        (NeverDropping, "dropping again|drop removes"),
    ],
)
def test_broken_stores_fail(kind: type[FakeStore], rule: str) -> None:
    """Half batches, leftovers, lost fields, wrong orders and counts are each told."""
    with pytest.raises(CheckError, match=rule):
        check_store(maker(kind))


def test_store_that_parses_questions_fails() -> None:
    """A question is never query syntax: what the store raises is not hidden."""
    with pytest.raises(InputError, match="parsed"):
        check_store(maker(Parsing))


# Networks


class OddModel(FakeSpanModel):
    def __init__(self, tokens: Any = None, logits: Any = None, **attributes: Any) -> None:
        super().__init__({"1529": 4.0})
        self._change_tokens, self._change_logits = tokens, logits
        for name, value in attributes.items():
            setattr(self, name, value)

    def tokenize(self, texts: Sequence[str]) -> Any:
        found = super().tokenize(texts)
        return self._change_tokens(found) if getattr(self, "_change_tokens", None) else found

    def logits(self, windows: Any) -> Any:
        found = super().logits(windows)
        return self._change_logits(found) if self._change_logits else found


def each_tokens(change: Any) -> Any:
    return lambda found: [change(t) if len(t.ids) else t for t in found]


def test_good_models_pass() -> None:
    """The model for tests keeps the contract, in another layout too."""
    check_span_model(FakeSpanModel({"1529": 4.0}))
    layout = replace(
        FakeSpanModel.layout, before=(), after=(2, 3), cls_type=2, null_last=True, passage_first=True
    )
    check_span_model(OddModel(layout=layout))


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (OddModel(name=""), "name"),
        (OddModel(max_length=3), "room"),
        (OddModel(tokens=lambda f: f[:-1]), "tokens for each text"),
        (
            OddModel(tokens=each_tokens(lambda t: Tokens(t.ids[:20], t.offsets[:20]))),
            "truncated|every letter",
        ),
        (
            OddModel(tokens=each_tokens(lambda t: Tokens(np.r_[1, t.ids], np.r_[[[0, 0]], t.offsets]))),
            "special",
        ),
        (OddModel(tokens=each_tokens(lambda t: Tokens(t.ids, t.offsets * 3))), "code points"),
        (OddModel(tokens=each_tokens(lambda t: Tokens(t.ids, t.offsets[::-1].copy()))), "in order"),
        (OddModel(tokens=each_tokens(lambda t: Tokens(t.ids, t.offsets[:, :1]))), "shape"),
        (OddModel(tokens=each_tokens(lambda t: Tokens(t.ids.astype(np.int32), t.offsets))), "int64"),
        (OddModel(tokens=lambda f: [replace(t, ids=t.ids + len(f)) for t in f]), "depend on the others"),
        (OddModel(tokens=each_tokens(lambda t: Tokens(t.ids[1:], t.offsets[1:]))), "every letter|has tokens"),
        (OddModel(logits=lambda f: f[::-1]), "length|alone"),
        (OddModel(logits=lambda f: [(s[1:], e) for s, e in f]), "window's length"),
        (OddModel(logits=lambda f: [(s * np.nan, e) for s, e in f]), "finite"),
        (OddModel(logits=lambda f: [(s + len(f), e) for s, e in f]), "depend on it alone"),
        (OddModel(logits=lambda f: f or [()]), "no windows"),
        (OddModel(logits=lambda f: f[:1]), "for each window"),
    ],
)
def test_broken_models_fail(model: OddModel, rule: str) -> None:
    """Truncation, special tokens, wrong offsets and batch effects are each told."""
    with pytest.raises(CheckError, match=rule):
        check_span_model(model)


class OddEncoder(FakeEncoder):
    def __init__(self, change: Any, **attributes: Any) -> None:
        super().__init__(dimension=8)
        self.change = change
        for name, value in attributes.items():
            setattr(self, name, value)

    def encode_passages(self, texts: Sequence[str]) -> Any:
        return self.change(super().encode_passages(texts))


def test_good_encoder_passes() -> None:
    """The encoder for tests keeps the contract."""
    check_encoder(FakeEncoder())


@pytest.mark.parametrize(
    ("encoder", "rule"),
    [
        (OddEncoder(lambda v: v, name=""), "name"),
        (OddEncoder(lambda v: v, dimension=0), "dimension is positive"),
        (OddEncoder(lambda v: v[:, :-1]), "shape"),
        (OddEncoder(lambda v: v.astype(np.float64)), "float32"),
        (OddEncoder(lambda v: v * np.float32(2)), "length 1"),
        (OddEncoder(lambda v: v * np.float32((-1) ** len(v))), "its text alone"),
        (OddEncoder(lambda v: np.eye(1, v.shape[1], dtype=np.float32).repeat(len(v), 0)), "different texts"),
    ],
)
def test_broken_encoders_fail(encoder: OddEncoder, rule: str) -> None:
    """Wrong shapes, types and lengths, and batch effects, are each told."""
    with pytest.raises(CheckError, match=rule):
        check_encoder(encoder)


class Pairs:
    def __init__(self, change: Any = lambda s: s) -> None:
        self.change = change

    def score_pairs(self, pairs: Any) -> Any:
        return self.change(np.array([float(len(a) - len(b)) for a, b in pairs], dtype=np.float32))


def test_pair_models() -> None:
    """Scores come one for each pair, finite, and without batch effects."""
    check_pair_model(Pairs())
    for change, rule in (
        (lambda s: s[1:], "for each pair"),
        (lambda s: s * np.nan, "finite"),
        (lambda s: s + len(s), "its pair alone"),
        (lambda s: s if len(s) else np.zeros(1), "no pairs"),
    ):
        with pytest.raises(CheckError, match=rule):
            check_pair_model(Pairs(change))
