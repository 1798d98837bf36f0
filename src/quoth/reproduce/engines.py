"""Two engines, one analyzer: the embedded index and OpenSearch over the same paragraphs, asked the same questions.

Where an encoder is installed, both are asked once more with its vectors (one set: the passages are the same).
"""

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from quoth.errors import InputError
from quoth.evaluate.cases import Case
from quoth.evaluate.retrieval import Retrieved, query_times, score_retrieval
from quoth.models.encoder import load_encoder
from quoth.protocols import Retriever, Store
from quoth.reproduce.corpus import load_corpus, open_index
from quoth.reproduce.measuring import mean_row, sampled
from quoth.reproduce.recipe import Inputs, Outcome, Recipe, Row
from quoth.retrieve.dense import HybridRetriever, Place, encoder_name, fusion_of, open_vectors, sync
from quoth.retrieve.opensearch import OpenSearchStore
from quoth.retrieve.opensearch.address import Address
from quoth.retrieve.opensearch.admin import delete
from quoth.retrieve.opensearch.wire import Wire
from quoth.types import Document, Passage, Query, Source

if TYPE_CHECKING:
    from quoth.retrieve.store import Index

SERVER_VARIABLE = "QUOTH_OPENSEARCH_URL"
QUESTIONS = 1_000
KS = (1, 3, 10)
WARM_UP = 50
AT_ONCE = 32
ANALYZERS = ("english", "standard")


def run(inputs: Inputs) -> Outcome:
    """Load the 20,100 paragraphs into both engines, under both analyzers; ask the dev questions of each."""
    corpus = load_corpus(inputs)
    able = [case for case in corpus.cases("dev") if case.answers]
    cases = sampled(able, inputs, otherwise=QUESTIONS)
    rows: list[Row] = []
    differences = [
        f"{corpus.passages:,} paragraphs of SQuAD 2.0; {len(cases):,} answerable dev questions, drawn at random",
        "times are of one process that asks one question after the other, each engine warm; OpenSearch's include its "
        "HTTP round trip",
        "the engines share the rules for words (runs of letters and digits, folded; stop words out of the question, "
        "Snowball English) and the clauses of a question; each has its own tokenizer, and rounds a passage's length "
        "in its own way",
    ]
    server = server_address()
    if server is None:
        differences.append(without_server())
    for name in ANALYZERS:
        with open_index(inputs.work / f"squad-{name}", corpus.documents, analyzer=name) as index:
            ways = {name: index, **_with_vectors(name, index, index, inputs)}
            found = {way: asked(r, cases, inputs, f"embedded, {way}") for way, r in ways.items()}
            for way, results in found.items():
                rows += _rows(f"embedded index, {way}", results, cases, "in process")
            if server is None:
                how = f"not measured: {SERVER_VARIABLE} is not set"
                rows += [
                    Row(f"OpenSearch, {way}: {what}", "", None, how) for way in ways for what in _figures()
                ]
                continue
            nodes = _nodes(server)
            with served(server, corpus.documents, inputs, analyzer=name, shards=nodes) as (store, seconds):
                there = {name: store, **_with_vectors(name, store, index, inputs)}
                theirs = {way: asked(r, cases, inputs, f"OpenSearch, {way}") for way, r in there.items()}
            for way, results in theirs.items():
                rows += _rows(
                    f"OpenSearch, {way}", results, cases, f"over HTTP, nodes: {nodes}, shards: {nodes}"
                )
                rows.append(_same(way, found[way], results, cases))
            rows.append(
                Row(f"OpenSearch, {name}: seconds to load", "", seconds, f"{AT_ONCE} articles at once")
            )
    return Outcome(tuple(rows), tuple(differences))


def _with_vectors(analyzer: str, words: Retriever, index: "Index", inputs: Inputs) -> dict[str, Retriever]:
    """Return *words* fused with the vectors beside *index*, by name: for the first analyzer, with an encoder."""
    name = encoder_name(str(inputs.settings["vectors"].value))
    if name is None or analyzer != ANALYZERS[0]:
        return {}
    encoder = load_encoder(name, threads=int(inputs.settings["threads"].value))
    place = Place(folder=index.folder)
    sync(index, encoder, place=place, progress=lambda done, total: inputs.progress(done, total, "vectors"))
    hybrid = HybridRetriever(words, open_vectors(place, encoder), encoder, fusion=fusion_of(encoder))
    return {f"{analyzer} + {name}": hybrid}


# -- the server


def server_address() -> str | None:
    """Return ``opensearch://host:port`` of the server that the environment names; None where it names none."""
    given = os.environ.get(SERVER_VARIABLE, "").strip()
    if not given:
        return None
    scheme, _, place = given.rpartition("://")
    place = place.rstrip("/")
    if scheme not in ("", "http", "https", "opensearch") or "/" in place or not place:
        raise InputError(
            f"{SERVER_VARIABLE} is {given!r}; it must be a server's address.",
            hint="Write http://127.0.0.1:9200.",
        )
    return f"opensearch://{place}" + ("?tls=1" if scheme == "https" else "")


def _nodes(server: str) -> int:
    wire = Wire(Address.parse(index_address(server, "any")))
    try:
        return int(wire.get("/_cluster/health")["number_of_data_nodes"])
    finally:
        wire.close()


def without_server() -> str:
    """Say what is missing without a server, and how one is had."""
    return (
        f"OpenSearch's figures are missing: no server is named; `ci/opensearch.sh HOME` starts one, and "
        f"{SERVER_VARIABLE}=http://127.0.0.1:19200 names it"
    )


def index_address(server: str, name: str) -> str:
    """Return the address of an index of this *name* on *server*."""
    place, mark, options = server.partition("?")
    return f"{place}/{name}{mark}{options}"


@contextmanager
def served(
    server: str,
    documents: Sequence[Document],
    inputs: Inputs,
    *,
    analyzer: str,
    split: str = "passage",
    shards: int = 1,
) -> Iterator[tuple[OpenSearchStore, float]]:
    """Yield a store on *server* that holds *documents*, and the seconds that loading took; it is removed at the end."""
    address = index_address(server, f"quoth-reproduce-{uuid.uuid4().hex[:12]}")
    with OpenSearchStore.connect(
        address, create=True, analyzer=analyzer, split=split, shards=shards
    ) as store:
        try:
            began = time.perf_counter()
            fill(store, documents, inputs)
            yield store, time.perf_counter() - began
        finally:
            wire = Wire(Address.parse(address))
            delete(wire)
            wire.close()


def fill(store: Store, documents: Sequence[Document], inputs: Inputs) -> None:
    """Put *documents* into *store*, each as its own source."""
    for begin in range(0, len(documents), AT_ONCE):
        part = documents[begin : begin + AT_ONCE]
        store.put([(Source(d.id, d.sha256), (replace(d, source=d.id),)) for d in part])
        inputs.progress(begin + len(part), len(documents), "loading the server")


# -- asking


def asked(retriever: Retriever, cases: Sequence[Case], inputs: Inputs, what: str) -> list[Retrieved]:
    """Return what each question brought up and how long that took, after some questions that are not counted."""
    for case in cases[:WARM_UP]:
        retriever.retrieve(Query(case.question), k=max(KS))
    out = []
    for number, case in enumerate(cases):
        began = time.perf_counter()
        found = retriever.retrieve(Query(case.question), k=max(KS))
        spent = (time.perf_counter() - began) * 1000
        out.append(Retrieved(case.id, case.answers, case.gold, tuple(s.item for s in found), spent))
        if number % 50 == 0:
            inputs.progress(number, len(cases), what)
    return out


def _figures() -> list[str]:
    recalls = [f"recall@{k}/{rule}" for rule in ("answer", "passage") for k in KS]
    return [*recalls, "median ms a question", "p95 ms a question"]


def _rows(name: str, found: Sequence[Retrieved], cases: Sequence[Case], how: str) -> list[Row]:
    scored = score_retrieval(found, ks=KS)
    times = query_times([r.milliseconds for r in found if r.milliseconds is not None])
    groups = [case.group for case in cases]
    rows = [
        mean_row(f"{name}: recall@{k}/{rule}", "", scored[rule].columns[f"recall@{k}"], groups, "")
        for rule in ("answer", "passage")
        for k in KS
    ]
    told = f"n={times.n:,}, k={max(KS)}, {how}"
    return [
        *rows,
        Row(f"{name}: median ms a question", "", times.median_ms, told),
        Row(f"{name}: p95 ms a question", "", times.p95_ms, told),
    ]


def _same(name: str, ours: Sequence[Retrieved], theirs: Sequence[Retrieved], cases: Sequence[Case]) -> Row:
    """Return the share of the first three passages that both engines bring up."""

    def first(result: Retrieved) -> set[tuple[str, int]]:
        return {_place(passage) for passage in result.passages[:3]}

    shares = [len(first(a) & first(b)) / max(1, len(first(a))) for a, b in zip(ours, theirs, strict=True)]
    groups = [case.group for case in cases]
    return mean_row(
        f"both, {name}: first three passages in common", "", np.array(shares), groups, "any order"
    )


def _place(passage: Passage) -> tuple[str, int]:
    return passage.document_id, passage.start


RECIPES = (
    Recipe(
        "engines", "the embedded index beside OpenSearch: the same questions, recall and time", "ours", run
    ),
)
