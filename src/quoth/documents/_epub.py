"""EPUB to text: the chapters, in the order of the spine."""

import posixpath
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from quoth.documents._dates import iso_date
from quoth.documents._extract import Extracted, Job, Writer, corrupt
from quoth.documents._html import decode_html, read_html
from quoth.documents._zip import open_checked, read_member
from quoth.errors import DocumentError

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_XENC = "{http://www.w3.org/2001/04/xmlenc#}"
_CHAPTERS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def extract(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the text of a book; ``page`` is the place of the chapter in the spine."""
    with open_checked(data, job.limit) as archive:
        package_name = _package_name(archive, job.limit)
        package = _xml(archive, package_name, job.limit)
        names = list(_spine(package, posixpath.dirname(package_name)))
        if not names:
            raise corrupt("Its spine names no chapters.")
        locked = _locked(archive, job.limit)
        if locked.intersection(names):
            raise DocumentError(
                "Its chapters are encrypted (DRM).",
                hint="Only its seller's program opens it.",
                code="encrypted",
            )
        writer = Writer(job.limit)
        notes = []
        left = job.limit
        for number, name in enumerate(names, 1):
            try:
                chapter = read_member(archive, name, left)
            except DocumentError as problem:
                if problem.code != "corrupt" or len(names) == 1:
                    raise
                notes.append(f"Partial: {problem.message}")
                continue
            left -= len(chapter)
            if writer.length:
                writer.gap("\n\n")
            read_html(decode_html(chapter, job.encoding).text, writer, page=number)
    title, metadata = _facts(package)
    return [
        Extracted(
            writer.text(), title=title, metadata=metadata, segments=tuple(writer.segments), notes=tuple(notes)
        )
    ]


def _xml(archive: zipfile.ZipFile, name: str, limit: int) -> ElementTree.Element:
    """Parse a part; expat fetches nothing, and refuses entities that multiply."""
    try:
        return ElementTree.fromstring(read_member(archive, name, limit))
    except ElementTree.ParseError as problem:
        raise corrupt(f"Its part {name!r} is damaged: {problem}.") from problem


def _package_name(archive: zipfile.ZipFile, limit: int) -> str:
    container = _xml(archive, "META-INF/container.xml", limit)
    found = container.find(f".//{_CONTAINER}rootfile")
    name = found.get("full-path", "") if found is not None else ""
    if not name:
        raise corrupt("Its container names no package.")
    return name


def _spine(package: ElementTree.Element, folder: str) -> Iterator[str]:
    manifest = {
        item.get("id", ""): item.get("href", "")
        for item in package.iter(f"{_OPF}item")
        if item.get("media-type", "") in _CHAPTERS
    }
    for reference in package.iter(f"{_OPF}itemref"):
        href = manifest.get(reference.get("idref", ""), "")
        if href:
            yield posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _locked(archive: zipfile.ZipFile, limit: int) -> set[str]:
    name = "META-INF/encryption.xml"
    if name not in archive.namelist():
        return set()
    references = _xml(archive, name, limit).iter(f"{_XENC}CipherReference")
    return {posixpath.normpath(unquote(reference.get("URI", ""))) for reference in references}


def _facts(package: ElementTree.Element) -> tuple[str, dict[str, str]]:
    def first(tag: str) -> str:
        found = package.find(f".//{_DC}{tag}")
        return " ".join(((found.text or "") if found is not None else "").split())[:300]

    metadata = {"author": first("creator"), "date": iso_date(first("date")), "language": first("language")}
    return first("title"), {key: value for key, value in metadata.items() if value}
