"""Files and folders to documents, each with the map back to its original.

Every format is a row of a table (``_formats.TABLE``): its suffixes, its loader, and whether the loader may only
run in a child process with limits. A loader takes bytes and gives texts with segments.
"""

from quoth.documents._formats import SUFFIXES
from quoth.documents._loading import LoadOptions, from_texts, load
from quoth.documents._names import display, document_id
from quoth.documents._reading import digest
from quoth.documents._walk import Found, Walk, walk

__all__ = [
    "SUFFIXES",
    "Found",
    "LoadOptions",
    "Walk",
    "digest",
    "display",
    "document_id",
    "from_texts",
    "load",
    "walk",
]
