"""The Cranfield collection: the embedded engine beside Lucene's own BM25, on the same 1,400 abstracts."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from quoth.datasets import load_collection
from quoth.evaluate.judged import JudgedScores, score_judged
from quoth.protocols import Retriever
from quoth.reproduce.engines import SERVER_VARIABLE, index_address, served, server_address, without_server
from quoth.reproduce.measuring import mean_row, sampled
from quoth.reproduce.recipe import Inputs, Outcome, Recipe, Row
from quoth.retrieve.opensearch.address import Address
from quoth.retrieve.opensearch.wire import Wire
from quoth.retrieve.store import Index
from quoth.types import Document, Query, Source, Term

if TYPE_CHECKING:
    from quoth.datasets import RetrievalTopic

DEPTH = 1_000
ANALYZERS = ("english", "standard")
LUCENE = ("english", "standard")
"""Lucene's own analyzers (stop words and Porter's stemmer; lower case alone) for the plain query."""

FIGURES = ("nDCG@10", "AP", "RR", "P@5", "P@10")
NAMES = {"AP": "MAP", "RR": "MRR"}
NO_WORDS = "."
"""A question without words: what is searched are the terms beside it."""

Run = Mapping[str, Mapping[str, float]]
Ask = Callable[[str], Mapping[str, float]]


def run(inputs: Inputs) -> Outcome:
    """Rank all abstracts for every topic, by each engine, with and without what we do to a question."""
    collection = load_collection(inputs.file("cranfield"))
    topics = sampled(collection.topics, inputs)
    documents = [
        Document(d.id, d.text, title=d.title, source=d.id, metadata=d.metadata) for d in collection.documents
    ]
    ids = {topic.id for topic in topics}
    qrels: dict[str, dict[str, int]] = {}
    for judgment in collection.judgments:
        if judgment.topic_id in ids:
            qrels.setdefault(judgment.topic_id, {})[judgment.document_id] = judgment.grade
    server = server_address()
    scores: dict[str, Scores] = {}
    for name in ANALYZERS:
        with _embedded(inputs, documents, name) as index:
            scores |= _both(f"embedded index, {name}", index, topics, qrels, inputs)
        if server is not None:
            with served(server, documents, inputs, analyzer=name, split="document") as (store, _):
                scores |= _both(f"OpenSearch, {name}", store, topics, qrels, inputs)
    for name in LUCENE if server is not None else ():
        with plain_lucene(server or "", documents, analyzer=name) as ask:
            scores[_lucene(name)] = _scored(_lucene(name), ask, topics, qrels, inputs)
    rows = [row for name, found in scores.items() for row in found.rows(name)]
    for name in ANALYZERS:
        if server is None:
            how = f"not measured: {SERVER_VARIABLE} is not set"
            rows += [Row(f"{_lucene(name)}: {NAMES.get(f, f)}", "", None, how) for f in FIGURES]
        else:
            rows += _against(f"embedded index, {name}, words alone", _lucene(name), scores)
            rows += _against(f"embedded index, {name}", _lucene(name), scores)
    return Outcome(tuple(rows), (*_differences(len(documents), len(topics)), *_missing(server)))


def _differences(documents: int, topics: int) -> tuple[str, ...]:
    return (
        f"{documents:,} abstracts and {topics} topics, judgments in two grades (1 to 4 of the collection's own "
        "scale are relevant, -1 is not); each abstract is ranked whole, to the depth of "
        f"{DEPTH:,}",
        "no figure stands as published: those that are to be found do not say which judgments, query and cut they are "
        "of. A tutorial on these very files prints MAP 0.0148 for Terrier's BM25, of 152 topics: it joins judgments to "
        "topics by number, where the judgments mean positions (ours are joined by position). Lucene itself stands "
        "beside our engine instead",
        "`words alone` leaves out what we do to a question: words that only ask are kept, no pairs of neighbours are "
        "searched; `Lucene` is a plain match query on title and text in one field, under Lucene's own analyzer and "
        "its default BM25 (k1 = 1.2, b = 0.75)",
    )


def _missing(server: str | None) -> tuple[str, ...]:
    return (without_server(),) if server is None else ()


# -- ranking


class Scores:
    """Figures of each topic, shape (n,)."""

    def __init__(self, ten: JudgedScores, five: JudgedScores) -> None:
        self.ids = ten.ids
        self.columns = {**ten.columns, "P@5": five.columns["P@5"]}
        self.missing = len(ten.missing)

    def rows(self, name: str) -> list[Row]:
        """Return the mean of every figure, with its interval over topics."""
        how = f"{self.missing} topics retrieved nothing" if self.missing else ""
        return [
            mean_row(f"{name}: {NAMES.get(figure, figure)}", "", self.columns[figure], self.ids, how)
            for figure in FIGURES
        ]


def _both(
    name: str,
    retriever: Retriever,
    topics: "Sequence[RetrievalTopic]",
    qrels: Mapping[str, Mapping[str, int]],
    inputs: Inputs,
) -> dict[str, Scores]:
    """Return the figures with what we do to a question, and of its words alone."""

    def processed(question: str) -> Mapping[str, float]:
        return _ranked(retriever, Query(question))

    def words(question: str) -> Mapping[str, float]:
        return _ranked(retriever, Query(question, search=NO_WORDS, terms=(Term(question),)))

    return {
        name: _scored(name, processed, topics, qrels, inputs),
        f"{name}, words alone": _scored(f"{name}, words alone", words, topics, qrels, inputs),
    }


def _ranked(retriever: Retriever, query: Query) -> Mapping[str, float]:
    return {hit.item.document_id: hit.score for hit in retriever.retrieve(query, k=DEPTH)}


def _scored(
    name: str,
    ask: Ask,
    topics: "Sequence[RetrievalTopic]",
    qrels: Mapping[str, Mapping[str, int]],
    inputs: Inputs,
) -> Scores:
    found: dict[str, Mapping[str, float]] = {}
    for number, topic in enumerate(topics):
        found[topic.id] = ask(topic.question)
        inputs.progress(number + 1, len(topics), name)
    return Scores(score_judged(qrels, found, k=10), score_judged(qrels, found, k=5))


def _against(ours: str, theirs: str, scores: Mapping[str, Scores]) -> list[Row]:
    """Return the differences between two runs, topic by topic."""
    a, b = scores[ours], scores[theirs]
    return [
        mean_row(
            f"{ours} - {theirs}: {NAMES.get(f, f)}", "", a.columns[f] - b.columns[f], a.ids, "paired by topic"
        )
        for f in ("nDCG@10", "AP")
    ]


def _lucene(analyzer: str) -> str:
    return f"Lucene, {analyzer}"


# -- engines


@contextmanager
def _embedded(inputs: Inputs, documents: Sequence[Document], analyzer: str) -> Iterator[Index]:
    """Yield an index of whole abstracts, made where it is not there yet."""
    folder = inputs.work / f"cranfield-{analyzer}"
    if not (folder / "catalog.sqlite").exists():
        making = folder.with_name(f"{folder.name}.{uuid.uuid4().hex[:8]}")
        with Index.create(making, analyzer=analyzer, split="document") as index:
            index.put([(Source(d.id, d.sha256), (replace(d),)) for d in documents])
        making.rename(folder)
    with Index.open(folder) as index:
        yield index


@contextmanager
def plain_lucene(server: str, documents: Sequence[Document], *, analyzer: str) -> Iterator[Ask]:
    """Yield what asks Lucene's own BM25: one field with Lucene's *analyzer*, one match query; removed at the end."""
    name = f"quoth-reproduce-{uuid.uuid4().hex[:12]}"
    wire = Wire(Address.parse(index_address(server, name)))
    field = {"type": "text", "analyzer": analyzer}
    body = {
        "settings": {"number_of_shards": 1, "number_of_replicas": 0},
        "mappings": {"properties": {"text": field}},
    }

    def ask(question: str) -> Mapping[str, float]:
        query = {"query": {"match": {"text": question}}, "size": DEPTH, "_source": False}
        found = wire.search(f"/{name}/_search", query)
        return {hit["_id"]: float(hit["_score"]) for hit in found["hits"]["hits"]}

    wire.write("PUT", f"/{name}", body)
    try:
        lines = []
        for document in documents:
            lines += [
                json.dumps({"index": {"_id": document.id}}),
                json.dumps({"text": f"{document.title}\n{document.text}"}),
            ]
        wire.write("POST", f"/{name}/_bulk", "\n".join(lines) + "\n", params={"refresh": "true"})
        yield ask
    finally:
        wire.write("DELETE", f"/{name}", params={"ignore_unavailable": "true"})
        wire.close()


RECIPES = (
    Recipe(
        "cranfield",
        "Cranfield: the embedded engine beside Lucene's own BM25, with and without question processing",
        "ours",
        run,
    ),
)
