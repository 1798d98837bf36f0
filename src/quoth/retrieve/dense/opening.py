"""Which retriever an index gets, where its vectors live, and how they are kept in step with it."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from quoth import text
from quoth.errors import IndexUnusableError, InputError, MissingExtraError
from quoth.protocols import Encoder, Retriever, Store
from quoth.retrieve.dense.retriever import DenseRetriever, HybridRetriever, RescoringRetriever
from quoth.retrieve.dense.vectors import Progress, SyncReport, Vectors
from quoth.retrieve.fuse import Fusion
from quoth.types import Passage

if TYPE_CHECKING:
    from quoth.retrieve.store import Index

Mode = Literal["auto", "lexical", "dense", "hybrid"]
_PREFIX = "vectors-"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an index is, for what lies beside it: its own folder, or a server's address."""

    folder: Path | None = None
    address: str = ""

    def vectors(self) -> Path:
        """Return the folder above the vectors of all encoders."""
        if self.folder is not None:
            return self.folder
        base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
        bare = re.sub(r"//[^/@]*@", "//", self.address.split("?")[0])  # the same index, whoever asks
        return Path(base) / "quoth" / hashlib.sha256(bare.encode()).hexdigest()[:16]


def encoder_name(setting: str) -> str | None:
    """Return the encoder that the setting ``vectors`` names; None for ``none``, and for ``auto`` without one."""
    from quoth.models.encoder import installed_encoders

    if setting != "auto":
        return None if setting == "none" else setting
    return next(iter(installed_encoders()), None)


def has_vectors(place: Place) -> bool:
    """Return whether any encoder's vectors lie beside an index; loads nothing."""
    return any(place.vectors().glob(f"{_PREFIX}*/rows.sqlite"))


def held_vectors(place: Place, *, full: bool = False) -> tuple[dict[str, int], list[str]]:
    """Return how many vectors of each encoder lie beside an index, and what is wrong with them (*full*: all read)."""
    counts: dict[str, int] = {}
    problems: list[str] = []
    for table in sorted(place.vectors().glob(f"{_PREFIX}*/rows.sqlite")):
        try:
            with closing(Vectors.at(table.parent)) as vectors:
                counts[table.parent.name.removeprefix(_PREFIX)] = len(vectors)
                problems += vectors.problems(full=full)
        except IndexUnusableError as problem:
            problems.append(f"{problem.message} {problem.hint}")
    return counts, problems


def open_vectors(place: Place, encoder: Encoder) -> Vectors:
    """Return the vectors of *encoder* beside an index, made empty where there are none."""
    folder = place.vectors() / f"{_PREFIX}{encoder.name}"
    return Vectors(folder, encoder=encoder.name, dimension=encoder.dimension)


def sync(store: Store, encoder: Encoder, *, place: Place, progress: Progress | None = None) -> SyncReport:
    """Bring the vectors beside *store* up to its passages: what is new is encoded, what is gone is freed.

    *progress* is called with passages encoded and to encode. Interrupted, it goes on where it was.
    """
    vectors = open_vectors(place, encoder)
    try:
        return vectors.sync(_Passages(store), encoder, progress=progress)
    finally:
        vectors.close()


def choose(
    retriever: Retriever, *, place: Place, mode: Mode = "auto", encoder: str = "auto", threads: int = 0
) -> Retriever:
    """Return what finds passages for *mode*; ``auto``: hybrid where there are vectors of the encoder, else lexical.

    *encoder* is the setting ``vectors``. An index that is not ours (it lists no documents) is re-scored in
    the mode ``hybrid``, its hits embedded as they are met. Raise ``InputError`` (``no_vectors``) where
    a mode needs vectors and there are none, ``MissingExtraError`` where no encoder is installed.
    """
    if mode == "lexical" or (mode == "auto" and not has_vectors(place)):
        return retriever
    name = encoder_name(encoder)
    if name is None:
        if mode == "auto":
            return retriever
        if encoder == "none":
            raise InputError(f"The retriever {mode} needs vectors, and the setting vectors is none.")
        raise MissingExtraError(
            f"The retriever {mode} needs an encoder, and none is installed.",
            hint="pip install 'quoth[dense]'",
        )
    from quoth.models.encoder import load_encoder

    opened = load_encoder(name, threads=threads)
    fusion = fusion_of(opened)
    if not hasattr(retriever, "entries"):
        if mode == "dense":
            raise InputError("An index that is not ours can be searched by its words, or re-scored: hybrid.")
        return RescoringRetriever(retriever, open_vectors(place, opened), opened, fusion=fusion)
    there = (place.vectors() / f"{_PREFIX}{opened.name}").is_dir()
    vectors = open_vectors(place, opened) if there else None
    if vectors is None or not len(vectors):
        if mode == "auto":
            return retriever
        raise InputError(
            f"The index holds no vectors of {opened.name}.",
            hint=f"`quoth index PATH --vectors {name}` makes them.",
            code="no_vectors",
        )
    if mode == "dense":
        return DenseRetriever(retriever, vectors, opened)
    return HybridRetriever(retriever, vectors, opened, fusion=fusion)


def fusion_of(encoder: Encoder) -> Fusion:
    """Return the fusion that was learned for *encoder*, or the default."""
    learned = getattr(encoder, "fusion", {})
    return Fusion(**{name: learned[name] for name in Fusion.__dataclass_fields__ if name in learned})


class _Passages:
    """All passages of a store, as often as one asks for them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __iter__(self) -> Iterator[Passage]:
        numbered = getattr(self._store, "passages", None)
        if numbered is not None:
            yield from (passage for _, passage in cast("Index", self._store).passages())
            return
        about = getattr(self._store, "info", None)
        split = dict(about()).get("split") if about is not None else "passage"
        for entry in self._store.entries():
            document = self._store.document(entry.id)
            if split == "document":
                yield Passage(document.id, 0, len(document.text), document.text, document.title)
            else:
                yield from text.passages(document)
