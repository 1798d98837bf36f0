"""A file to its documents: read once, recognised, loaded within limits, named and dated."""

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from quoth.documents import _ocr
from quoth.documents._dates import file_date
from quoth.documents._extract import MEGABYTE, Extracted, Job
from quoth.documents._formats import Format, recognise
from quoth.documents._names import display, document_id, sane_id, storable
from quoth.documents._pool import Pool
from quoth.documents._reading import read_stable
from quoth.errors import DocumentError, InputError
from quoth.types import Document, Segment

_POOL = Pool()
_OWN = ("path", "folder")  # keys that the data itself cannot set: they say where it came from


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How files are read.

    ``encoding`` is that of all text files (None: each is looked at); ``passwords`` are tried on
    PDFs; ``metadata`` is added to every document. ``max_bytes`` is the largest file, and the most
    that one may unpack to; ``seconds`` (of processor time) and ``memory_bytes`` bound the child process that
    opens PDF, Office, EPUB, HTML, e-mail and CSV files. ``ocr``: scans go through ocrmypdf or
    tesseract, where installed.
    """

    encoding: str | None = None
    passwords: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    max_bytes: int = 200 * MEGABYTE
    seconds: float = 60.0
    memory_bytes: int = 1 << 30
    ocr: bool = True


def load(path: Path, *, source: str, options: LoadOptions | None = None) -> Sequence[Document]:
    """Return the documents that a file holds, in its order.

    *source* is the path by which the file is known (relative, with ``/``): ids, ``Document.source`` and
    the metadata ``path``, ``folder`` and ``name`` come from it. Every document's ``sha256`` is the
    file's. An empty file is one document with an empty text. Raise ``DocumentError`` whose ``code`` is
    one of: ``encrypted``, ``corrupt``, ``no_text_layer``, ``low_text_quality``, ``too_large``,
    ``too_large_expanded``, ``extractor_limit``, ``unsupported``, ``changed_during_read``,
    ``unreadable``, ``bad_encoding``.
    """
    options = options or LoadOptions()
    data, digest, mtime_ns = read_stable(path, limit=options.max_bytes)
    try:
        form, notes = recognise(path.name, data)
        found, more = _extract(form, data, options, display(path.name))
    except DocumentError as problem:
        message = f"{display(source)}: {problem.message}"
        raise DocumentError(message, hint=problem.hint, code=problem.code) from problem
    defaults = _defaults(source, form, mtime_ns)
    return [
        _document(
            item, source=source, digest=digest, defaults=defaults, options=options, notes=(*notes, *more)
        )
        for item in found
    ]


def _extract(
    form: Format, data: bytes, options: LoadOptions, name: str
) -> tuple[Sequence[Extracted], tuple[str, ...]]:
    job = Job(
        name=name,
        encoding=options.encoding,
        passwords=options.passwords,
        limit=options.max_bytes,
        seconds=options.seconds,
    )
    if not form.isolated:
        return form.load()(data, job), ()
    try:
        return _POOL.extract(form.name, data, job, memory=options.memory_bytes), ()
    except DocumentError as problem:
        tool = _ocr.program() if options.ocr and problem.code == "no_text_layer" else ""
        if not tool:
            raise
    scanned = _ocr.add_text_layer(data, seconds=options.seconds)
    found = _POOL.extract(form.name, scanned, job, memory=options.memory_bytes)
    return found, (f"Its text was read from pictures of the pages (OCR, {tool}); it may hold mistakes.",)


def _document(
    item: Extracted,
    *,
    source: str,
    digest: str,
    defaults: dict[str, str],
    options: LoadOptions,
    notes: tuple[str, ...],
) -> Document:
    title = item.title.strip() or posixpath.splitext(defaults["name"])[0]
    metadata = defaults | {k: v for k, v in item.metadata.items() if v and k not in _OWN}
    metadata |= {"title": title} | dict(options.metadata)
    return Document(
        id=storable(item.id) or document_id(source, item.key),
        text=storable(item.text),
        title=storable(title),
        source=display(source),
        sha256=digest,
        metadata={storable(key): storable(value) for key, value in metadata.items()},
        segments=item.segments,
        paragraphs=item.paragraphs,
        notes=tuple(storable(note) for note in (*notes, *item.notes)),
    )


def _defaults(source: str, form: Format, mtime_ns: int) -> dict[str, str]:
    shown = display(source)
    found = {
        "path": shown,
        "folder": posixpath.dirname(shown),
        "name": posixpath.basename(shown),
        "type": form.name,
        "date": file_date(mtime_ns),
    }
    return {key: value for key, value in found.items() if value or key == "folder"}


def from_texts(texts: Iterable[str] | Mapping[str, str]) -> Sequence[Document]:
    """Return documents of *texts*, with the ids that a mapping gives, else ``text-1``, ``text-2`` ...

    Raise ``InputError`` for a single string, for what is no string, and for an id that is not 1 to 200
    printable characters.
    """
    if isinstance(texts, str):
        raise InputError("One string was given where several texts belong.", hint="Put it in a list: [text].")
    named = (
        texts.items() if isinstance(texts, Mapping) else ((f"text-{n}", t) for n, t in enumerate(texts, 1))
    )
    return [_from_text(name, text) for name, text in named]


def _from_text(name: object, text: object) -> Document:
    if not isinstance(text, str):
        raise InputError(f"The text {name!r} is of type {type(text).__name__}; texts are strings.")
    given = sane_id(name)
    if not given:
        raise InputError(f"{name!r} is no id.", hint="An id is 1 to 200 printable characters.")
    stored = storable(text)
    return Document(
        id=given,
        text=stored,
        sha256=sha256(stored.encode("utf-8")).hexdigest(),
        metadata={"type": "text"},
        segments=(Segment(0, len(stored), line=1),) if stored else (),
    )
