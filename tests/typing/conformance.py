"""Every implementation, assigned to its protocol. Checked by mypy, never run."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from quoth.assemble import Library
from quoth.assemble.library import Expanding
from quoth.models.bundle import BundledReader
from quoth.models.checkpoint import CheckpointReader
from quoth.models.encoder import TextEncoder
from quoth.protocols import Encoder, Expander, Ranker, Reader, Retriever, SpanModel, Store
from quoth.rank import (
    AnswerTypeRanker,
    Bm25Ranker,
    ConstantRanker,
    IdfCountRanker,
    SpanSentenceRanker,
    TfidfRanker,
    WordCountRanker,
)
from quoth.reading import SpanReader
from quoth.retrieve.dense.retriever import DenseRetriever, HybridRetriever, RescoringRetriever
from quoth.retrieve.expand import (
    EntityExpander,
    FocusExpander,
    KeywordExpander,
    ListExpander,
    MaskedSynonyms,
    NgramExpander,
    Rm3Expander,
    SynonymExpander,
    SynonymSource,
    VectorSynonyms,
    WordNetSynonyms,
)
from quoth.retrieve.mediawiki.retriever import MediaWiki
from quoth.retrieve.memory import MemoryRetriever
from quoth.retrieve.opensearch.existing import ExistingIndex
from quoth.retrieve.opensearch.store import OpenSearchStore
from quoth.retrieve.rerank import RerankedRetriever
from quoth.retrieve.store.index import Index
from quoth.retrieve.store.snapshot import Snapshot
from quoth.testing import FakeEncoder, FakeRanker, FakeReader, FakeRetriever, FakeSpanModel, FakeStore
from quoth.testing.stores import MakeStore


def rankers(reader: Reader) -> list[Ranker]:
    return [
        AnswerTypeRanker(),
        Bm25Ranker(),
        ConstantRanker(),
        IdfCountRanker(),
        TfidfRanker(),
        WordCountRanker(),
        SpanSentenceRanker(reader),
        FakeRanker({}),
    ]


def readers(model: SpanModel) -> list[Reader]:
    return [SpanReader(model), FakeReader({})]


def retrievers(snapshot: Snapshot) -> list[Retriever]:
    return [MemoryRetriever([]), FakeRetriever([]), FakeStore(), snapshot]


def stores(folder: Path) -> list[Store]:
    return [Index.open(folder, write=True), FakeStore()]


def models() -> list[SpanModel]:
    return [FakeSpanModel({})]


def encoders(installed: TextEncoder) -> list[Encoder]:
    return [FakeEncoder(), installed]


def makers() -> tuple[MakeStore, Callable[[Path], AbstractContextManager[Store]]]:
    return Index.create, Index.open


def installed(
    bundled: BundledReader,
    checkpoint: CheckpointReader,
) -> list[SpanModel]:
    return [bundled, checkpoint]


def elsewhere(
    dense: DenseRetriever,
    hybrid: HybridRetriever,
    rescoring: RescoringRetriever,
    existing: ExistingIndex,
    wiki: MediaWiki,
    reranked: RerankedRetriever,
) -> list[Retriever]:
    return [dense, hybrid, rescoring, existing, wiki, reranked]


def assembled(library: Library, expanding: Expanding) -> list[Retriever]:
    return [library.retriever, library.store, expanding]


def expanders(
    entities: EntityExpander, rm3: Rm3Expander, synonyms: SynonymExpander, ours: ListExpander
) -> list[Expander]:
    return [KeywordExpander(), NgramExpander(), FocusExpander(), entities, rm3, synonyms, ours]


def synonyms(
    masked: MaskedSynonyms, vectors: VectorSynonyms, wordnet: WordNetSynonyms
) -> list[SynonymSource]:
    return [masked, vectors, wordnet]


def plugged(factory: Callable[[Retriever], Retriever], library: Library) -> Retriever:
    """What an entry point of ``quoth.retrievers`` names: a class whose instances hold the index will do."""
    return factory(library.store)


def servers(store: OpenSearchStore) -> list[Store]:
    return [store]
