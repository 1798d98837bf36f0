"""What an index holds, its health, and the settings: list, show, remove, info, doctor, rebuild, config."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth.cli.output import IndexOption, Json, Quiet, emit, note, progress, say, table
from quoth.errors import CheckError, InputError

FOUND_NOTHING = 1


def list_documents(index: IndexOption = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """List the documents of the index. Exits with 1 where there are none."""
    from quoth import assemble

    with assemble.open_library(index) as library:
        entries = list(assemble.writable(library.store).entries())
    if as_json:
        emit(
            "list/1",
            {
                "documents": [
                    {
                        "id": e.id, "title": e.title, "source": e.source, "sha256": e.sha256,
                        "characters": e.characters, "passages": e.passages, "metadata": dict(e.metadata),
                        "notes": list(e.notes),
                    }
                    for e in entries
                ]
            },
        )  # fmt: skip
    elif entries:
        rows = [(e.id, e.characters, e.passages, e.source, e.title) for e in entries]
        table(rows, ("id", "characters", "passages", "source", "title"))
    if not entries:
        note("The index holds no documents.", quiet=quiet)
        raise typer.Exit(FOUND_NOTHING)


def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="A document's id or its source path.")],
    index: IndexOption = None,
    as_json: Json = False,
) -> None:
    """Show one document: its text as it is stored and quoted, and where it came from."""
    from quoth import assemble

    with assemble.open_library(index) as library:
        document = library.document(assemble.document_id_of(library.store, id))
    if as_json:
        emit(
            "show/1",
            {
                "id": document.id, "title": document.title, "source": document.source, "sha256": document.sha256,
                "metadata": dict(document.metadata), "notes": list(document.notes), "text": document.text,
            },
        )  # fmt: skip
        return
    say(f"{document.title or document.id}  ({document.source})  sha256 {document.sha256}")
    for key, value in sorted(document.metadata.items()):
        say(f"  {key}: {value}")
    for remark in document.notes:
        say(f"  note: {remark}")
    say()
    say(document.text)


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Document ids or source paths.")],
    index: IndexOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Remove documents from the index, with everything their files hold; the files stay."""
    from quoth import assemble

    address = assemble.address_of(index)
    chosen = assemble.settings_for(address)
    with assemble.Library(assemble.open_store(address, chosen), settings=chosen, address=address) as library:
        store = assemble.writable(library.store)
        by_id = {e.id: e.source for e in store.entries()}
        known = {s.path for s in store.sources()}
        paths = [by_id.get(given, given) for given in ids]
        unknown = [p for p in paths if p not in known]
        if unknown:
            raise InputError(
                f"The index does not hold {', '.join(unknown)}.", hint="`quoth list` shows what it holds."
            )
        removed = store.drop(sorted(set(paths)))
        assemble.free_vectors(store, address, chosen)
    if as_json:
        emit("remove/1", {"removed": removed, "sources": sorted(set(paths))})
    else:
        note(f"{removed} removed", quiet=quiet)


def info(
    failed: Annotated[
        bool, typer.Option("--failed", help="List the files that could not be read, and why.")
    ] = False,
    index: IndexOption = None,
    as_json: Json = False,
) -> None:
    """Say what the index holds, how it was made, what failed, and which reader answers from it."""
    from quoth import assemble

    with assemble.open_library(index) as library:
        facts: dict[str, Any] = dict(assemble.facts(library))
        listed = hasattr(library.store, "sources")  # a wiki, and an index of others, has no list of files
        sources = assemble.writable(library.store).sources() if listed else ()
        failures = [s for s in sources if s.state == "failed"]
    facts["failed"] = len(failures)
    if as_json:
        files = [{"path": s.path, "code": s.code, "reason": s.reason} for s in failures]
        emit("info/1", {**facts, "failures": files})
        return
    for name, value in facts.items():
        if isinstance(value, Mapping):
            for part, detail in value.items():
                say(f"{name.replace('_', ' ')}, {part}: {detail}")
        else:
            say(f"{name.replace('_', ' ')}: {value}")
    if failed:
        table([(s.path, s.code, s.reason) for s in failures], ("file", "code", "reason"))
    elif failures:
        by_code = Counter(s.code for s in failures)
        say(
            "  "
            + ", ".join(f"{n} {code}" for code, n in by_code.most_common())
            + " (`quoth info --failed` lists them)"
        )


def doctor(
    verify: Annotated[bool, typer.Option("--verify", help="Read every file and check its sum, too.")] = False,
    index: IndexOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check the index, the models and the files behind it. Exits with 1 where something is wrong."""
    from quoth import assemble

    address = assemble.address_of(index)
    problems, remarks = assemble.examine(address, verify=verify)
    if as_json:
        emit("doctor/1", {"ok": not problems, "problems": problems, "notes": remarks})
    else:
        for problem in problems:
            say(f"wrong: {problem}")
        for remark in remarks:
            note(remark, quiet=quiet)
        if not problems:
            say("All is well.")
    if problems:
        if as_json:
            raise typer.Exit(1)
        ours = (
            "`quoth rebuild` makes the search index again from the catalog, `quoth index PATH` the vectors."
        )
        theirs = "`quoth index PATH` brings it up to date."
        raise CheckError(f"{len(problems)} found.", hint=ours if address.kind == "folder" else theirs)


def rebuild(
    analyzer: Annotated[str | None, typer.Option(help="Use this analyzer from now on.")] = None,
    split: Annotated[str | None, typer.Option(help="passage or document.")] = None,
    index: IndexOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make the search index again from the catalog; the old one serves until the new one is verified."""
    from quoth.assemble import address_of
    from quoth.retrieve.store import Index

    address = address_of(index)
    if address.kind != "folder":
        raise InputError(
            f"{address.shown} is not an index of ours in a folder.",
            hint="An index on a server is made again by indexing under another name: "
            "`quoth index PATH --index opensearch://HOST:PORT/OTHER`.",
        )
    with (
        progress("Rebuilding", quiet=quiet) as advance,
        Index.open(Path(address.value), write=True) as opened,
    ):
        opened.rebuild(analyzer=analyzer, split=split, progress=lambda done, total: advance(done, total, ""))
        facts = dict(opened.info())
    if as_json:
        emit("rebuild/1", facts)
    else:
        note(f"rebuilt: {facts['documents']} documents, {facts['passages']} passages", quiet=quiet)


config = typer.Typer(help="The settings and where each comes from.", no_args_is_help=True)


@config.command("show")
def config_show(index: IndexOption = None, as_json: Json = False) -> None:
    """Show every setting: its value, where that came from, and what it means."""
    from quoth import assemble, settings

    root = assemble.find_index(Path.cwd().resolve()) if index is None else None
    address = assemble.address_of(index, create=True)
    project = (root.parent if root else address.root) / assemble.PROJECT_FILE
    chosen = settings.load(project=project)
    if as_json:
        emit(
            "config/1",
            {
                "settings": {
                    row.name: {
                        "value": chosen[row.name].value,
                        "origin": chosen[row.name].origin,
                        "help": row.help,
                    }
                    for row in settings.TABLE
                }
            },
        )
        return
    table(
        [(row.name, chosen[row.name].value, chosen[row.name].origin, row.help) for row in settings.TABLE],
        ("setting", "value", "origin", "meaning"),
    )


COMMANDS = (
    (list_documents, "list"),
    (show, "show"),
    (remove, "remove"),
    (info, "info"),
    (doctor, "doctor"),
    (rebuild, "rebuild"),
)
