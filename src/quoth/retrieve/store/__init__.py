"""The embedded index: an SQLite catalog that is the truth, and a tantivy index made from it."""

from quoth.retrieve.store.index import Index
from quoth.retrieve.store.snapshot import Match, Snapshot

__all__ = ["Index", "Match", "Snapshot"]
