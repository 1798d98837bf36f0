"""Keeping an index in step with files: what changed is read again, the rest is left alone.

Works on any ``Store``. A file's content hash decides; its size and time are hints, believed only
where ``UpdateOptions.trust_times`` says so, and at ``ask`` (``stale``).
"""

import os
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import Protocol

from quoth.documents import Found, LoadOptions, digest, display, load, walk
from quoth.errors import DocumentError, InputError, MissingExtraError
from quoth.protocols import Store
from quoth.types import Document, Source

BATCH_CHARACTERS = 4_000_000
BATCH_FILES = 1_000
BATCH_SECONDS = 10.0
WATCH_STEP_MS = 500
TRANSIENT = frozenset({"unreadable", "changed_during_read", "extractor_failed"})
"""Failures that may be over at the next look, so that a file is tried again although its hash is the same."""


@dataclass(frozen=True, slots=True)
class UpdateOptions:
    """How an index is updated.

    ``prune`` removes what is gone from under the given paths. ``follow`` follows symbolic links
    that stay inside. ``trust_times`` takes a file of the same size and time as unchanged, unread.
    """

    prune: bool = False
    follow: bool = False
    trust_times: bool = False
    loading: LoadOptions = field(default_factory=LoadOptions)


@dataclass(frozen=True, slots=True)
class Progress:
    """Files looked at, files in all, and the one that is next."""

    done: int
    total: int
    path: str


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of a file: ``added``, ``updated``, ``removed``, ``skipped`` or ``failed``, and why."""

    path: str
    state: str
    code: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Counts of all files, and a line for each that is not unchanged. ``ignored`` are hidden or in an ignore file."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    failed: int = 0
    ignored: int = 0
    files: tuple[FileReport, ...] = ()
    notes: tuple[str, ...] = ()


class KnowsSources(Protocol):
    """A store that says which file a document came from."""

    def source_of(self, document_id: str) -> Source:
        """Return the source of a document. Raise ``InputError`` for an unknown id."""
        ...


def update(
    store: Store,
    paths: Sequence[Path],
    *,
    root: Path,
    options: UpdateOptions | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> UpdateReport:
    """Bring *store* in step with the files at and below *paths*, in batches that are each all or nothing.

    Sources are named by their path relative to *root*. A file that cannot be read is recorded as
    failed, with its reason, and tried again when its hash changes or the options may help. An
    interruption keeps the batches that were finished. A file of no known kind is skipped, unless it was
    named itself. Raise ``InputError`` for a path that does not exist.
    """
    options = options or UpdateOptions()
    walked = walk(paths, follow=options.follow)
    found = list(walked)
    base = os.path.realpath(root)
    run = _Run(store, options, base, frozenset(relative(path, base) for path in paths if path.is_file()))
    for i, item in enumerate(found):
        if progress is not None:
            progress(Progress(i, len(found), display(item.path)))
        run.look_at(item)
    run.flush()
    if options.prune:
        run.prune(paths)
    if progress is not None:
        progress(Progress(len(found), len(found), ""))
    return run.report(walked.ignored)


class _Run:
    """One update: its open batch, and what became of each file."""

    def __init__(self, store: Store, options: UpdateOptions, root: str, named: frozenset[str]) -> None:
        self._store, self._options, self._root, self._named = store, options, root, named
        self._known: Mapping[str, Source] = {source.path: source for source in store.sources()}
        wanted = options.loading.metadata.items()
        self._lacking = (
            {e.source for e in store.entries() if not wanted <= e.metadata.items()} if wanted else set()
        )
        self._batch: list[tuple[Source, Sequence[Document]]] = []
        self._characters = 0
        self._since = monotonic()
        self._seen: set[str] = set()
        self._blocked: list[str] = []
        self._counts: Counter[str] = Counter()
        self._files: list[FileReport] = []

    def look_at(self, item: Found) -> None:
        """Take one file of the walk."""
        name = relative(item.path, self._root)
        if item.skipped:
            self._blocked.append(name)
            self._note(name, "skipped", "skipped", item.skipped)
            return
        self._seen.add(name)
        old = self._known.get(name)
        try:
            now = self._stat(item.path, old)
        except DocumentError as problem:
            self._fail(Source(name, ""), old, problem)
            return
        if now is not None and old is not None and not self._worth_reading(old, now):
            if old.state == "failed":
                self._note(name, "failed", old.code, old.reason)
            else:
                self._counts["unchanged"] += 1
            return
        self._read(item.path, name, old)

    def _stat(self, path: Path, old: Source | None) -> Source | None:
        """Return what the file is now; None where it is not known and will be read anyway."""
        if old is None:
            return None
        if self._options.trust_times and old.sha256:
            try:
                status = path.stat()
            except OSError as problem:
                raise DocumentError(f"{display(path)} cannot be read: {problem.strerror}.") from problem
            if (status.st_size, status.st_mtime_ns) == (old.size, old.mtime_ns):
                return old
        sha256, size, mtime_ns = digest(path)
        return Source(old.path, sha256, size, mtime_ns)

    def _worth_reading(self, old: Source, now: Source) -> bool:
        if old.sha256 != now.sha256:
            return True
        loading = self._options.loading
        if old.state != "failed":  # a hint of the caller's changes what the same bytes give
            asked = not self._options.trust_times
            return asked and (loading.encoding is not None or old.path in self._lacking)
        return (
            old.code in TRANSIENT
            or (old.code == "encrypted" and bool(loading.passwords))
            or (old.code == "too_large" and now.size <= loading.max_bytes)
            or (old.code == "no_text_layer" and loading.ocr)
            or (old.code == "bad_encoding" and loading.encoding is not None)
        )

    def _read(self, path: Path, name: str, old: Source | None) -> None:
        try:
            sha256, size, mtime_ns = digest(path)
        except DocumentError as problem:
            self._fail(Source(name, ""), old, problem)
            return
        source = Source(name, sha256, size, mtime_ns)
        try:
            documents = load(path, source=name, options=self._options.loading)
        except DocumentError as problem:
            if problem.code == "unsupported" and old is None and name not in self._named:
                self._note(
                    name, "skipped", problem.code, _reason(problem, name)
                )  # met on a walk: nobody asked for it
            else:
                self._fail(source, old, problem)
            return
        if documents and documents[0].sha256 != sha256:  # it changed in between: what was read counts
            source = replace(source, sha256=documents[0].sha256, mtime_ns=0)
        empty = not any(document.text.strip() for document in documents)
        if empty:
            source = replace(source, state="empty", code="empty", reason="It holds no text.")
        self._add(source, documents)

    def _fail(self, source: Source, old: Source | None, problem: DocumentError) -> None:
        reason = _reason(problem, source.path)
        source = replace(source, state="failed", code=problem.code, reason=reason)
        if old == source:
            self._note(source.path, "failed", source.code, reason)
        else:
            self._add(source, ())

    def _add(self, source: Source, documents: Sequence[Document]) -> None:
        if not self._batch:
            self._since = monotonic()
        self._batch.append((source, documents))
        self._characters += sum(len(document.text) for document in documents)
        full = self._characters >= BATCH_CHARACTERS or len(self._batch) >= BATCH_FILES
        if full or monotonic() - self._since >= BATCH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the open batch; where the store refuses it, file by file, so that one cannot stop the others."""
        batch, self._batch, self._characters = self._batch, [], 0
        if not batch:
            return
        try:
            self._store.put(batch)
        except InputError as problem:
            if len(batch) == 1:
                source = batch[0][0]
                failed = replace(source, state="failed", code=problem.code, reason=str(problem))
                batch = [(failed, ())]
                self._store.put(batch)
            else:
                for one in batch:
                    self._batch = [one]
                    self.flush()
                return
        for source, _ in batch:
            changed = "updated" if source.path in self._known else "added"
            state = "failed" if source.state == "failed" else changed
            self._note(source.path, state, source.code, source.reason)

    def prune(self, paths: Sequence[Path]) -> None:
        """Remove what was under *paths* and was not met, except below what could not be looked into."""
        tops = [relative(path, self._root) for path in paths]
        gone = [
            name
            for name in self._known
            if name not in self._seen and _under(name, tops) and not _under(name, self._existing())
        ]
        if gone:
            self._store.drop(gone)
        for name in gone:
            self._note(name, "removed", "gone", "It is no longer there, or is passed over now.")

    def _existing(self) -> list[str]:
        return [name for name in self._blocked if os.path.lexists(os.path.join(self._root, name))]

    def _note(self, name: str, state: str, code: str, reason: str) -> None:
        self._counts[state] += 1
        self._files.append(FileReport(display(name), state, code, reason))

    def report(self, ignored: int) -> UpdateReport:
        """Return what was done."""
        names = [*self._seen, *(n for n in self._known if n not in self._seen)]
        return UpdateReport(
            **{s: self._counts[s] for s in ("added", "updated", "unchanged", "removed", "skipped", "failed")},
            ignored=ignored,
            files=tuple(self._files),
            notes=tuple(_collisions(names)),
        )


def relative(path: Path, root: str | Path) -> str:
    """Return the name of *path* in an index: relative to *root*, with ``/``; absolute on another drive.

    Links in the folders above are resolved on both sides, so that a file has one name.
    """
    whole = os.path.abspath(path)
    parent, last = os.path.split(whole)
    whole = os.path.join(os.path.realpath(parent), last) if last else os.path.realpath(whole)
    try:
        name = os.path.relpath(whole, os.path.realpath(root))
    except ValueError:
        name = whole
    return name.replace(os.sep, "/")


def stale(store: KnowsSources, document_ids: Iterable[str], *, root: Path) -> tuple[str, ...]:
    """Return the paths, in order, of those documents whose files changed or vanished since they were indexed.

    A file whose size and time are as they were is taken as unchanged; else its hash decides.
    Documents that did not come from a file (no hash) are never stale; unknown ids are passed over.
    """
    found: dict[str, bool] = {}
    for id in document_ids:
        try:
            source = store.source_of(id)
        except InputError:
            continue
        if source.path and source.sha256 and source.mtime_ns and source.path not in found:
            found[source.path] = _changed(source, Path(root, source.path))
    return tuple(display(path) for path, changed in found.items() if changed)


def _reason(problem: DocumentError, name: str) -> str:
    """Return why a file failed, without its name, which stands beside it wherever it is shown."""
    return str(problem).removeprefix(f"{display(name)}: ")


def _changed(source: Source, path: Path) -> bool:
    try:
        status = path.stat()
        if (status.st_size, status.st_mtime_ns) == (source.size, source.mtime_ns):
            return False
        return status.st_size != source.size or digest(path)[0] != source.sha256
    except (OSError, DocumentError):
        return True


def watch(
    store: Store,
    paths: Sequence[Path],
    *,
    root: Path,
    options: UpdateOptions | None = None,
    stop: threading.Event | None = None,
) -> Iterator[UpdateReport]:
    """Yield a report whenever files at or below *paths* changed the index, until *stop* or an interruption.

    What is deleted is removed from the index. Raise ``MissingExtraError`` where watchfiles is not installed.
    """
    try:
        import watchfiles
    except ImportError as problem:
        raise MissingExtraError(
            "Watching files needs watchfiles.", hint='Install it: pip install "quoth[watch]".'
        ) from problem
    each = replace(options or UpdateOptions(), prune=True, trust_times=True)
    given = [os.path.realpath(path) for path in paths]
    changes = watchfiles.watch(
        *given,
        watch_filter=lambda change, path: not _hidden(path, given),
        step=WATCH_STEP_MS // 10,
        stop_event=stop,
        raise_interrupt=True,
        rust_timeout=WATCH_STEP_MS,
        yield_on_timeout=True,
    )
    for number, changed in enumerate(changes):
        if number and not changed:
            continue  # The first look is for what changed before the watching began.
        report = update(store, paths, root=root, options=each)
        if any(file.state in ("added", "updated", "removed") for file in report.files):
            yield report


def _hidden(path: str, tops: Sequence[str]) -> bool:
    """Return whether a path is in a hidden folder below what is watched (the index's own, too)."""
    for top in tops:
        if path == top or path.startswith(top.rstrip(os.sep) + os.sep):
            parts = path[len(top) :].split(os.sep)
            return any(part.startswith(".") and not part.endswith("ignore") for part in parts)
    return False


def _under(name: str, tops: Sequence[str]) -> bool:
    return any(
        top == name
        or (top == "." and not name.startswith("../") and not os.path.isabs(name))
        or name.startswith(top + "/")
        or (set(top.split("/")) == {".."} and _above(name, top))
        for top in tops
    )


def _above(name: str, top: str) -> bool:
    """Return whether *top*, some folders above the root (``../..``), holds *name*."""
    mine = sum(1 for _ in takewhile("..".__eq__, name.split("/")))
    return mine <= len(top.split("/")) and not os.path.isabs(name)


def _collisions(names: Sequence[str]) -> Iterator[str]:
    """Say which names are one name where case or composition does not count (macOS, Windows)."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(unicodedata.normalize("NFC", name).casefold(), []).append(name)
    for same in groups.values():
        if len(same) > 1:
            listed = ", ".join(ascii(display(name)) for name in sorted(same))
            yield f"{listed} differ only in case or composition; on some systems they are one file."
