"""The formats, a row each: what they are called, what they look like, who reads them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from quoth.documents._extract import Extracted, Job
from quoth.errors import DocumentError

Loader = Callable[[bytes, Job], Sequence[Extracted]]

_HEAD = 1024


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its suffixes, its loader (``module:function``), whether only a child process may run it."""

    name: str
    suffixes: tuple[str, ...]
    loader: str
    isolated: bool = True
    text: bool = False

    def load(self) -> Loader:
        """Import the loader."""
        module, _, function = self.loader.partition(":")
        found: Loader = getattr(import_module(f"quoth.documents.{module}"), function)
        return found


TABLE: tuple[Format, ...] = (
    Format(
        "text",
        (".txt", ".text", ".log", ".rst", ".org", ".adoc", ".asc"),
        "_plain:extract_text",
        isolated=False,
        text=True,
    ),
    Format("markdown", (".md", ".markdown", ".mkd"), "_plain:extract_markdown", isolated=False, text=True),
    Format("html", (".html", ".htm", ".xhtml"), "_html:extract", text=True),
    Format("pdf", (".pdf",), "_pdf:extract"),
    Format("docx", (".docx", ".docm"), "_docx:extract"),
    Format("pptx", (".pptx", ".pptm"), "_pptx:extract"),
    Format("xlsx", (".xlsx", ".xlsm"), "_xlsx:extract"),
    Format("epub", (".epub",), "_epub:extract"),
    Format("email", (".eml",), "_mail:extract", text=True),
    Format("csv", (".csv", ".tsv"), "_table:extract", text=True),
    Format("jsonl", (".jsonl", ".ndjson", ".jsonl.gz"), "_records:extract_lines", isolated=False, text=True),
    Format("json", (".json", ".json.gz"), "_records:extract_json", isolated=False, text=True),
)
BY_NAME = {row.name: row for row in TABLE}
SUFFIXES: dict[str, str] = {suffix: row.name for row in TABLE for suffix in row.suffixes}
"""Every suffix that a folder walk takes, and the name of its format."""

NO_SUFFIX_NAMES = frozenset(
    {"README", "LICENSE", "LICENCE", "NOTICE", "CHANGELOG", "COPYING", "AUTHORS", "NEWS"}
)

_PARTS = ((b"word/", "docx"), (b"ppt/", "pptx"), (b"xl/", "xlsx"))
_UNKNOWN: tuple[tuple[bytes, str, str], ...] = (
    (b"{\\rtf", "an RTF file", "Save it as DOCX."),
    (b"\x89PNG", "a picture", "Make a PDF with a text layer of it (ocrmypdf)."),
    (b"\xff\xd8\xff", "a picture", "Make a PDF with a text layer of it (ocrmypdf)."),
    (b"GIF8", "a picture", "Make a PDF with a text layer of it (ocrmypdf)."),
    (b"II*\0", "a picture", "Make a PDF with a text layer of it (ocrmypdf)."),
    (b"MM\0*", "a picture", "Make a PDF with a text layer of it (ocrmypdf)."),
    (b"\x7fELF", "a program", ""),
    (b"MZ\x90", "a program", ""),
    (b"BZh", "a compressed file", "Unpack it."),
    (b"\xfd7zXZ", "a compressed file", "Unpack it."),
    (b"\x28\xb5\x2f\xfd", "a compressed file", "Unpack it."),
    (b"7z\xbc\xaf", "an archive", "Unpack it."),
    (b"Rar!", "an archive", "Unpack it."),
    (b"SQLite format 3", "a database", ""),
    (b"%!PS", "a PostScript file", "Make a PDF of it (ps2pdf)."),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def suffix_of(name: str) -> str:
    """Return the known suffix that a file's name ends in, in lower case; empty for none."""
    lower = name.lower()
    stem, last = os.path.splitext(lower)
    for suffix in (os.path.splitext(stem)[1] + last, last):
        if suffix in SUFFIXES:
            return suffix
    return ""


def recognise(name: str, data: bytes) -> tuple[Format, tuple[str, ...]]:
    """Return the format of a file by its first bytes, else by its name, and a note where they disagree.

    Raise ``DocumentError``: ``unsupported``, ``encrypted`` (an Office file behind a password),
    ``corrupt`` (a name that promises a format that the bytes are not).
    """
    suffix = suffix_of(name)
    named = BY_NAME.get(SUFFIXES.get(suffix, ""))
    if not data:
        return BY_NAME["text"], ()
    seen = _by_magic(data, named)
    if seen is not None and seen != named:
        note = (f"The name ends in {suffix}, but the content is {seen.name}.",) if suffix else ()
        return seen, note
    if seen is not None:
        return seen, ()
    if named is None or named.text:
        return named or BY_NAME["text"], ()
    if _is_text(data):
        return BY_NAME["text"], (f"The name ends in {suffix}, but the content is plain text.",)
    raise DocumentError(f"It is no {named.name} file, or a damaged one.", code="corrupt")


def _by_magic(data: bytes, named: Format | None) -> Format | None:
    head = data[:_HEAD]
    if head.startswith(b"%PDF-") or (b"%PDF-" in head and (named is None or not named.text)):
        return BY_NAME["pdf"]
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return _zipped(data, named)
    if head.startswith(_OLE):
        raise _old_office(data)
    if head.startswith(b"\x1f\x8b"):
        if named is not None and named.name in ("json", "jsonl"):
            return named
        raise DocumentError("It is a compressed file.", hint="Unpack it.", code="unsupported")
    for magic, what, hint in _UNKNOWN:
        if head.startswith(magic):
            raise DocumentError(f"It is {what}.", hint=hint, code="unsupported")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:14].lower()
    if start.startswith((b"<!doctype html", b"<html")) and (named is None or named.name != "markdown"):
        return BY_NAME["html"]
    return None


def _zipped(data: bytes, named: Format | None) -> Format:
    """Look for the parts that tell the kinds apart, by name: the archive is not opened here."""
    if b"PK\x05\x06" not in data[-70_000:]:  # the directory, at the end, behind at most a comment
        raise DocumentError("It is a zip archive that is cut short.", code="corrupt")
    if b"META-INF/container.xml" in data:
        return BY_NAME["epub"]
    if b"[Content_Types].xml" in data:
        kinds = [name for part, name in _PARTS if part in data]
        if kinds:
            return named if named is not None and named.name in kinds else BY_NAME[kinds[0]]
    if b"opendocument" in data[:200]:
        hint = "Save it as DOCX, PPTX or XLSX."
        raise DocumentError("It is an OpenDocument file.", hint=hint, code="unsupported")
    raise DocumentError("It is a zip archive.", hint="Unpack it.", code="unsupported")


def _old_office(data: bytes) -> DocumentError:
    if "EncryptedPackage".encode("utf-16-le") in data:
        return DocumentError(
            "It is an Office file behind a password.", hint="Save it without one.", code="encrypted"
        )
    return DocumentError(
        "It is an Office file of the format before 2007.",
        hint="Save it as DOCX, PPTX or XLSX.",
        code="unsupported",
    )


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    head = text[:8192]
    return sum(1 for c in head if c < " " and c not in "\t\n\r\f") == 0
