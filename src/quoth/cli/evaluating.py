"""What the evaluation commands share: data, samples, resuming, and the outcome on screen and on disk."""

import hashlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from quoth.cli.output import emit, note, progress, say, table
from quoth.errors import InputError, ModelError

if TYPE_CHECKING:
    from quoth.assemble import Library
    from quoth.datasets import SelectionDataset, SpanDataset
    from quoth.evaluate import Case, Evaluation, Running, SystemFacts, Table
    from quoth.protocols import Ranker
    from quoth.settings import Chosen

T = TypeVar("T")
SHOWN_TABLES = 4
PASSING = ("folder", "created", "bytes")
"""What an index says of itself that no result depends on."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one evaluation is made of, as the options gave it."""

    kind: str
    data: Path
    settings: "Mapping[str, Chosen]"
    limit: int
    seed: int
    report: Path | None
    as_json: bool
    quiet: bool
    extra: str = ""


def span_data(path: Path) -> "SpanDataset":
    """Return questions with spans. Raise ``InputError`` for any other data."""
    from quoth.datasets import SpanDataset, load

    data = load(path)
    if not isinstance(data, SpanDataset):
        raise InputError(
            f"{path} holds no questions with spans.", hint="`quoth data describe` says what it is."
        )
    return data


def selection_data(path: Path) -> "SelectionDataset":
    """Return questions with candidate sentences. Raise ``InputError`` for any other data."""
    from quoth.datasets import SelectionDataset, load

    data = load(path)
    if not isinstance(data, SelectionDataset):
        raise InputError(
            f"{path} holds no candidate sentences.", hint="`quoth data convert --to as2` makes them."
        )
    return data


def asked(path: Path) -> "tuple[list[Case], str]":
    """Return questions with answers, and their split. Raise ``InputError`` for any other data."""
    from quoth.datasets import OpenDataset, SpanDataset, load
    from quoth.evaluate import open_cases, span_cases

    data = load(path)
    if isinstance(data, SpanDataset):
        return span_cases(data), data.split
    if isinstance(data, OpenDataset):
        return open_cases(data), data.split
    raise InputError(
        f"{path} holds no questions with answers.", hint="`quoth data describe` says what it is."
    )


def trigger_data(path: Path) -> tuple[list[Any], str, Any]:
    """Return the cases to decide on, their split, and the level: ``section`` or ``question``."""
    from quoth.datasets import TriggeringDataset, load
    from quoth.evaluate import selection_cases, trigger_cases

    data = load(path)
    if isinstance(data, TriggeringDataset):
        return list(trigger_cases(data)), data.split, "section"
    return list(selection_cases(selection_data(path))), data.split, "question"


def ranker_named(name: str, settings: "Mapping[str, Chosen]") -> "Ranker":
    """Return a ranker of ours, the reader as one, or one that is plugged in."""
    from quoth import assemble
    from quoth.rank import SpanSentenceRanker

    if name == "reader":
        return SpanSentenceRanker(assemble.open_whole_reader(settings))
    ranker = assemble.open_ranker(name)
    if ranker is None:
        raise InputError("--ranker none ranks nothing.", hint="`constant` is the floor of file order.")
    return ranker


def sample(items: Sequence[T], run: Run) -> list[T]:
    """Return a random sample of ``run.limit`` items (0: all), in their own order."""
    if not run.limit or run.limit >= len(items):
        return list(items)
    picked = sorted(random.Random(run.seed).sample(range(len(items)), run.limit))
    return [items[i] for i in picked]


@contextmanager
def searched(run: Run, index: str | None) -> "Iterator[Library]":
    """Yield the index that is named, or one of the data set's own passages in a folder that goes again."""
    from quoth import assemble

    if index is not None:
        address = assemble.address_of(index)
        with assemble.Library(
            assemble.open_retriever(address, run.settings), settings=run.settings, address=address
        ) as library:
            yield library
        return
    documents = assemble.documents_of(run.data)
    with tempfile.TemporaryDirectory(prefix="quoth-") as folder:
        passages = sum(len(d.paragraphs) or 1 for d in documents)
        note(f"indexing the {passages:,} passages of {run.data.name}", quiet=run.quiet)
        address = assemble.Address("folder", str(Path(folder) / assemble.INDEX_FOLDER))
        opened = assemble.index_documents(Path(address.value), documents, run.settings)
        with assemble.Library(opened, settings=run.settings, address=address) as library:
            if run.settings["retriever"].value in ("dense", "hybrid"):
                note(f"making the vectors of {passages:,} passages", quiet=run.quiet)
                assemble.sync_vectors(opened, address, run.settings)
            yield library


@contextmanager
def resuming(run: Run, facts: "SystemFacts") -> "Iterator[Running]":
    """Yield how to run: rows are kept until the evaluation is done, so that an interrupted one goes on.

    The file is named by all that the rows depend on: data, settings, weights, what the index holds.
    """
    from quoth import __version__
    from quoth.evaluate import Running, file_sha256

    depends = dict(facts.settings) | dict(facts.model_sha256) | _files_of(facts)
    depends |= {
        name: value for name, value in facts.parts.items() if name.removeprefix("index ") not in PASSING
    }
    depends |= {
        "kind": run.kind, "data": file_sha256(run.data) if run.data.is_file() else str(run.data),
        "limit": str(run.limit), "seed": str(run.seed), "extra": run.extra, "quoth": __version__,
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:16]
    resume = _cache() / f"{run.kind}-{digest}.jsonl"
    batch = 16 if "reader" in facts.parts else 256
    with progress(f"Evaluating {run.kind}", quiet=run.quiet) as advance:
        if resume.exists():
            note(f"going on with an interrupted run ({resume})", quiet=run.quiet)
        tell: Callable[[int, int], None] = lambda done, whole: advance(done, whole, "")  # noqa: E731
        yield Running(resume=resume, settings=depends, progress=tell, batch=batch)
    resume.unlink(missing_ok=True)


def _files_of(facts: "SystemFacts") -> dict[str, str]:
    """Return size and time of a reader's files where it is none of the shipped ones, whose hashes are known."""
    from quoth.models import folder

    name = facts.parts.get("reader", "")
    if not name or facts.model_sha256:
        return {}
    try:
        files = sorted(path for path in folder(name).iterdir() if path.is_file())
    except (InputError, ModelError, OSError):
        return {}
    return {f"file {f.name}": f"{f.stat().st_size} {f.stat().st_mtime_ns}" for f in files}


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "quoth" / "eval"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"{folder} cannot be made: {problem.strerror}.", hint="XDG_CACHE_HOME names another place."
        ) from problem
    return folder


def data_name(path: Path, other: Path | None) -> str:
    """Return a data set's name: its file's, or its whole path where *other* has the same name and is another file."""
    twin = other is not None and other.name == path.name and other.resolve() != path.resolve()
    return str(path.resolve()) if twin else path.name


def finish(run: Run, found: "Evaluation", split: str, n: int, facts: "SystemFacts") -> None:
    """Write the report where one is wanted, and print the figures."""
    from quoth.evaluate import DataFacts, file_sha256, make_manifest, write_report

    sha = file_sha256(run.data) if run.data.is_file() else ""
    sampled = f"a random sample, seed {run.seed}" if run.limit else ""
    manifest = make_manifest(
        run.kind, data=DataFacts(run.data.name, split, n, sha, sampled), system=facts,
        conventions=found.conventions, seed=run.seed, command=["quoth", *sys.argv[1:]],
    )  # fmt: skip
    if run.report is not None:
        files, notes = write_report(found, manifest, run.report)
        note(f"report: {files[0]}", quiet=run.quiet)
        for remark in notes:
            note(remark, quiet=run.quiet)
    if run.as_json:
        emit(f"eval-{run.kind}/1", {**found.as_dict(), "manifest": manifest.as_dict()})
        return
    say(found.title)
    for figure in found.figures:
        say(f"  {figure}")
    for part in found.tables[:SHOWN_TABLES]:
        say(f"\n{part.title}")
        _show(part)
    say()
    for name, meaning in found.conventions.items():
        say(f"  ({name}: {meaning})")
    for remark in found.notes:
        note(remark, quiet=run.quiet)


def _show(part: "Table") -> None:
    """Print a table without the bounds of its intervals (the report has them), numbers to the right."""
    from quoth.evaluate.tables import shown

    kept = [i for i, name in enumerate(part.header) if not name.endswith((" low", " high"))]
    lines = [[part.header[i] for i in kept]]
    lines += [[shown(row[i], part.digits) for i in kept] for row in part.rows]
    texts = [any(isinstance(row[i], str) for row in part.rows) for i in kept]
    widths = [max(len(line[i]) for line in lines) for i in range(len(kept))]
    padded = [
        [c if text else c.rjust(w) for c, w, text in zip(line, widths, texts, strict=True)] for line in lines
    ]
    table(padded[1:], padded[0])
