"""OpenSearch: our own indexes as a ``Store``, and anybody's existing index as a ``Retriever``."""

from quoth.retrieve.opensearch.address import Address
from quoth.retrieve.opensearch.existing import ExistingIndex, Fields
from quoth.retrieve.opensearch.hits import Hits, Shards
from quoth.retrieve.opensearch.store import OpenSearchStore

__all__ = ["Address", "ExistingIndex", "Fields", "Hits", "OpenSearchStore", "Shards", "open_index"]


def open_index(address: str) -> OpenSearchStore | ExistingIndex:
    """Return what is at *address*, for reading: an existing index where the address maps fields, else our own."""
    if Address.parse(address).fields:
        return ExistingIndex.connect(address)
    return OpenSearchStore.connect(address)
