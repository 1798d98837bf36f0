"""What the tests of the store put into it."""

from quoth.types import Document, Source


def one(
    id: str, text: str, *, title: str = "", path: str = "", **metadata: str
) -> tuple[Source, list[Document]]:
    """Return a source with one document, as ``put`` takes them."""
    name = path or f"{id}.txt"
    return Source(name, f"sha of {text}"), [Document(id, text, title, name, f"sha of {text}", metadata)]
