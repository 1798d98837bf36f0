"""Making, finding and removing a store's two indexes."""

from quoth.errors import BackendError, IndexUnusableError, InputError
from quoth.retrieve.opensearch import layout
from quoth.retrieve.opensearch.layout import Json
from quoth.retrieve.opensearch.wire import Wire


def catalog_of(index: str) -> str:
    """Return the name of the catalog beside the index of passages."""
    return f"{index}-catalog"


def create(wire: Wire, *, analyzer: str, split: str, shards: int) -> None:
    """Make the two indexes; the catalog, which is looked for, comes last."""
    if split not in ("passage", "document"):
        raise InputError(f"split is {split!r}; it must be passage or document.")
    meta: Json = {"format": layout.FORMAT, "analyzer": analyzer, "split": split}
    made = (
        (wire.address.index, layout.passage_mappings(meta), shards),
        (catalog_of(wire.address.index), layout.catalog_mappings(meta), 1),
    )
    for name, mappings, parts in made:
        body = {"settings": layout.settings(analyzer, shards=parts), "mappings": mappings}
        try:
            wire.write("PUT", f"/{name}", body, params={"wait_for_active_shards": "1"})
        except BackendError as problem:
            if "resource_already_exists" not in problem.message:
                raise


def delete(wire: Wire) -> None:
    """Remove both indexes, with all that is in them."""
    for name in (wire.address.index, catalog_of(wire.address.index)):
        wire.write("DELETE", f"/{name}", params={"ignore_unavailable": "true"})


def exists(wire: Wire) -> bool:
    """Say whether there is a store at the wire's address."""
    try:
        meta(wire)
    except InputError:
        return False
    return True


def meta(wire: Wire) -> Json:
    """Return format, analyzer and split of the store. Raise ``InputError`` where there is none,
    ``IndexUnusableError`` where what is there is not ours, of another format, or incomplete.
    """
    name = wire.address.index
    found = layout.read_meta(_only(wire.get(f"/{name}/_mapping"), name), name)
    try:
        wire.get(f"/{catalog_of(name)}/_mapping")
    except InputError as problem:
        raise IndexUnusableError(
            f"The index {name!r} has no catalog {catalog_of(name)!r} beside it.",
            hint="Index again under another name.",
        ) from problem
    return found


def _only(reply: Json, name: str) -> Json:
    """Return the mappings of the one index that a name (it may be an alias) stands for."""
    found = [v["mappings"] for v in reply.values() if isinstance(v, dict) and "mappings" in v]
    if len(found) != 1:
        raise IndexUnusableError(f"{name!r} stands for {len(found)} indexes; it must be one.")
    return dict(found[0])
