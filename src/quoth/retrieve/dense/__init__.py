"""Dense vectors beside an index: kept on disk, searched exactly, or by a graph when there are many."""

from quoth.retrieve.dense.moment import PassageStore
from quoth.retrieve.dense.opening import (
    Mode,
    Place,
    choose,
    encoder_name,
    fusion_of,
    has_vectors,
    held_vectors,
    open_vectors,
    sync,
)
from quoth.retrieve.dense.retriever import DenseRetriever, Found, HybridRetriever, RescoringRetriever
from quoth.retrieve.dense.table import Key
from quoth.retrieve.dense.vectors import Progress, SyncReport, Vectors, key_of, passage_text

__all__ = [
    "DenseRetriever",
    "Found",
    "HybridRetriever",
    "Key",
    "Mode",
    "PassageStore",
    "Place",
    "Progress",
    "RescoringRetriever",
    "SyncReport",
    "Vectors",
    "choose",
    "encoder_name",
    "fusion_of",
    "has_vectors",
    "held_vectors",
    "key_of",
    "open_vectors",
    "passage_text",
    "sync",
]
