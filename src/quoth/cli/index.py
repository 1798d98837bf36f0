"""``quoth index``: add, update and remove documents."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.cli.output import IndexOption, Json, Quiet, emit, note, progress, say
from quoth.errors import InputError

if TYPE_CHECKING:
    from quoth.assemble import Address, Settings
    from quoth.indexing import UpdateOptions, UpdateReport
    from quoth.protocols import Store

PARTLY_DONE = 3


def index(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.")],
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove what is gone from under these paths.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and update on every change (extra `watch`).")
    ] = False,
    analyzer: Annotated[
        str | None, typer.Option(help="english, standard, or a language; for a new index.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="passage or document; for a new index.")] = None,
    vectors: Annotated[
        str | None, typer.Option(metavar="ENCODER|none", help="Make dense vectors with this.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Follow symbolic links that stay inside the folder.")
    ] = False,
    ocr: Annotated[bool, typer.Option("--ocr", help="Read scanned PDFs with ocrmypdf or tesseract.")] = False,
    encoding: Annotated[
        str | None, typer.Option(help="The encoding of text files, where it is known.")
    ] = None,
    password_file: Annotated[Path | None, typer.Option(help="Passwords for PDFs, one a line.")] = None,
    meta: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Metadata for these documents.")
    ] = None,
    where: IndexOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add and update documents; prints what was added, updated, unchanged, removed, skipped and failed.

    Examples:

        quoth index contracts/ handbook.pdf

        quoth index . --prune --meta client=acme
    """
    from quoth import assemble, indexing
    from quoth.documents import LoadOptions

    address = assemble.address_of(where, create=True)
    options = {"analyzer": analyzer, "split": split, "vectors": vectors}
    chosen = assemble.settings_for(address, options)
    loading = LoadOptions(
        encoding=encoding,
        passwords=_passwords(password_file),
        metadata=_pairs(meta or []),
        max_bytes=int(chosen["max_file_mb"].value) * 1_000_000,
        ocr=ocr,
    )
    updating = indexing.UpdateOptions(prune=prune, follow=follow, loading=loading)
    _check_exist(paths)
    assemble.require_encoder(chosen)
    store = assemble.open_store(address, chosen, create=True)
    try:
        _say_what_stays(store, address, {"analyzer": analyzer, "split": split}, quiet=quiet)
        report = _update(store, paths, address.root, updating, quiet=quiet)
        _print(report, as_json=as_json, quiet=quiet)
        _vectors(store, address, chosen, quiet=quiet)
        if watch:
            for again in indexing.watch(store, paths, root=address.root, options=updating):
                _print(again, as_json=as_json, quiet=quiet)
                _vectors(store, address, chosen, quiet=quiet)
    finally:
        _close(store)
    if report.failed:
        raise typer.Exit(PARTLY_DONE)


def _say_what_stays(
    store: "Store", address: "Address", asked: Mapping[str, str | None], *, quiet: bool
) -> None:
    """Note what an index that is there already keeps, although something else was asked for."""
    about = getattr(store, "info", None)
    told = dict(about()) if about is not None else {}
    for name, value in asked.items():
        if value is not None and told.get(name, value) != value:
            way = f"`quoth rebuild --{name} {value}` changes it"
            if address.kind != "folder":
                way = f"index again under another name for {value}"
            note(f"the index keeps its {name} {told[name]}; {way}", quiet=quiet)


def _vectors(store: "Store", address: "Address", chosen: "Settings", *, quiet: bool) -> None:
    """Dense vectors come after the text is searchable, so that they never hold up the first answer."""
    from quoth import assemble

    begun = time.monotonic()

    def rate(done: int) -> str:
        return f"{done / max(time.monotonic() - begun, 1e-9):.0f} a second"

    with progress("Making vectors", quiet=quiet) as advance:
        report = assemble.sync_vectors(
            store, address, chosen, progress=lambda done, total: advance(done, total, rate(done))
        )
    if report is not None and (report.added or report.removed):
        note(f"vectors: {report.added} made, {report.removed} removed, {report.kept} kept", quiet=quiet)


def _update(
    store: "Store", paths: list[Path], root: Path, options: "UpdateOptions", *, quiet: bool
) -> "UpdateReport":
    from quoth import indexing

    with progress("Indexing", quiet=quiet) as advance:
        return indexing.update(
            store,
            paths,
            root=root,
            options=options,
            progress=lambda p: advance(p.done, p.total, p.path),
        )


def _print(report: "UpdateReport", *, as_json: bool, quiet: bool) -> None:
    counts = {
        name: getattr(report, name)
        for name in ("added", "updated", "unchanged", "removed", "skipped", "failed")
    }
    if as_json:
        files = [{"path": f.path, "state": f.state, "code": f.code, "reason": f.reason} for f in report.files]
        emit("index/1", {**counts, "files": files})
        return
    for file in report.files:
        if file.state in ("failed", "skipped"):
            note(f"{file.state}: {file.path}: {file.reason}", quiet=quiet)
    say(", ".join(f"{count} {name}" for name, count in counts.items()))


def _check_exist(paths: list[Path]) -> None:
    for path in paths:
        if not path.exists() and not path.is_symlink():
            raise InputError(f"{path} does not exist.", code="missing_file")


def _passwords(path: Path | None) -> tuple[str, ...]:
    if path is None:
        return ()
    try:
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except OSError as problem:
        raise InputError(
            f"--password-file {path} cannot be read: {problem.strerror}.", code="missing_file"
        ) from problem
    except UnicodeDecodeError as problem:
        raise InputError(f"--password-file {path} is not UTF-8.", hint="Convert it first.") from problem


def _pairs(given: list[str]) -> dict[str, str]:
    pairs = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InputError(f"--meta {pair!r} is not key=value.")
        pairs[key] = value
    return pairs


def _close(store: "Store") -> None:
    close = getattr(store, "close", None)
    if close is not None:
        close()


COMMANDS = ((index, "index"),)
