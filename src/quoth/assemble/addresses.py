"""Where an index is, and which settings count for it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from quoth import settings as table
from quoth.errors import InputError
from quoth.settings import Chosen

if TYPE_CHECKING:
    from quoth.retrieve.dense import Place

INDEX_FOLDER = ".quoth"
PROJECT_FILE = "quoth.toml"
_Remote = Literal["opensearch", "wikipedia", "mediawiki"]
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+(?=://)", re.IGNORECASE)  # of two letters or more: C:// is a drive


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is: a folder, a server's index, or a wiki."""

    kind: Literal["folder", "opensearch", "wikipedia", "mediawiki"]
    value: str

    @property
    def root(self) -> Path:
        """The folder that source paths are relative to."""
        return Path(self.value).resolve().parent if self.kind == "folder" else Path.cwd()

    @property
    def shown(self) -> str:
        """The address as messages name it: without a login."""
        return self.value if self.kind == "folder" else re.sub(r"//[^/]*@", "//", self.value)

    @property
    def place(self) -> "Place":
        """Where the vectors of this index are kept."""
        from quoth.retrieve.dense import Place

        return Place(folder=Path(self.value)) if self.kind == "folder" else Place(address=self.value)


def find_index(start: Path) -> Path | None:
    """Return the ``.quoth`` of *start* or of the nearest folder above it, as git finds its own."""
    for folder in (start, *start.parents):
        if (folder / INDEX_FOLDER).is_dir():
            return folder / INDEX_FOLDER
    return None


def address_of(given: str | None, *, create: bool = False) -> Address:
    """Return the address that ``--index`` names, or the index found from the current folder upwards.

    A scheme counts in any case. Raise ``InputError`` for ``scheme://`` with one that is not ours.
    """
    remote = _remote(given or "")
    if remote is not None:
        return remote
    if given:
        folder = Path(given)
        holds = (
            folder
            if folder.name == INDEX_FOLDER or (folder / "catalog.sqlite").exists()
            else folder / INDEX_FOLDER
        )
        return Address("folder", str(holds))
    found = find_index(Path.cwd().resolve())
    if found is None and not create:
        raise InputError(
            "There is no index in this folder or above it.",
            hint="`quoth index PATH` makes one; --index names another.",
            code="no_index",
        )
    return Address("folder", str(found or Path.cwd() / INDEX_FOLDER))


def _remote(given: str) -> Address | None:
    """Return the server or wiki that *given* names; None for a folder."""
    for kind in get_args(_Remote):
        rest = given[len(kind) :]
        if given[: len(kind)].lower() == kind and rest.startswith(":"):
            return Address(kind, kind + rest)
    scheme = _SCHEME.match(given)
    if scheme is None:
        return None
    raise InputError(
        f"--index: {scheme[0]}:// names neither a server nor a wiki that can be asked.",
        hint="Write opensearch://HOST:PORT/NAME (with ?tls=1 for https), wikipedia:LANGUAGE, mediawiki:URL, "
        "or a folder's path.",
    )


def settings_for(address: Address, options: Mapping[str, object] | None = None) -> dict[str, Chosen]:
    """Return all settings for an index: its project file counts, and *options* before all."""
    project = address.root / PROJECT_FILE
    return table.load(options=options, project=project)
