"""Dense vectors beside an index: kept on disk, searched exactly, or by a graph when there are many."""

from quoth.retrieve.dense.retriever import DenseRetriever, HybridRetriever, RescoringRetriever
from quoth.retrieve.dense.vectors import Key, SyncReport, Vectors, key_of

__all__ = [
    "DenseRetriever",
    "HybridRetriever",
    "Key",
    "RescoringRetriever",
    "SyncReport",
    "Vectors",
    "key_of",
]
