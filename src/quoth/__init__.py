"""Answers questions from your own documents by quoting them, or says that there is no answer.

    import quoth

    with quoth.open(".quoth") as library:
        trace = library.ask("How much notice must the tenant give?")
        if trace.answer:
            print(trace.answer.text, trace.answer.evidence[0].source)

Importing this package loads nothing heavy; each name below is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quoth.assemble import Library, read
    from quoth.assemble import open_library as open
    from quoth.compat import question_answering
    from quoth.errors import QuothError
    from quoth.types import Answer, Document, Passage, Query, Trace

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Document",
    "Library",
    "Passage",
    "Query",
    "QuothError",
    "Trace",
    "__version__",
    "open",
    "question_answering",
    "read",
]

_WHERE = {
    "Answer": ("quoth.types", "Answer"),
    "Document": ("quoth.types", "Document"),
    "Library": ("quoth.assemble", "Library"),
    "Passage": ("quoth.types", "Passage"),
    "Query": ("quoth.types", "Query"),
    "QuothError": ("quoth.errors", "QuothError"),
    "Trace": ("quoth.types", "Trace"),
    "open": ("quoth.assemble", "open_library"),
    "question_answering": ("quoth.compat", "question_answering"),
    "read": ("quoth.assemble", "read"),
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'quoth' has no attribute {name!r}")
    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
